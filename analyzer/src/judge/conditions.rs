//! Properties of the whole scan that judging depends on.

use crate::track::clock::Clocks;
use crate::track::wait::Wait;

/// Properties of the whole scan that judging depends on.
#[derive(Debug, Clone, Copy)]
pub struct Conditions {
    /// Resolution of the timestamps.
    pub clock_ns: i64,
    /// The end of the capture, in ns since the epoch.
    pub end_ns: i64,
    /// Shorter waits count as evidence, but are not findings.
    pub min_wait_ns: i64,
    /// Rows of a printed text were left out.
    pub is_elided: bool,
}

impl Conditions {
    /// For a connection with these `waits`.
    pub fn of(min_wait_ns: i64, clocks: &Clocks, waits: &[Wait]) -> Self {
        Self {
            clock_ns: clocks.behind_ns(waits),
            end_ns: clocks.end_ns(waits),
            min_wait_ns,
            is_elided: clocks.is_elided,
        }
    }
}
