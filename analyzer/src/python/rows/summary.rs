//! The totals of a scan as Python sees them.

use crate::judge::finding::verdict::Hidden;
use crate::judge::words::evidence::ms;
use crate::result::scan::Scan;
use crate::result::warnings::{Warning, warnings};
use crate::track::clock::Clocks;
use pyo3::prelude::*;
use std::collections::BTreeMap;

/// Totals; durations in ms.
#[pyclass(frozen, get_all)]
pub struct Summary {
    pub connections: u64,
    pub connections_not_listed: u64,
    pub tcp_packets: u64,
    pub packets: u64,
    pub affected_connections: u64,
    pub stalls: u64,
    pub stalled_ms: f64,
    pub verdict: &'static str,
    pub exchanges: u64,
    /// Exchanges of the affected connections, the sum of their latencies, and what stalls took of it.
    pub cost_connections: u64,
    pub cost_exchanges: u64,
    pub cost_latency_ms: f64,
    pub cost_stalled_ms: f64,
    /// Stalls that are possible, likely and certain.
    pub stalls_by_confidence: [u64; 3],
    pub stalled_ms_by_confidence: [f64; 3],
    /// Connections that are clean, and those among them where a hold too short to be listed, or one that
    /// ended as data came, is possible.
    pub clean: u64,
    pub unproven: u64,
    /// Holds that may have been too short to be listed, what they took of the latency of the exchanges
    /// of their connections, and that latency.
    pub short_holds: u64,
    pub short_ms: f64,
    pub short_latency_ms: f64,
    pub first_ns: i64,
    pub last_ns: i64,
    /// It was read from tcpdump's text, at least in part: there are no frames, and maybe no date.
    pub is_text: bool,
    pub has_dates: bool,
    /// Connections without a stall that cannot be judged: how many, and how many of them for which reason.
    pub not_judged: u64,
    pub not_judged_by: BTreeMap<&'static str, u64>,
    /// Connections that are others of the capture, captured again.
    pub copied: u64,
    /// Step of the coarsest clock, and whether that of another capture is finer.
    pub clock_ms: f64,
    pub clocks_differ: bool,
    pub without_handshake: u64,
    pub waits_not_listed: u64,
    pub waits_not_listed_ms: f64,
    /// Name of the input, what a reader must know of it, and whether a part of it is missing.
    pub warnings: Vec<(String, String, bool)>,
    /// The scheme under which addresses were replaced.
    pub anonymized: Option<&'static str>,
}

impl Summary {
    pub fn new(scan: &Scan) -> Self {
        let totals = &scan.totals;
        let cost = totals.cost();
        let captures = &scan.captures;
        let clocks = Clocks::of(captures);
        let with_frames = || captures.iter().filter(|capture| capture.packets > 0);
        Self {
            connections: scan.connections_once(),
            connections_not_listed: scan.connections_not_listed(),
            tcp_packets: scan.tcp_packets(),
            packets: captures.iter().map(|capture| capture.packets).sum(),
            affected_connections: totals.affected_connections,
            stalls: totals.stalls,
            stalled_ms: ms(totals.stalled_ns),
            verdict: totals.verdict().name(),
            exchanges: totals.exchanges,
            cost_connections: cost.connections,
            cost_exchanges: cost.exchanges,
            cost_latency_ms: ms(cost.latency_ns),
            cost_stalled_ms: ms(cost.stalled_ns),
            stalls_by_confidence: totals.by_confidence.stalls,
            stalled_ms_by_confidence: totals.by_confidence.stalled_ns.map(ms),
            clean: totals.clean,
            unproven: totals.unproven,
            short_holds: totals.short_holds,
            short_ms: ms(totals.short_ns),
            short_latency_ms: ms(totals.short_latency_ns),
            first_ns: with_frames().map(|capture| capture.first_ns).min().unwrap_or(0),
            last_ns: with_frames().map(|capture| capture.last_ns).max().unwrap_or(0),
            is_text: captures.iter().any(|capture| capture.about_text.is_some()),
            has_dates: captures
                .iter()
                .all(|capture| capture.about_text.as_ref().is_none_or(|text| text.has_dates)),
            not_judged: totals.not_judged(),
            not_judged_by: totals.not_judged_by().map(|(why, count)| (why.name(), count)).collect(),
            copied: totals.hidden[Hidden::Copied as usize],
            clock_ms: ms(clocks.coarsest_ns()),
            clocks_differ: clocks.differ(),
            without_handshake: totals.without_handshake,
            waits_not_listed: scan.unlisted_waits,
            waits_not_listed_ms: ms(scan.unlisted_wait_ns),
            anonymized: scan.anonymized(),
            warnings: captures
                .iter()
                .flat_map(|capture| {
                    let path = &capture.path;
                    let told =
                        move |warning: Warning| (path.clone(), warning.text, warning.is_loss);
                    warnings(capture).into_iter().map(told)
                })
                .collect(),
        }
    }
}
