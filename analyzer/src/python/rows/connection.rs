//! A connection as Python sees it.

use super::fields::row_with_fields;
use crate::judge::findings::Finding;
use crate::judge::words::evidence::ms;
use crate::output::fields::NamedConnection;
use crate::result::scan::Scan;
use crate::result::totals::ByConfidence;
use crate::track::Side;

row_with_fields! {
    /// A connection, by its index: the fields of [`NamedConnection`] and these; durations in ms.
    ConnectionRow(scan: &Scan, index: usize) and (NamedConnection::of(scan, index)) with {
        let judged = &scan.connections[index];
        let findings = scan.findings_of(index);
        let by_confidence = ByConfidence::of(findings);
        let counts =
            |row: &Finding<'_>| row.is_sure() || row.is_stall() && !judged.surely_stalls;
        let by =
            |side| findings.iter().filter(|row| counts(row) && row.wait.by == side).count();
        let first_end = judged.first_exchange.map_or(0, |(_, frame)| frame.get());
    } {
        client: String = scan.names.endpoint(judged.half(Side::Client).endpoint),
        server: String = scan.names.endpoint(judged.half(Side::Server).endpoint),
        /// Stalls that are possible, likely and certain.
        stalls_by_confidence: [u64; 3] = by_confidence.stalls,
        stalled_ms_by_confidence: [f64; 3] = by_confidence.stalled_ns.map(ms),
        /// Stalls that count, by the side that held.
        client_stalls: usize = by(Side::Client),
        server_stalls: usize = by(Side::Server),
        /// In both directions.
        segments: u64 = judged.halves.iter().map(|half| u64::from(half.segments)).sum(),
        first_latency_ms: Option<f64> = judged.first_exchange.map(|(latency_ns, _)| ms(latency_ns)),
        first_exchange_stalled: bool = findings
            .iter()
            .any(|row| row.is_stall() && row.wait.to.frame <= first_end),
        /// Why it cannot be called clean; empty where nothing speaks against it.
        hidden: &'static str = judged.hidden.name(),
    }
}
