//! `-o result.json`: the output contract, schema `nagle-scan/1`.
//!
//! Times are integers in ns since the epoch, durations float ms. Names are stable; fields may be
//! added.

use super::create;
use super::parts::parts;
use crate::both_cores::in_order;
use crate::error::ScanError;
use crate::evidence::ms;
use crate::judge::{CapturePoint, End, Nagle, Verdict};
use crate::link;
use crate::reader::CaptureSummary;
use crate::scan::Scan;
use crate::servers::{ServerRow, servers};
use crate::summary::{Outcome, Summary, warnings};
use crate::timers::Timer;
use crate::variant::Variant;
use serde::Serialize;
use std::io::{self, Write};
use std::net::IpAddr;

/// Everything but the connections, as one JSON object.
pub fn json_head(scan: &Scan) -> String {
    serde_json::to_string(&Head::new(scan)).unwrap_or_default()
}

/// Writes `scan` to `path` as JSON, with the members of `extra`, a JSON object, before the
/// connections.
///
/// # Errors
/// `path` cannot be written.
pub fn write_json(scan: &Scan, extra: Option<&str>, path: &str) -> Result<(), ScanError> {
    let mut writer = create(path)?;
    write_document(scan, extra, &mut writer).map_err(|error| ScanError::unwritable(path, &error))
}

fn write_document(scan: &Scan, extra: Option<&str>, writer: &mut impl Write) -> io::Result<()> {
    let head = serde_json::to_string(&Head::new(scan))?;
    // The object stays open for more members.
    writer.write_all(head.strip_suffix('}').unwrap_or(&head).as_bytes())?;
    if let Some(members) = extra.and_then(|object| object.strip_prefix('{')?.strip_suffix('}')) {
        write!(writer, ",{members}")?;
    }
    writer.write_all(b",\"connections\":[")?;
    write_connections(scan, writer)?;
    writer.write_all(b"]}\n")?;
    writer.flush()
}

/// Writes the connections in their order, separated by commas.
fn write_connections(scan: &Scan, writer: &mut impl Write) -> io::Result<()> {
    let parts = parts(scan);
    // Each member of an array begins with a comma, which the first must not have.
    let mut is_empty = true;
    in_order(
        parts.len(),
        |part| parts[part].serialized(scan),
        |bytes| {
            let bytes = bytes?;
            let begin = usize::from(is_empty && bytes.first() == Some(&b','));
            is_empty = bytes.last().map_or(is_empty, |&last| last == b'[');
            writer.write_all(&bytes[begin..])
        },
    )
}

/// Everything but the connections.
#[derive(Serialize)]
struct Head<'a> {
    schema: &'static str,
    anonymized: Option<&'static str>,
    captures: Vec<JsonCapture<'a>>,
    summary: JsonSummary,
    servers: Vec<ServerRow>,
}

#[derive(Serialize)]
struct JsonCapture<'a> {
    path: &'a str,
    packets: u64,
    bytes: u64,
    link_type: Option<String>,
    first_ns: i64,
    last_ns: i64,
    first_frame: u64,
    complete: bool,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct JsonSummary {
    connections: u64,
    tcp_packets: u64,
    affected_connections: u64,
    stalls: u64,
    stalled_ms: f64,
    verdict: Outcome,
    exchanges: u64,
    waits_not_listed: u64,
    waits_not_listed_ms: f64,
}

/// Without the stalls and waits, which follow.
#[derive(Serialize)]
pub(super) struct JsonConnection {
    id: u32,
    client: JsonEnd,
    server: JsonEnd,
    first_ns: i64,
    last_ns: i64,
    handshake: bool,
    conclusive: bool,
    rtt_ms: Option<f64>,
    mss: u32,
    mss_inferred: bool,
    capture_point: CapturePoint,
    exchanges: u32,
    mean_latency_ms: Option<f64>,
    mean_latency_without_stalls_ms: Option<f64>,
    stalled_ms: f64,
}

