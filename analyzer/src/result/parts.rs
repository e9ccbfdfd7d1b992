//! The latency of exchanges, taken apart.

use crate::judge::finding::judged::JudgedConnection;
use crate::judge::findings::Findings;
use crate::result::booked::{KINDS_OF_PARTS, Part, part_of};
use crate::result::connections::JudgedConnections;
use crate::result::scan::Scan;
use crate::result::server_exchanges::{first_findings, stalls_from};
use crate::track::exchange::latency::Latency;
use crate::track::{Exchange, Side};
use std::slice;

/// The parts of an exchange's time, in ns: in this order, which is that of the columns.
pub type Parts = [i64; PARTS.len()];

/// The client sent its request; bytes were on their way, or sent again; the receiver's window was
/// full; Nagle's algorithm held a segment, surely or likely; the server's program worked.
pub const PARTS: [&str; 6] = ["sending", "on_the_way", "resent", "window", "held", "server"];

/// An exchange with what it spent its time on.
#[derive(Debug, Clone, Copy)]
pub struct TakenApart {
    pub exchange: Exchange,
    pub stalls: u64,
    pub stalled_ns: i64,
    /// Time to connect, if this is the connection's first exchange; not part of the latency.
    pub connecting_ns: Option<i64>,
    pub parts: Parts,
    /// Is the way to the server measured, or surely the lesser part?
    pub is_way_known: bool,
}

impl TakenApart {
    /// `first` is the first finding of its connection that does not end before it.
    pub fn of(connections: &JudgedConnections, exchange: &Exchange, first: u32) -> Self {
        let Some(index) = connections.index_of(exchange.connection) else {
            let parts = parts_of(exchange, Findings::default(), 0);
            return Self {
                exchange: *exchange,
                stalls: 0,
                stalled_ns: 0,
                connecting_ns: None,
                parts,
                is_way_known: true,
            };
        };
        let judged = &connections[index];
        let findings = connections.findings_of(index);
        let findings = findings.slice(first as usize..findings.len());
        let (begin, end) = (exchange.begin.frame, exchange.end.frame);
        let (stalls, stalled_ns) = stalls_from(findings, begin, end, judged.surely_stalls);
        let is_first = judged.first_exchange.is_some_and(|(_, frame)| frame.get() == end);
        let connecting_ns = if is_first { connecting_ns(judged) } else { None };
        let server = judged.half(Side::Server);
        let measured_ns = server.measured_rtt_ns();
        let is_short = |bound_ns: i64| 2 * bound_ns <= exchange.latency_ns();
        let is_way_known = measured_ns.is_some() || server.rtt_ns().is_some_and(is_short);
        let parts = parts_of(exchange, findings, measured_ns.unwrap_or(0));
        Self { exchange: *exchange, stalls, stalled_ns, connecting_ns, parts, is_way_known }
    }
}

/// Takes exchanges apart, each with its connection's first finding that does not end before.
pub fn taken_apart(
    connections: &JudgedConnections,
    exchanges: &[Exchange],
    firsts: &[u32],
) -> impl Iterator<Item = TakenApart> {
    let each = exchanges.iter().zip(firsts);
    each.map(|(exchange, &first)| TakenApart::of(connections, exchange, first))
}

fn connecting_ns(judged: &JudgedConnection) -> Option<i64> {
    judged.connecting_ns().map(|(connected_ns, _)| connected_ns).or(judged.handshake_ns())
}

/// Puts each instant of an exchange down to one part. `findings` begin with the first one that does
/// not end before it; the server is `round_trip_ns` away from the capture point, as far as that was measured.
fn parts_of(exchange: &Exchange, findings: Findings<'_>, round_trip_ns: i64) -> Parts {
    let begin_ns = exchange.begin.time_ns;
    let end_ns = begin_ns + exchange.latency_ns();
    // Clocks may step back.
    let asked_ns = exchange.asked_ns.clamp(begin_ns, end_ns);
    let answered_ns = exchange.answered_ns.clamp(asked_ns, end_ns);
    let own = [
        (Part::Sending, begin_ns, asked_ns),
        (Part::Turn, asked_ns, answered_ns),
        (Part::Response, answered_ns, end_ns),
    ];
    let within = findings.iter().take_while(|row| row.wait.to.frame <= exchange.end.frame);
    let mut is_answer_timed = false;
    let waits = within.filter_map(|row| {
        let part = part_of(&row)?;
        let from_ns = row.begin_ns().clamp(begin_ns, end_ns);
        let to_ns = row.wait.to.time_ns.clamp(from_ns, end_ns);
        is_answer_timed |= part == Part::Server && (from_ns..to_ns).contains(&(answered_ns - 1));
        Some((part, from_ns, to_ns))
    });
    let sums = sums_of(own, waits);
    let sum_ns = |part: Part| sums[part as usize];
    // Where the wait for the answer is listed, it tells what of the turn was the server's.
    let way_ns = sum_ns(Part::Turn).min(if is_answer_timed { i64::MAX } else { round_trip_ns });
    [
        sum_ns(Part::Sending),
        sum_ns(Part::Way) + sum_ns(Part::Response) + way_ns,
        sum_ns(Part::Resent),
        sum_ns(Part::Window),
        sum_ns(Part::Held),
        sum_ns(Part::Server) + sum_ns(Part::Turn) - way_ns,
    ]
}

