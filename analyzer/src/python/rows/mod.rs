//! Rows as Python sees them: what reports are written from.

mod connection;
mod hop;

pub use self::connection::ConnectionRow;
pub use self::hop::HopRow;

use crate::judge::confidence::Doubt;
use crate::judge::evidence::{ms, reasons};
use crate::judge::findings::Finding;
use crate::judge::judged::JudgedConnection;
use crate::judge::rivals::rivals;
use crate::result::nagle_counts::{NagleCount, Party};
use crate::result::scan::Scan;
use crate::result::servers::{Percentiles, ServerRow};
use crate::result::{groups, summary};
use crate::track::clock::Clocks;
use crate::track::wait;
use pyo3::prelude::*;

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
    pub affected_exchanges: u64,
    pub affected_latency_ms: f64,
    pub affected_stalled_ms: f64,
    /// Stalls that are possible, likely and certain.
    pub stalls_by_confidence: [u64; 3],
    pub first_ns: i64,
    pub last_ns: i64,
    pub one_sided: u64,
    pub blurred: u64,
    /// Step of the coarsest clock, and whether that of another capture is finer.
    pub clock_ms: f64,
    pub clocks_differ: bool,
    pub without_handshake: u64,
    pub waits_not_listed: u64,
    pub waits_not_listed_ms: f64,
    /// Name of the input and what a reader must know of it.
    pub warnings: Vec<(String, String)>,
    /// The scheme under which addresses were replaced.
    pub anonymized: Option<&'static str>,
}

/// Stalls of one cause between the same two parties; durations in ms.
#[pyclass(frozen, get_all)]
pub struct Group {
    pub cause: &'static str,
    pub sender: &'static str,
    pub sender_addr: String,
    pub receiver_addr: String,
    pub server_port: u16,
    pub stalls: u64,
    pub connections: u64,
    /// All exchanges of these connections, stalled or not.
    pub exchanges: u64,
    pub stalled_ms: f64,
    pub confidence: &'static str,
    pub nagle: &'static str,
    pub ack_delay_ms: f64,
    pub ack_delay_min_ms: f64,
    pub ack_delay_max_ms: f64,
    pub consistent_with: &'static str,
    /// Typical lengths in bytes.
    pub len_unacked: u32,
    pub len_held: u32,
    pub unacked_full_sized: bool,
    /// Frames of the first unacknowledged segments.
    pub frames_unacked: Vec<u64>,
    /// The frame that ended the server's first reply, if it is the sender.
    pub frame_first_reply: Option<u64>,
}

