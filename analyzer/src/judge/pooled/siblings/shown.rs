//! What the sister connections of a direction show, where its own releases are too few.

use serde::{Deserialize, Serialize};

/// How many of them have such releases, and one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    pub connections: u32,
    /// The segment that it let go.
    pub frame: u64,
    /// Is Nagle's algorithm at work there beyond doubt?
    pub secure: bool,
}
