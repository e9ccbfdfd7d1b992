//! Late ACKs as Python sees them.

use crate::judge::words::evidence::ms;
use crate::result::late_acks::LateAckSums;
use pyo3::prelude::*;

/// The late ACKs of the clients or of the servers; `prompt` is `None` where there are too many to count.
#[pyclass(frozen, get_all)]
pub struct LateAckRow {
    pub side: &'static str,
    pub connections: u64,
    pub late: u64,
    pub prompt: Option<u64>,
    pub median_ms: f64,
    pub first_frame: u32,
}

impl LateAckRow {
    pub fn new(sums: &LateAckSums) -> Self {
        Self {
            side: sums.by.name(),
            connections: sums.connections,
            late: sums.late,
            prompt: sums.prompt,
            median_ms: ms(sums.median_ns),
            first_frame: sums.first_frame,
        }
    }
}
