//! The columns that cross into Python.
//!
//! Names, dtypes and units are listed here and in `nagle_scan/results.py`; a test holds them equal.

use crate::judge::causes::Cause;
use crate::judge::confidence::Confidence;
use crate::judge::findings::{Finding, Findings};
use crate::judge::judged::{CapturePoint, JudgedConnection};
use crate::judge::nodelay::Nagle;
use crate::judge::variant::Variant;
use crate::output::column::{
    Column, Halves, Table, categories, durations, floats, integers, maybe, sides, texts, times,
};
use crate::result::scan::{Scan, TrackedSegment};
use crate::result::servers::{Percentiles, servers as server_rows, stalls_in};
use crate::track::{Exchange, Side};

/// Findings whose columns are worked out at once: they are read once for each column, and stay in cache.
const FINDINGS_AT_ONCE: usize = 4096;

/// One row per connection, in the order of their ids.
pub fn connections(scan: &Scan) -> Table {
    Halves::all(scan.connections.blocks().collect()).table(connection_columns)
}

fn connection_columns(rows: &[JudgedConnection]) -> Table {
    let mut table = vec![("connection", integers(rows, |row| u64::from(row.id)))];
    table.extend(end_columns(rows, Side::Client, &CLIENT_COLUMNS));
    table.extend(end_columns(rows, Side::Server, &SERVER_COLUMNS));
    table.extend([
        ("first_ns", times(rows, |row| row.first_ns)),
        ("last_ns", times(rows, |row| row.last_ns)),
        ("handshake", Column::Flags(rows.iter().map(|row| row.handshake).collect())),
        ("conclusive", Column::Flags(rows.iter().map(JudgedConnection::is_conclusive).collect())),
        ("rtt_ms", maybe(rows, JudgedConnection::rtt_ns)),
        ("mss", integers(rows, |row| u64::from(row.mss))),
        (
            "capture_point",
            categories(rows, CapturePoint::NAMES.to_vec(), |row| row.capture_point as u8),
        ),
        ("stalls", integers(rows, |row| u64::from(row.stalls))),
        ("stalled_ms", durations(rows, |row| row.stalled_ns)),
        ("exchanges", integers(rows, |row| u64::from(row.exchanges))),
        ("mean_latency_ms", maybe(rows, JudgedConnection::mean_latency_ns)),
        ("predicted_latency_ms", maybe(rows, JudgedConnection::mean_latency_without_stalls_ns)),
    ]);
    table
}

