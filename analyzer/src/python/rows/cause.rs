//! Waits by cause as Python sees them.

use crate::judge::words::evidence::ms;
use crate::result::cause_totals::CauseTotal;
use pyo3::prelude::*;

/// Waits of one cause that one side ended; durations in ms.
#[pyclass(frozen, get_all)]
pub struct CauseRow {
    pub cause: &'static str,
    pub sender: &'static str,
    /// See [`crate::result::cause_totals::Turn`].
    pub turn: &'static str,
    pub waits: u64,
    pub total_ms: f64,
    pub longest_ms: f64,
}

impl CauseRow {
    pub fn new(total: &CauseTotal) -> Self {
        Self {
            cause: total.cause.name(),
            sender: total.by.name(),
            turn: total.turn.name(),
            waits: total.waits,
            total_ms: ms(total.total_ns),
            longest_ms: ms(total.longest_ns),
        }
    }
}
