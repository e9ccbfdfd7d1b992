//! The answer in one word. Why there may be none is in the table of `judge::doubts`.

use crate::named::named;
use serde::Serialize;

named! {
    /// The answer on a connection, or on all of them.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "lowercase")]
    enum Verdict {
        /// One stall at least is likely or certain.
        Stalls = "stalls",
        /// There are stalls, and each is only possible.
        Possible = "possible",
        /// No stall of the shortest wait listed or longer, and the capture would show one.
        Clean = "clean",
        /// It would not.
        Inconclusive = "inconclusive",
    }
}
