//! `-o result.json`: the output contract, schema `nagle-scan/1`.
//!
//! Times are integers in ns since the epoch, durations float ms. Names are stable; fields may be
//! added. Of more rows than anyone reads, those that matter least are only counted: see `listed`.

mod listed;
pub(super) mod members;
mod parts;

pub use self::listed::ListedRows;
use self::members::array;
use self::parts::write_connections;
use super::file::{create, written};
use crate::capture::error::ScanError;
use crate::capture::link;
use crate::judge::finding::verdict::Verdict;
use crate::judge::words::evidence::ms;
use crate::output::row::row;
use crate::result::calls::CallsSummary;
use crate::result::connecting::{ConnectingSums, connecting};
use crate::result::hops::hops;
use crate::result::joined::BothEnds;
use crate::result::open::open;
use crate::result::parts::slowest;
use crate::result::scan::Scan;
use crate::result::servers::{self, MOST_LISTED};
use crate::result::warnings::warnings;
use crate::track::reader::capture_summary::CaptureSummary;
use serde::Serialize;
use std::io::{self, Write};
use std::ops::RangeInclusive;

/// The slowest exchanges that the JSON lists: reports show fewer.
const MOST_SLOW: usize = 20;

/// The debts that the JSON lists: a server that went away leaves one on each of its connections.
const MOST_OPEN: usize = 10_000;

/// Everything but the connections, as one JSON object.
pub fn json_head(scan: &Scan) -> String {
    let mut head = open_head(scan, &ListedRows::new(scan));
    head.push(b'}');
    String::from_utf8(head).unwrap_or_default()
}

/// Everything but the connections and hops; the object stays open for more members.
fn open_head(scan: &Scan, listed: &ListedRows) -> Vec<u8> {
    let head = serde_json::to_string(&Head::new(scan, listed)).unwrap_or_default();
    let mut out = printable(head).into_bytes();
    out.pop();
    out.extend_from_slice(b",\"servers\":");
    array(&mut out, servers::servers(scan, MOST_LISTED));
    out.extend_from_slice(b",\"slowest\":");
    array(&mut out, slowest(scan, MOST_SLOW));
    out.extend_from_slice(b",\"open\":");
    array(&mut out, open(scan).take(MOST_OPEN));
    out
}

/// With escapes for what a terminal obeys or hides, which only texts of an input hold: JSON itself
/// has to escape nothing beyond U+001F.
fn printable(json: String) -> String {
    use std::fmt::Write;
    const HIDDEN: [RangeInclusive<char>; 10] = [
        '\u{7f}'..='\u{9f}',
        '\u{61c}'..='\u{61c}',
        '\u{180e}'..='\u{180e}',
        '\u{200b}'..='\u{200f}',
        '\u{2028}'..='\u{202e}',
        '\u{2060}'..='\u{2069}',
        '\u{feff}'..='\u{feff}',
        '\u{fff9}'..='\u{fffb}',
        '\u{fffe}'..='\u{ffff}',
        '\u{e0000}'..='\u{e007f}',
    ];
    let is_hidden = |sign: char| HIDDEN.iter().any(|range| range.contains(&sign));
    if !json.contains(is_hidden) {
        return json;
    }
    let mut escaped = String::with_capacity(json.len());
    for sign in json.chars() {
        if is_hidden(sign) {
            for unit in sign.encode_utf16(&mut [0; 2]) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(sign);
        }
    }
    escaped
}

/// Writes `scan` to `path` as JSON, with the members of the object `extra` before the connections.
///
/// # Errors
/// `path` cannot be written.
pub fn write(scan: &Scan, path: &str, extra: Option<&str>) -> Result<(), ScanError> {
    let mut writer = create(path)?;
    written(path, write_document(scan, extra, &mut writer))
}

fn write_document(scan: &Scan, extra: Option<&str>, writer: &mut impl Write) -> io::Result<()> {
    let listed = ListedRows::new(scan);
    writer.write_all(&open_head(scan, &listed))?;
    if let Some(members) = extra.and_then(|object| object.strip_prefix('{')?.strip_suffix('}')) {
        write!(writer, ",{members}")?;
    }
    let mut chains = b",\"hops\":".to_vec();
    array(&mut chains, hops(scan).iter());
    writer.write_all(&chains)?;
    writer.write_all(b",\"connections\":[")?;
    write_connections(scan, &listed, writer)?;
    writer.write_all(b"]}\n")?;
    writer.flush()
}

