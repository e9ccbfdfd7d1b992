//! A connection as Python sees it.

use super::fields::set_fields;
use crate::judge::findings::Finding;
use crate::judge::words::evidence::ms;
use crate::output::fields::NamedConnection;
use crate::result::scan::Scan;
use crate::result::totals::ByConfidence;
use crate::track::Side;
use pyo3::prelude::*;

/// A connection as reports name it: the fields of [`NamedConnection`] and these; durations in ms.
#[pyclass(frozen, get_all, dict)]
pub struct ConnectionRow {
    pub client: String,
    pub server: String,
    /// Stalls that are possible, likely and certain.
    pub stalls_by_confidence: [u64; 3],
    pub stalled_ms_by_confidence: [f64; 3],
    /// Stalls that count, by the side that held.
    pub client_stalls: usize,
    pub server_stalls: usize,
    /// In both directions.
    pub segments: u64,
    pub first_latency_ms: Option<f64>,
    pub first_exchange_stalled: bool,
    /// Why it cannot be called clean; empty where nothing speaks against it.
    pub hidden: &'static str,
}

impl ConnectionRow {
    /// The connection with this index.
    ///
    /// # Errors
    /// Python's own.
    pub fn new<'py>(py: Python<'py>, scan: &Scan, index: usize) -> PyResult<Bound<'py, Self>> {
        let (judged, findings) = (&scan.connections[index], scan.findings_of(index));
        let counts = |row: &Finding<'_>| row.is_sure() || row.is_stall() && !judged.surely_stalls;
        let by = |side| findings.iter().filter(|row| counts(row) && row.wait.by == side).count();
        let by_confidence = ByConfidence::of(findings);
        let first_end = judged.first_exchange.map_or(0, |(_, frame)| frame.get());
        let row = Self {
            client: scan.names.endpoint(judged.half(Side::Client).endpoint),
            server: scan.names.endpoint(judged.half(Side::Server).endpoint),
            stalls_by_confidence: by_confidence.stalls,
            stalled_ms_by_confidence: by_confidence.stalled_ns.map(ms),
            client_stalls: by(Side::Client),
            server_stalls: by(Side::Server),
            segments: judged.halves.iter().map(|half| u64::from(half.segments)).sum(),
            first_latency_ms: judged.first_exchange.map(|(latency_ns, _)| ms(latency_ns)),
            first_exchange_stalled: findings
                .iter()
                .any(|row| row.is_stall() && row.wait.to.frame <= first_end),
            hidden: judged.hidden.name(),
        };
        let row = Bound::new(py, row)?;
        set_fields(&row, &NamedConnection::of(scan, index))?;
        Ok(row)
    }
}