type Interval = (Part, i64, i64);

/// Sums of the instants by part. The exchange's `own` marks leave no gap.
fn sums_of(own: [Interval; 3], waits: impl Iterator<Item = Interval>) -> [i64; KINDS_OF_PARTS] {
    let mut sums = [0; KINDS_OF_PARTS];
    let mut edges: Vec<(i64, Part, i32)> = Vec::new();
    for (part, from_ns, to_ns) in own.into_iter().chain(waits) {
        edges.extend([(from_ns, part, 1), (to_ns, part, -1)]);
    }
    edges.sort_unstable_by_key(|&(at_ns, ..)| at_ns);
    let mut open = [0; KINDS_OF_PARTS];
    let mut since_ns = own[0].1;
    for (at_ns, part, step) in edges {
        if let Some(first) = open.iter().position(|&count| count > 0) {
            sums[first] += at_ns - since_ns;
        }
        since_ns = at_ns;
        open[part as usize] += step;
    }
    sums
}

/// The slowest exchanges of a scan, the slowest first, each once, with no copies.
pub fn slowest(scan: &Scan, limit: usize) -> Vec<TakenApart> {
    let slow = scan.slowest.slow().into_iter().filter(is_once(scan));
    let mut rows: Vec<Exchange> = slow.take(limit).copied().collect();
    rows.sort_unstable_by_key(|row| row.end.frame);
    let firsts = first_findings(&scan.connections, &rows);
    let mut rows: Vec<TakenApart> = taken_apart(&scan.connections, &rows, &firsts).collect();
    rows.sort_by_key(|row| -row.exchange.latency_ns());
    rows
}

/// A typical exchange: of a sample, the one with the latency nearest to the median of all.
pub fn median(scan: &Scan) -> Option<TakenApart> {
    let mut all = Latency::default();
    scan.servers.iter().for_each(|server| all.add(&server.latency));
    let [median_ns] = all.quantiles([0.5]);
    let distance = |row: &&Exchange| (row.latency_ns() as u64).abs_diff(median_ns);
    let once = scan.slowest.sample.iter().filter(is_once(scan));
    let nearest = once.min_by_key(|row| (distance(row), row.end.frame))?;
    let firsts = first_findings(&scan.connections, slice::from_ref(nearest));
    taken_apart(&scan.connections, slice::from_ref(nearest), &firsts).next()
}

fn is_once(scan: &Scan) -> impl Fn(&&Exchange) -> bool {
    |row| {
        let index = scan.connections.index_of(row.connection);
        index.is_none_or(|index| !scan.connections[index].is_copy())
    }
}

/// The slowest tenth of all exchanges, or of it what is kept.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tenth {
    pub exchanges: u64,
    /// Are these all of it?
    pub is_whole: bool,
    pub latency_ns: i64,
    pub parts: Parts,
    /// Is it so of all of them?
    pub is_way_known: bool,
}

impl Tenth {
    pub fn of(scan: &Scan) -> Self {
        let all: u64 = scan.servers.iter().map(|server| server.totals.exchanges).sum();
        let most = all.div_ceil(10);
        let rows = slowest(scan, most as usize);
        let exchanges = rows.len() as u64;
        let is_way_known = rows.iter().all(|row| row.is_way_known);
        let is_whole = exchanges == most;
        let mut tenth = Self { exchanges, is_whole, is_way_known, ..Self::default() };
        for row in rows {
            tenth.latency_ns = tenth.latency_ns.saturating_add(row.exchange.latency_ns());
            for (sum_ns, part_ns) in tenth.parts.iter_mut().zip(row.parts) {
                *sum_ns = sum_ns.saturating_add(part_ns);
            }
        }
        tenth
    }
}

#[cfg(test)]
mod tests;
