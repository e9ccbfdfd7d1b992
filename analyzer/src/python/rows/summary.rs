//! The totals of a scan as Python sees them.

use crate::judge::doubts::Hidden;
use crate::judge::words::evidence::ms;
use crate::output::row::row;
use crate::result::scan::Scan;
use crate::result::warnings::{Warning, warnings};
use crate::track::clock::stamps::Stamps;
use crate::track::reader::capture_summary::clocks;
use pyo3::prelude::*;
use std::collections::BTreeMap;

row! {
    /// Totals; durations in ms.
    #[pyclass(frozen, get_all)]
    Summary(scan: &Scan) with {
        let totals = &scan.totals;
        let cost = totals.cost();
        let captures = &scan.captures;
        let clocks = clocks(captures);
        let with_frames =
            || captures.iter().map(|capture| &capture.stamps).filter(|stamps| stamps.frames > 0);
    } {
        connections: u64 = scan.connections_once(),
        connections_not_listed: u64 = scan.connections_not_listed(),
        tcp_packets: u64 = scan.tcp_packets(),
        packets: u64 = captures.iter().map(|capture| u64::from(capture.stamps.frames)).sum(),
        /// Connections with stalls that count: likely or certain ones, or possible ones where none
        /// is surer. Then those with other stalls.
        affected_connections: u64 = cost.connections,
        possible_connections: u64 = totals.possible_connections(),
        stalls: u64 = totals.stalls,
        stalled_ms: f64 = ms(totals.stalled_ns),
        verdict: &'static str = totals.verdict().name(),
        exchanges: u64 = totals.exchanges,
        unasked_messages: u64 = scan.unasked,
        /// Exchanges of the affected connections, their latencies' sum, and what stalls took of it.
        cost_exchanges: u64 = cost.exchanges,
        cost_latency_ms: f64 = ms(cost.latency_ns),
        cost_stalled_ms: f64 = ms(cost.stalled_ns),
        /// Stalls that are possible, likely and certain.
        stalls_by_confidence: [u64; 3] = totals.by_confidence.stalls,
        stalled_ms_by_confidence: [f64; 3] = totals.by_confidence.stalled_ns.map(ms),
        /// Connections that are clean, and those among them where a hold too short to be listed, or
        /// one that ended as data came, is possible.
        clean: u64 = totals.clean,
        unproven: u64 = totals.unproven,
        /// How often client and server could have stalled on clean connections, and the number of these on
        /// which each sent data, unless `TCP_NODELAY` was in effect; and was acknowledged.
        opportunities: [u64; 2] = totals.opportunities,
        undecided: [u64; 2] = totals.undecided,
        acked: [u64; 2] = totals.acked,
        /// Holds that may have been too short to be listed, what they took of the latency of the
        /// exchanges of their connections, and that latency.
        short_holds: u64 = totals.short_holds,
        short_ms: f64 = ms(totals.short_ns),
        short_latency_ms: f64 = ms(totals.short_latency_ns),
        first_ns: i64 = with_frames().map(Stamps::first_ns).min().unwrap_or(0),
        last_ns: i64 = with_frames().map(Stamps::last_ns).max().unwrap_or(0),
        /// It was read from printed text, at least in part: there are no frames, and maybe no date.
        is_text: bool = captures.iter().any(|capture| capture.about_text.is_some()),
        has_dates: bool = captures
            .iter()
            .all(|capture| capture.about_text.as_ref().is_none_or(|text| text.has_dates)),
        /// Connections without a stall that cannot be judged, and how many for which reason.
        not_judged: u64 = totals.not_judged(),
        not_judged_by: BTreeMap<&'static str, u64> =
            totals.not_judged_by().map(|(why, count)| (why.name(), count)).collect(),
        /// Connections that are others of the capture, captured again.
        copied: u64 = totals.hidden[Hidden::Copied as usize],
        /// Step of the coarsest clock, and whether that of another capture is finer.
        clock_ms: f64 = ms(clocks.coarsest_ns()),
        clocks_differ: bool = clocks.differ(),
        /// Rows of its text were left out, as marks in it say.
        is_elided: bool = clocks.is_elided,
        without_handshake: u64 = totals.without_handshake,
        guessed_servers: u64 = totals.guessed_servers,
        waits_not_listed: u64 = scan.unlisted_waits,
        waits_not_listed_ms: f64 = ms(scan.unlisted_wait_ns),
        /// Name of the input, what a reader must know of it, and whether a part of it is missing.
        warnings: Vec<(String, String, bool)> = captures
            .iter()
            .flat_map(|capture| {
                let path = &capture.path;
                let shown =
                    move |warning: Warning| (path.clone(), warning.text, warning.is_loss);
                warnings(capture).into_iter().map(shown)
            })
            .collect(),
        /// The scheme under which addresses were replaced.
        anonymized: Option<&'static str> = scan.anonymized(),
    }
}
