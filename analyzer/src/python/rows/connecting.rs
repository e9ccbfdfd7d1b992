//! Slow connecting as Python sees it.

use crate::judge::words::evidence::ms;
use crate::result::connecting::ConnectingSums;
use pyo3::prelude::*;

/// Connections that took long to come about and had a reply; sums in ms, the share of 1.
#[pyclass(frozen, get_all)]
pub struct ConnectingRow {
    pub connections: u64,
    pub connect_ms: f64,
    pub first_reply_ms: f64,
    pub median_share: f64,
}

impl ConnectingRow {
    pub fn new(sums: &ConnectingSums) -> Self {
        Self {
            connections: sums.connections,
            connect_ms: ms(sums.connect_ns),
            first_reply_ms: ms(sums.first_reply_ns),
            median_share: sums.median_share(),
        }
    }
}