/// What the wire shows of `TCP_NODELAY` on one party's sockets; proofs are (connection, frame,
/// frame).
#[pyclass(frozen, get_all)]
pub struct NagleRow {
    pub side: &'static str,
    pub addr: String,
    pub server_port: u16,
    pub on: u32,
    pub off: u32,
    pub unknown: u32,
    pub on_proof: Option<(u32, u64, u64)>,
    pub off_proof: Option<(u32, u64, u64)>,
    pub variant: Option<(&'static str, u32, u64, u64)>,
}

/// Waits of one cause that one side ended; durations in ms.
#[pyclass(frozen, get_all)]
pub struct CauseRow {
    pub cause: &'static str,
    pub by: &'static str,
    pub waits: u64,
    pub total_ms: f64,
    pub longest_ms: f64,
}

/// A wait as reports tell it: from / ack / to are frames; durations in ms, times in ns.
#[pyclass(frozen, get_all)]
pub struct WaitRow {
    pub connection: u32,
    pub cause: &'static str,
    pub by: &'static str,
    pub sender: String,
    pub receiver: String,
    pub confidence: &'static str,
    pub frame_from: u64,
    pub frame_ack: u64,
    pub frame_to: u64,
    pub from_ns: i64,
    pub ack_ns: i64,
    pub to_ns: i64,
    pub len_from: u32,
    pub len_to: u32,
    pub wait_ms: f64,
    pub ack_delay_ms: f64,
    pub release_ms: f64,
    pub own_data_before: bool,
    pub evidence: Vec<String>,
    /// Names of the doubts that lower the confidence; each has its sentence in `evidence`.
    pub doubts: Vec<&'static str>,
    /// For a stall, the other explanations: name, whether the capture rules it out, and why.
    pub rivals: Vec<(&'static str, bool, String)>,
}

/// A server endpoint; percentiles are p50, p75, p90, p95, p99, max, in ms.
#[pyclass(frozen, get_all, name = "ServerRow")]
pub struct PyServerRow {
    pub addr: String,
    pub port: u16,
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

impl Summary {
    pub fn new(scan: &Scan) -> Self {
        let totals = &scan.totals;
        let captures = &scan.captures;
        let clocks = Clocks::of(captures);
        let with_frames = || captures.iter().filter(|capture| capture.packets > 0);
        Self {
            connections: scan.connection_count,
            connections_not_listed: scan.connections_not_listed(),
            tcp_packets: scan.tcp_packets(),
            packets: captures.iter().map(|capture| capture.packets).sum(),
            affected_connections: totals.affected_connections,
            stalls: totals.stalls,
            stalled_ms: ms(totals.stalled_ns),
            verdict: totals.verdict().name(),
            exchanges: totals.exchanges,
            affected_exchanges: totals.affected_exchanges,
            affected_latency_ms: ms(totals.affected_latency_ns),
            affected_stalled_ms: ms(totals.affected_stalled_ns),
            stalls_by_confidence: totals.stalls_by_confidence,
            first_ns: with_frames().map(|capture| capture.first_ns).min().unwrap_or(0),
            last_ns: with_frames().map(|capture| capture.last_ns).max().unwrap_or(0),
            one_sided: totals.one_sided,
            blurred: totals.blurred,
            clock_ms: ms(clocks.coarsest_ns()),
            clocks_differ: clocks.differ(),
            without_handshake: totals.without_handshake,
            waits_not_listed: scan.unlisted_waits,
            waits_not_listed_ms: ms(scan.unlisted_wait_ns),
            anonymized: scan.anonymized,
            warnings: captures
                .iter()
                .flat_map(|capture| {
                    let path = &capture.path;
                    summary::warnings(capture).into_iter().map(move |text| (path.clone(), text))
                })
                .collect(),
        }
    }
}

impl NagleRow {
    pub fn new(scan: &Scan, party: Party, count: &NagleCount) -> Self {
        let side = party.side();
        Self {
            side: side.name(),
            addr: party.addr.to_string(),
            server_port: party.server_port,
            on: count.totals.on,
            off: count.totals.off,
            unknown: count.totals.unknown,
            on_proof: count.on_proof(scan, side),
            off_proof: count.off_proof(scan, side),
            variant: count
                .variant(scan, side)
                .map(|(variant, id, full, small)| (variant.name(), id, full, small)),
        }
    }
}

impl PyServerRow {
    pub fn new(row: ServerRow) -> Self {
        let milliseconds = |row: Percentiles| {
            [row.p50_ms, row.p75_ms, row.p90_ms, row.p95_ms, row.p99_ms, row.max_ms]
        };
        Self {
            addr: row.addr,
            port: row.port,
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

impl Group {
    pub fn new(group: &groups::Group) -> Self {
        let delays = group.ack_delays.as_ref();
        Self {
            cause: group.cause.name(),
            sender: group.sender.name(),
            sender_addr: group.sender_addr.to_string(),
            receiver_addr: group.receiver_addr.to_string(),
            server_port: group.server_port,
            stalls: group.stalls,
            connections: group.connections,
            exchanges: group.exchanges,
            stalled_ms: ms(group.stalled_ns),
            confidence: group.confidence.name(),
            nagle: group.nagle.name(),
            ack_delay_ms: delays.map_or(0.0, |timer| ms(timer.median_ns)),
            ack_delay_min_ms: delays.map_or(0.0, |timer| ms(timer.min_ns)),
            ack_delay_max_ms: delays.map_or(0.0, |timer| ms(timer.max_ns)),
            consistent_with: delays.map_or("", |timer| timer.consistent_with()),
            len_unacked: group.pieces.unacked_len,
            len_held: group.pieces.held_len,
            unacked_full_sized: group.pieces.unacked_full_sized,
            frames_unacked: group.pieces.frames.clone(),
            frame_first_reply: group.pieces.first_reply,
        }
    }
}

impl CauseRow {
    pub fn new(total: &summary::CauseTotal) -> Self {
        Self {
            cause: total.cause.name(),
            by: total.by.name(),
            waits: total.waits,
            total_ms: ms(total.total_ns),
            longest_ms: ms(total.longest_ns),
        }
    }
}

impl WaitRow {
    pub fn new(finding: Finding<'_>, judged: &JudgedConnection) -> Self {
        let wait = finding.wait;
        let stall = finding.cause.is_stall();
        Self {
            connection: judged.id,
            cause: finding.cause.name(),
            by: wait.by.name(),
            sender: judged.half(wait.by).endpoint.to_string(),
            receiver: judged.half(wait.by.other()).endpoint.to_string(),
            confidence: finding.confidence().name(),
            frame_from: wait.from.frame,
            frame_ack: wait.ack.frame,
            frame_to: wait.to.frame,
            from_ns: wait.from.time_ns,
            ack_ns: wait.ack.time_ns,
            to_ns: wait.to.time_ns,
            len_from: wait.unacked_len,
            len_to: wait.len,
            wait_ms: ms(wait.wait_ns()),
            ack_delay_ms: ms(judged.ack_delay_ns(wait)),
            release_ms: ms(wait.release_ns()),
            own_data_before: wait.is(wait::fact::OWN_DATA_BEFORE),
            doubts: finding.doubts.iter().map(Doubt::name).collect(),
            evidence: match stall {
                true => reasons(finding, judged).map(|reason| reason.to_string()).collect(),
                false => Vec::new(),
            },
            rivals: match stall {
                true => rivals(finding, judged)
                    .into_iter()
                    .map(|rival| (rival.name, rival.ruled_out, rival.why))
                    .collect(),
                false => Vec::new(),
            },
        }
    }
}