type EndColumns = [&'static str; 10];

const CLIENT_COLUMNS: EndColumns = [
    "client_addr",
    "client_port",
    "client_nagle",
    "client_nagle_variant",
    "client_rtt_ms",
    "client_segments",
    "client_bytes",
    "client_retransmitted",
    "client_delayed_ack_ms",
    "client_delayed_ack_consistent_with",
];

const SERVER_COLUMNS: EndColumns = [
    "server_addr",
    "server_port",
    "server_nagle",
    "server_nagle_variant",
    "server_rtt_ms",
    "server_segments",
    "server_bytes",
    "server_retransmitted",
    "server_delayed_ack_ms",
    "server_delayed_ack_consistent_with",
];

fn end_columns(
    rows: &[JudgedConnection],
    side: Side,
    names: &EndColumns,
) -> impl Iterator<Item = (&'static str, Column)> {
    let columns = [
        texts(rows, |row| row.half(side).endpoint.addr.to_string()),
        integers(rows, |row| u64::from(row.half(side).endpoint.port)),
        categories(rows, Nagle::NAMES.to_vec(), |row| row.half(side).nagle as u8),
        categories(rows, Variant::NAMES.to_vec(), |row| row.half(side).detail().variant as u8),
        maybe(rows, |row| row.half(side).rtt_ns()),
        integers(rows, |row| u64::from(row.half(side).segments)),
        integers(rows, |row| row.half(side).bytes),
        integers(rows, |row| u64::from(row.half(side).detail().retransmitted)),
        maybe(rows, |row| row.half(side).detail().delayed_acks.map(|timer| timer.median_ns)),
        texts(rows, |row| {
            row.half(side)
                .detail()
                .delayed_acks
                .map_or("", |timer| timer.consistent_with())
                .to_owned()
        }),
    ];
    (*names).into_iter().zip(columns)
}

/// One row per stall, grouped by connection, in the order of time.
pub fn stalls(scan: &Scan) -> Table {
    of_findings(scan, true, |rows| stall_columns(scan, rows))
}

/// One row per wait that is no stall.
pub fn waits(scan: &Scan) -> Table {
    of_findings(scan, false, wait_columns)
}

/// Of all findings the stalls, or the others.
fn of_findings(
    scan: &Scan,
    stalls: bool,
    columns: impl Fn(&[Finding<'_>]) -> Table + Sync,
) -> Table {
    let blocks: Vec<Findings<'_>> = scan.findings.chunks(FINDINGS_AT_ONCE).collect();
    let first = blocks[..blocks.len() / 2].iter().map(|block| block.len()).sum();
    let kept = |findings: usize, of_them: usize| if stalls { of_them } else { findings - of_them };
    let before = kept(first, scan.stalls_before(first));
    let all = kept(scan.findings.len(), scan.totals.stalls as usize);
    Halves { blocks, kept: [before, all - before] }.table(|block| {
        let rows = block.iter().filter(|finding| finding.cause.is_stall() == stalls);
        columns(&rows.collect::<Vec<_>>())
    })
}

fn stall_columns(scan: &Scan, rows: &[Finding<'_>]) -> Table {
    vec![
        ("connection", integers(rows, |row| u64::from(row.wait.connection))),
        ("cause", categories(rows, Cause::names(), |row| row.cause.index())),
        ("sender", sides(rows, |row| row.wait.by)),
        ("confidence", categories(rows, Confidence::NAMES.to_vec(), |row| row.confidence() as u8)),
        ("rel_seq", integers(rows, |row| row.wait.rel_seq)),
        ("len", integers(rows, |row| u64::from(row.wait.len))),
        ("len_unacked", integers(rows, |row| u64::from(row.wait.unacked_len))),
        ("frame_unacked", integers(rows, |row| row.wait.from.frame)),
        ("frame_ack", integers(rows, |row| row.wait.ack.frame)),
        ("frame_held", integers(rows, |row| row.wait.to.frame)),
        ("time_ns", times(rows, |row| row.wait.to.time_ns)),
        ("wait_ms", durations(rows, |row| row.wait.wait_ns())),
        (
            "ack_delay_ms",
            durations(rows, |row| {
                let index = scan.connections.index_of(row.wait.connection);
                index.map_or(0, |index| scan.connections[index].ack_delay_ns(row.wait))
            }),
        ),
        ("release_ms", durations(rows, |row| row.wait.release_ns())),
    ]
}

fn wait_columns(rows: &[Finding<'_>]) -> Table {
    vec![
        ("connection", integers(rows, |row| u64::from(row.wait.connection))),
        ("cause", categories(rows, Cause::names(), |row| row.cause.index())),
        ("by", sides(rows, |row| row.wait.by)),
        ("frame_from", integers(rows, |row| row.wait.from.frame)),
        ("frame_to", integers(rows, |row| row.wait.to.frame)),
        ("time_ns", times(rows, |row| row.wait.to.time_ns)),
        ("wait_ms", durations(rows, |row| row.wait.wait_ns())),
    ]
}

/// One row per exchange, in the order of their ends, with what its stalls cost it.
pub fn exchanges(scan: &Scan) -> Table {
    let rows: &[Exchange] = scan.exchanges.as_deref().unwrap_or(&[]);
    let stalls = |row: &Exchange| {
        let index = scan.connections.index_of(row.connection);
        let findings = index.map(|index| scan.findings_of(index)).unwrap_or_default();
        stalls_in(findings, row.begin.frame, row.end.frame)
    };
    let stalled: Vec<(u64, i64)> = rows.iter().map(stalls).collect();
    let both: Vec<(&Exchange, (u64, i64))> = rows.iter().zip(stalled).collect();
    let both = both.as_slice();
    vec![
        ("connection", integers(both, |(row, _)| u64::from(row.connection))),
        ("frame_begin", integers(both, |(row, _)| row.begin.frame)),
        ("frame_end", integers(both, |(row, _)| row.end.frame)),
        ("begin_ns", times(both, |(row, _)| row.begin.time_ns)),
        ("request_bytes", integers(both, |(row, _)| row.request_bytes)),
        ("response_bytes", integers(both, |(row, _)| row.response_bytes)),
        ("latency_ms", durations(both, |(row, _)| row.latency_ns())),
        ("stalls", integers(both, |(_, (count, _))| *count)),
        ("stalled_ms", durations(both, |(_, (_, stalled_ns))| *stalled_ns)),
        (
            "predicted_latency_ms",
            durations(both, |(row, (_, stalled_ns))| (row.latency_ns() - stalled_ns).max(0)),
        ),
    ]
}

/// One row per server with exchanges, those that lose most first.
pub fn servers(scan: &Scan) -> Table {
    let rows = server_rows(scan, usize::MAX);
    let rows = rows.as_slice();
    let mut table = vec![
        ("addr", texts(rows, |row| row.addr.clone())),
        ("port", integers(rows, |row| u64::from(row.port))),
        ("connections", integers(rows, |row| row.connections)),
        ("affected_connections", integers(rows, |row| row.affected_connections)),
        ("exchanges", integers(rows, |row| row.exchanges)),
        ("stalled_exchanges", integers(rows, |row| row.stalled_exchanges)),
        ("stalls", integers(rows, |row| row.stalls)),
        ("stalled_ms", floats(rows, |row| row.stalled_ms)),
    ];
    table.extend(
        PERCENTILES.map(|(name, _, value)| (name, floats(rows, |row| value(&row.latency)))),
    );
    table.extend(
        PERCENTILES.map(|(_, name, value)| (name, floats(rows, |row| value(&row.predicted)))),
    );
    table
}

/// Names of the measured and of the predicted column, and the value.
type PercentileColumn = (&'static str, &'static str, fn(&Percentiles) -> f64);

const PERCENTILES: [PercentileColumn; 6] = [
    ("latency_p50_ms", "predicted_p50_ms", |row| row.p50_ms),
    ("latency_p75_ms", "predicted_p75_ms", |row| row.p75_ms),
    ("latency_p90_ms", "predicted_p90_ms", |row| row.p90_ms),
    ("latency_p95_ms", "predicted_p95_ms", |row| row.p95_ms),
    ("latency_p99_ms", "predicted_p99_ms", |row| row.p99_ms),
    ("latency_max_ms", "predicted_max_ms", |row| row.max_ms),
];

/// The segments of one connection, as read again.
pub fn segments(rows: &[TrackedSegment]) -> Table {
    vec![
        ("frame", integers(rows, |row| row.mark.frame)),
        ("time_ns", times(rows, |row| row.mark.time_ns)),
        ("sender", sides(rows, |row| row.by)),
        ("rel_seq", integers(rows, |row| row.rel_seq)),
        ("len", integers(rows, |row| u64::from(row.header.len))),
        ("seq", integers(rows, |row| u64::from(row.header.seq))),
        ("ack", integers(rows, |row| u64::from(row.header.ack))),
        ("flags", integers(rows, |row| u64::from(row.header.flags))),
        ("window", integers(rows, |row| u64::from(row.header.window))),
        ("window_bytes", floats(rows, |row| row.window.map_or(f64::NAN, f64::from))),
    ]
}
