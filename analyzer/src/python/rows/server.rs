//! A server as Python sees it.

use crate::result::servers::{Percentiles, ServerRow};
use pyo3::prelude::*;

/// A server endpoint; percentiles are p50, p75, p90, p95, p99, max, in ms.
#[pyclass(frozen, get_all, name = "ServerRow")]
pub struct PyServerRow {
    /// As the user calls it.
    pub addr: String,
    pub ip: String,
    pub port: u16,
    pub verdict: &'static str,
    pub connections: u64,
    pub affected_connections: u64,
    pub exchanges: u64,
    pub stalled_exchanges: u64,
    pub stalls: u64,
    pub stalled_ms: f64,
    pub latency_sum_ms: f64,
    pub latency_stalled_ms: f64,
    pub latency_ms: [f64; 6],
    pub predicted_ms: [f64; 6],
}

impl PyServerRow {
    pub fn new(row: ServerRow) -> Self {
        let milliseconds = |row: Percentiles| {
            [row.p50_ms, row.p75_ms, row.p90_ms, row.p95_ms, row.p99_ms, row.max_ms]
        };
        Self {
            addr: row.name.unwrap_or_else(|| row.addr.clone()),
            ip: row.addr,
            port: row.port,
            verdict: row.verdict.name(),
            connections: row.connections,
            affected_connections: row.affected_connections,
            exchanges: row.exchanges,
            stalled_exchanges: row.stalled_exchanges,
            stalls: row.stalls,
            stalled_ms: row.stalled_ms,
            latency_sum_ms: row.latency_sum_ms,
            latency_stalled_ms: row.latency_stalled_ms,
            latency_ms: milliseconds(row.latency),
            predicted_ms: milliseconds(row.predicted),
        }
    }
}