row! {
    /// Everything but the connections.
    #[derive(Serialize)]
    Head(scan: &Scan, listed: &ListedRows) {
        schema: &'static str = "nagle-scan/1",
        anonymized: Option<&'static str> = scan.anonymized(),
        captures: Vec<JsonCapture> = scan.captures.iter().map(JsonCapture::new).collect(),
        /// With captures at both ends of the same connections: how these are shared.
        #[serde(skip_serializing_if = "Option::is_none")]
        ends: Option<BothEnds> = scan.ends.clone(),
        summary: JsonSummary = JsonSummary::new(scan, listed),
    }
}

row! {
    #[derive(Serialize)]
    JsonCapture(capture: &CaptureSummary) {
        /// The name as it was given; `capture-1` if anonymized.
        path: String = capture.path.clone(),
        packets: u64 = capture.stamps.frames.into(),
        bytes: u64 = capture.bytes,
        link_type: Option<String> = capture.link_type.map(link::name),
        /// Its first frame, ns since the epoch.
        first_ns: i64 = capture.stamps.first_ns(),
        last_ns: i64 = capture.stamps.last_ns(),
        /// Frames are counted through all captures.
        first_frame: u64 = capture.first_frame,
        /// Was it read to its end?
        complete: bool = capture.is_complete(),
        /// Frames and bytes that were lost or not used, in sentences.
        warnings: Vec<String> =
            warnings(capture).into_iter().map(|warning| warning.text).collect(),
    }
}

row! {
    #[derive(Serialize)]
    JsonSummary(scan: &Scan, listed: &ListedRows) with {
        let totals = &scan.totals;
        let (waits_not_listed, waits_not_listed_ns) = listed.waits_not_listed(scan);
    } {
        connections: u64 = scan.connections_once(),
        /// They count in the totals only.
        connections_not_listed: u64 = listed.connections_not_listed(scan),
        /// They count in the totals only.
        servers_not_listed: u64 = servers::not_listed(scan),
        tcp_packets: u64 = scan.tcp_packets(),
        /// Connections with stalls that count; see `reading`.
        affected_connections: u64 = totals.cost().connections,
        /// Possible ones included.
        stalls: u64 = totals.stalls,
        /// Time lost to all these stalls: the sum of their `hold_ms`.
        stalled_ms: f64 = ms(totals.stalled_ns),
        stalls_by_confidence: JsonByConfidence<u64> =
            JsonByConfidence::new(totals.by_confidence.stalls),
        stalled_ms_by_confidence: JsonByConfidence<f64> =
            JsonByConfidence::new(totals.by_confidence.stalled_ns.map(ms)),
        /// They count in the totals only.
        stalls_not_listed: u64 = listed.stalls_not_listed(scan),
        verdict: Verdict = totals.verdict(),
        /// Connections with data that cannot be judged.
        not_judged: u64 = totals.not_judged(),
        /// Holds shorter than `min_wait_ms`, of clean connections.
        short_holds: u64 = totals.short_holds,
        short_holds_ms: f64 = ms(totals.short_ns),
        exchanges: u64 = totals.exchanges,
        /// Messages that are in no exchange, with a pause before each: a server sent them of its own
        /// accord, or a client's got no answer.
        unasked_messages: u64 = scan.unasked,
        /// Other waits that count in the totals only.
        waits_not_listed: u64 = waits_not_listed,
        waits_not_listed_ms: f64 = ms(waits_not_listed_ns),
        /// The time that slow connecting took, until the end of the first reply.
        connecting: Option<ConnectingSums> = connecting(scan),
        /// With --calls: what the system calls of a program say of the stalls.
        #[serde(skip_serializing_if = "Option::is_none")]
        calls: Option<CallsSummary> = scan.calls.as_ref().map(|calls| calls.summary.clone()),
    }
}

#[derive(Serialize)]
pub struct JsonByConfidence<T> {
    certain: T,
    likely: T,
    possible: T,
}

impl<T> JsonByConfidence<T> {
    fn new([possible, likely, certain]: [T; 3]) -> Self {
        Self { certain, likely, possible }
    }
}
