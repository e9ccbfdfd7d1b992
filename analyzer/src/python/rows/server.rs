//! A server as Python sees it.

use super::fields::set_fields;
use crate::judge::words::evidence::ms;
use crate::result::servers::ServerRow;
use pyo3::prelude::*;

/// A server endpoint: the fields of a [`ServerRow`] and these; percentiles are p50, p75, p90, p95, p99,
/// max, in ms.
#[pyclass(frozen, get_all, dict, name = "ServerRow")]
pub struct PyServerRow {
    /// The user's name for the address, else the address.
    pub addr: String,
    pub ip: String,
    pub latency_ms: [f64; 6],
    pub predicted_ms: [f64; 6],
}

impl PyServerRow {
    /// # Errors
    /// Python's own.
    pub fn new<'py>(py: Python<'py>, server: &ServerRow) -> PyResult<Bound<'py, Self>> {
        let ip = server.endpoint.addr.to_string();
        let row = Self {
            addr: server.name.clone().unwrap_or_else(|| ip.clone()),
            ip,
            latency_ms: server.latency.0.map(ms),
            predicted_ms: server.predicted.0.map(ms),
        };
        let row = Bound::new(py, row)?;
        set_fields(&row, server)?;
        Ok(row)
    }
}
