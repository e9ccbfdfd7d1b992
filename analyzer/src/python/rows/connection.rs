//! A connection as Python sees it.

use crate::judge::finding::judged::JudgedConnection;
use crate::judge::findings::Findings;
use crate::judge::words::evidence::ms;
use crate::result::names::Names;
use crate::result::totals::ByConfidence;
use crate::track::Side;
use pyo3::prelude::*;

/// A connection as reports name it; durations in ms.
#[pyclass(frozen, get_all)]
pub struct ConnectionRow {
    pub id: u32,
    pub client: String,
    pub server: String,
    pub client_nagle: &'static str,
    pub server_nagle: &'static str,
    pub stalls: u32,
    pub stalled_ms: f64,
    /// Stalls that are possible, likely and certain.
    pub stalls_by_confidence: [u64; 3],
    pub stalled_ms_by_confidence: [f64; 3],
    pub client_stalls: u32,
    pub server_stalls: u32,
    /// In both directions.
    pub segments: u64,
    pub exchanges: u32,
    pub mean_latency_ms: Option<f64>,
    pub predicted_latency_ms: Option<f64>,
    pub first_latency_ms: Option<f64>,
    pub first_exchange_stalled: bool,
    pub rtt_ms: Option<f64>,
    pub client_rtt_ms: Option<f64>,
    pub server_rtt_ms: Option<f64>,
    pub capture_point: &'static str,
    pub mss: u32,
    pub mss_inferred: bool,
    pub handshake: bool,
    pub verdict: &'static str,
    pub conclusive: bool,
    /// Why it cannot be called clean; empty where nothing speaks against it.
    pub hidden: &'static str,
    pub first_ns: i64,
    pub last_ns: i64,
}

impl ConnectionRow {
    pub fn new(judged: &JudgedConnection, findings: Findings<'_>, names: &Names) -> Self {
        let by = |side: Side| {
            findings.iter().filter(|row| row.cause.is_stall() && row.wait.by == side).count() as u32
        };
        let by_confidence = ByConfidence::of(findings);
        let first_end = judged.first_exchange.map_or(0, |(_, frame)| frame.get());
        Self {
            id: judged.id,
            client: names.endpoint(judged.half(Side::Client).endpoint),
            server: names.endpoint(judged.half(Side::Server).endpoint),
            client_nagle: judged.half(Side::Client).nagle.name(),
            server_nagle: judged.half(Side::Server).nagle.name(),
            stalls: judged.stalls,
            stalled_ms: ms(judged.stalled_ns),
            stalls_by_confidence: by_confidence.stalls,
            stalled_ms_by_confidence: by_confidence.stalled_ns.map(ms),
            client_stalls: by(Side::Client),
            server_stalls: by(Side::Server),
            segments: judged.halves.iter().map(|half| u64::from(half.segments)).sum(),
            exchanges: judged.exchanges,
            mean_latency_ms: judged.mean_latency_ns().map(ms),
            predicted_latency_ms: judged.mean_latency_without_stalls_ns().map(ms),
            first_latency_ms: judged.first_exchange.map(|(latency_ns, _)| ms(latency_ns)),
            first_exchange_stalled: findings
                .iter()
                .any(|row| row.cause.is_stall() && row.wait.to.frame <= first_end),
            rtt_ms: judged.rtt_ns().map(ms),
            client_rtt_ms: judged.half(Side::Client).rtt_ns().map(ms),
            server_rtt_ms: judged.half(Side::Server).rtt_ns().map(ms),
            capture_point: judged.capture_point.name(),
            mss: judged.mss,
            mss_inferred: judged.mss_inferred,
            handshake: judged.handshake,
            verdict: judged.verdict().name(),
            conclusive: judged.is_conclusive(),
            hidden: judged.hidden.name(),
            first_ns: judged.first_ns,
            last_ns: judged.last_ns,
        }
    }
}
