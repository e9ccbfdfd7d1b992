//! Durations as JSON has them.

use crate::judge::words::evidence::ms;
use serde::{Serialize, Serializer};

/// Serialises a duration in ns, or one that may be unknown, as ms.
///
/// # Errors
/// The serializer's own.
pub fn in_ms<T, S>(duration_ns: &T, to: S) -> Result<S::Ok, S::Error>
where
    T: Copy + Into<Option<i64>>,
    S: Serializer,
{
    (*duration_ns).into().map(ms).serialize(to)
}