#[derive(Serialize)]
struct JsonEnd {
    addr: IpAddr,
    port: u16,
    nagle: Nagle,
    /// Two frames that prove it; empty where nothing does.
    nagle_frames: Vec<u64>,
    nagle_variant: Variant,
    nagle_variant_frames: Vec<u64>,
    rtt_ms: Option<f64>,
    segments: u64,
    bytes: u64,
    retransmitted: u32,
    duplicated: u32,
    reordered: u32,
    unseen_bytes: u64,
    delayed_ack: Option<JsonTimer>,
}

#[derive(Serialize)]
struct JsonTimer {
    count: u64,
    median_ms: f64,
    min_ms: f64,
    max_ms: f64,
    consistent_with: &'static str,
}

impl<'a> Head<'a> {
    fn new(scan: &'a Scan) -> Self {
        Self {
            schema: "nagle-scan/1",
            anonymized: scan.anonymized,
            captures: scan.captures.iter().map(JsonCapture::new).collect(),
            summary: JsonSummary::new(&Summary::of(scan)),
            servers: servers(scan, usize::MAX),
        }
    }
}

impl<'a> JsonCapture<'a> {
    fn new(capture: &'a CaptureSummary) -> Self {
        Self {
            path: &capture.path,
            packets: capture.packets,
            bytes: capture.bytes,
            link_type: capture.link_type.map(link::name),
            first_ns: capture.first_ns,
            last_ns: capture.last_ns,
            first_frame: capture.first_frame,
            complete: capture.is_complete(),
            warnings: warnings(capture),
        }
    }
}

impl JsonSummary {
    fn new(summary: &Summary) -> Self {
        Self {
            connections: summary.connections,
            tcp_packets: summary.tcp_packets,
            affected_connections: summary.affected_connections,
            stalls: summary.stalls,
            stalled_ms: ms(summary.stalled_ns),
            verdict: summary.outcome,
            exchanges: summary.exchanges,
            waits_not_listed: summary.unlisted_waits,
            waits_not_listed_ms: ms(summary.unlisted_wait_ns),
        }
    }
}

impl JsonConnection {
    pub fn new(verdict: &Verdict) -> Self {
        let [client, server] = verdict.ends.each_ref().map(JsonEnd::new);
        Self {
            id: verdict.id,
            client,
            server,
            first_ns: verdict.first_ns,
            last_ns: verdict.last_ns,
            handshake: verdict.handshake,
            conclusive: verdict.is_conclusive(),
            rtt_ms: verdict.rtt_ns().map(ms),
            mss: verdict.mss,
            mss_inferred: verdict.mss_inferred,
            capture_point: verdict.capture_point,
            exchanges: verdict.exchanges,
            mean_latency_ms: verdict.mean_latency_ns().map(ms),
            mean_latency_without_stalls_ms: verdict.mean_latency_without_stalls_ns().map(ms),
            stalled_ms: ms(verdict.stalled_ns),
        }
    }
}

impl JsonEnd {
    fn new(end: &End) -> Self {
        Self {
            addr: end.endpoint.addr,
            port: end.endpoint.port,
            nagle: end.nagle,
            nagle_frames: match end.nagle {
                Nagle::Unknown => Vec::new(),
                _ => vec![end.proof.0, end.proof.1],
            },
            nagle_variant: end.variant,
            nagle_variant_frames: match end.variant {
                Variant::Unknown => Vec::new(),
                _ => vec![end.variant_proof.0, end.variant_proof.1],
            },
            rtt_ms: end.rtt_ns.map(ms),
            segments: end.segments,
            bytes: end.bytes,
            retransmitted: end.retransmitted,
            duplicated: end.duplicated,
            reordered: end.reordered,
            unseen_bytes: end.unseen_bytes,
            delayed_ack: end.delayed_acks.as_ref().map(JsonTimer::new),
        }
    }
}

impl JsonTimer {
    fn new(timer: &Timer) -> Self {
        Self {
            count: timer.count,
            median_ms: ms(timer.median_ns),
            min_ms: ms(timer.min_ns),
            max_ms: ms(timer.max_ns),
            consistent_with: timer.consistent_with(),
        }
    }
}
