//! The fields of a connection and of its two ends.
//!
//! Captures hold millions of connections, so JSON leaves out what is nothing or not known of one.

use super::Output::{Json, Python, Table};
use super::{Field, Fields, Row, field};
use crate::judge::doubts::Hidden;
use crate::judge::finding::judged::{Detail, JudgedConnection, JudgedHalf};
use crate::judge::nagle::nodelay::Nagle;
use crate::judge::nagle::timers::LateAcks;
use crate::judge::nagle::variant::Variant;
use crate::output::values;
use crate::result::names::Names;
use crate::result::scan::Scan;
use crate::track::Side;
use std::ops::Deref;

const CONNECTION: Field = field!("connection", "Its number: Wireshark's `tcp.stream`.");
const CLIENT: Field = field!("client", "The end that opened the connection.");
const SERVER: Field = field!("server", "The other end.");
const RTT_BORROWED: Field =
    field!("rtt_borrowed", "A round trip was measured on other connections of the same two hosts.");
const MSS_INFERRED: Field =
    field!("mss_inferred", "MSS is an estimate: no handshake, or the path carries less.");
const VERDICT: Field =
    field!("verdict", "`stalls`, `possible` (none is likely), `clean` or `inconclusive`.");
const NOTICES: Field = field!("notices", Hidden::DOC);
const STALLS: Field = field!("stalls", "Number of stalls, possible ones included.");
const STALLED: Field =
    field!("stalled_ms", "For how long these stalls are expected to have held segments.");
const MEAN_LATENCY: Field = field!("mean_latency_ms", "Mean latency of its exchanges.");
const HANDSHAKE_RTT: Field = field!(
    "handshake_rtt_ms",
    "From the client's last SYN to its ACK of the server's, where both were surely captured. Wireshark's \
     `tcp.analysis.initial_rtt` is less strict: of 745 connections, 127 have it alone, and 14 differ."
);
const CONNECT: Field = field!(
    "connect_ms",
    "From the first SYN to the established connection, if a `connect` wait is listed and a reply came."
);
const FIRST_REPLY: Field = field!(
    "first_reply_ms",
    "From the first SYN to the end of the first reply, under the same condition."
);
const PREDICTED: Field =
    field!("predicted_latency_ms", "The same without the stalls; in JSON, where it has any.");

/// A connection, and what the user calls its ends.
#[derive(Debug, Clone, Copy)]
pub struct NamedConnection<'a> {
    judged: &'a JudgedConnection,
    names: &'a Names,
}

impl<'a> NamedConnection<'a> {
    /// The connection of `scan` with this index.
    pub fn of(scan: &'a Scan, index: usize) -> Self {
        Self { judged: &scan.connections[index], names: &scan.names }
    }

    fn end(&self, side: Side) -> NamedEnd<'a> {
        let half = self.judged.half(side);
        NamedEnd { half, detail: half.detail(), name: self.names.get(half.endpoint.addr) }
    }
}

impl Deref for NamedConnection<'_> {
    type Target = JudgedConnection;

    fn deref(&self) -> &JudgedConnection {
        self.judged
    }
}

impl Row for NamedConnection<'_> {
    const NAME: &'static str = "connection";

    fn fields(to: &mut impl Fields<Self>) {
        to.integer(CONNECTION, |row| row.id);
        to.nested(CLIENT, |row| row.end(Side::Client));
        to.nested(SERVER, |row| row.end(Side::Server));
        to.time(field!("first_ns", "Its first frame."), |row| row.first_ns);
        to.time(field!("last_ns", "Its last frame."), |row| row.last_ns);
        to.flag(field!("handshake", "Handshake captured."), |row| row.handshake);
        to.category(VERDICT, |row| row.verdict());
        to.flag(field!("conclusive", "The verdict is conclusive."), |row| row.is_conclusive());
        to.text(NOTICES.only(Table), |row| match row.hidden {
            Hidden::Nothing => "",
            hidden => hidden.name(),
        });
        to.json(
            NOTICES.sparse(),
            |row| Some(row.hidden).filter(|&why| why != Hidden::Nothing),
            notices,
        );
        to.maybe_duration(field!("rtt_ms", "Round trip of the path."), |row| row.rtt_ns());
        to.flag(RTT_BORROWED.except(Table).sparse(), |row| row.is_rtt_borrowed());
        to.maybe_duration(HANDSHAKE_RTT.sparse(), |row| row.handshake_ns());
        to.integer(field!("mss", "Effective MSS, in bytes."), |row| row.mss);
        to.flag(MSS_INFERRED.except(Table).sparse(), |row| row.mss_inferred);
        to.category(field!("capture_point", "Capture point."), |row| row.shown_capture_point());
        to.integer(STALLS.except(Json), |row| row.stalls);
        to.maybe_duration(CONNECT.sparse(), |row| row.connecting_ns().map(|(took, _)| took));
        to.maybe_duration(FIRST_REPLY.sparse(), |row| row.connecting_ns().map(|(_, took)| took));
        to.duration(STALLED.late().sparse(), |row| row.stalled_ns);
        to.integer(field!("exchanges", "Requests with responses."), |row| row.exchanges);
        to.maybe_duration(MEAN_LATENCY.sparse(), |row| row.mean_latency_ns());
        to.maybe_duration(PREDICTED.except(Json), |row| row.mean_latency_without_stalls_ns());
        to.maybe_duration(PREDICTED.only(Json).sparse(), |row| {
            row.mean_latency_without_stalls_ns().filter(|_| row.stalls > 0)
        });
    }
}

/// One end of a connection.
#[derive(Debug, Clone, Copy)]
pub struct NamedEnd<'a> {
    half: &'a JudgedHalf,
    detail: &'a Detail,
    name: Option<&'a str>,
}

const ADDR: Field = field!("addr", "IP address.");
const PORT: Field = field!("port", "TCP port.");
const SEGMENTS: Field = field!("segments", "Segments sent.");
const BYTES: Field = field!("bytes", "Payload sent, in bytes.");
const OPPORTUNITIES: Field = field!(
    "opportunities",
    "How often it could have stalled: the other side did not acknowledge a small segment at once, or \
     another one left before that. Of the former, up to 255 with a late ACK and as many with data."
);
const NAGLE: Field =
    field!("nagle", "Nagle's algorithm: `on`, `off`, `switched` (off later) or `unknown`.");
const NAGLE_FRAMES: Field = field!("nagle_frames", "Two frames that prove it.");
const VARIANT: Field = field!("nagle_variant", "`classic` (RFC 896), `minshall` or `unknown`.");
const VARIANT_FRAMES: Field = field!("nagle_variant_frames", "Two frames that prove which.");
const RTT: Field = field!(
    "rtt_ms",
    "Round trip between the capture point and this end; of other connections of the two hosts, where its own does not show it."
);
const RETRANSMITTED: Field = field!("retransmitted", "Retransmitted segments.");
const DUPLICATED: Field = field!("duplicated", "Segments captured twice.");
const REORDERED: Field = field!("reordered", "Segments captured out of order.");
const UNSEEN: Field = field!("unseen_bytes", "Bytes not captured.");
const DELAYED_ACK: Field = field!("delayed_ack", "Its delayed ACKs, as a receiver.");
const DELAYED_ACK_MS: Field = field!("delayed_ack_ms", "Median delay of its delayed ACKs.");
const CONSISTENT_WITH: Field =
    field!("delayed_ack_consistent_with", "Stack whose delayed-ACK timer fits.");

const NAME: Field = field!("name", "What `--names` calls the address.").only(Json).sparse();

impl Row for NamedEnd<'_> {
    const NAME: &'static str = "end";

    fn fields(to: &mut impl Fields<Self>) {
        to.address(ADDR.except(Python), |end| end.half.endpoint.addr);
        to.name(NAME, |end| end.name);
        to.integer(PORT.except(Python), |end| end.half.endpoint.port);
        to.category(NAGLE, |end| end.half.nagle);
        to.category(VARIANT.except(Python).late().sparse(), |end| end.detail.variant);
        to.maybe_duration(RTT.sparse(), |end| end.half.rtt_ns());
        to.integer(SEGMENTS.except(Python), |end| end.half.segments);
        to.integer(BYTES.except(Python), |end| end.half.bytes);
        to.integer(OPPORTUNITIES.only(Json), |end| end.half.opportunities);
        to.json(NAGLE_FRAMES, |end| proof(end.half), frames);
        to.json(VARIANT_FRAMES.late(), |end| variant_proof(end.detail), frames);
        to.integer(RETRANSMITTED.except(Python).late().sparse(), |end| end.detail.retransmitted);
        to.integer(DUPLICATED.only(Json).late().sparse(), |end| end.detail.duplicated);
        to.integer(REORDERED.only(Json).late().sparse(), |end| end.detail.reordered);
        to.integer(UNSEEN.only(Json).late().sparse(), |end| end.detail.unseen_bytes);
        to.json(DELAYED_ACK.late(), |end| end.detail.late_acks, late_acks);
        to.maybe_duration(DELAYED_ACK_MS.only(Table), |end| {
            end.detail.late_acks.map(|late| late.timer.median_ns)
        });
        to.text(CONSISTENT_WITH.only(Table), |end| {
            end.detail.late_acks.map_or("", |late| late.timer.consistent_with())
        });
    }
}

fn proof(half: &JudgedHalf) -> Option<(u32, u32)> {
    (half.nagle != Nagle::Unknown).then_some(half.proof)
}

fn variant_proof(detail: &Detail) -> Option<(u32, u32)> {
    (detail.variant != Variant::Unknown).then_some(detail.variant_proof)
}

fn notices(out: &mut Vec<u8>, hidden: Hidden) {
    values::name(out, "[\"", hidden.name());
    out.extend_from_slice(b"\"]");
}

fn frames(out: &mut Vec<u8>, (first, second): (u32, u32)) {
    values::integer(out, "[", first);
    values::integer(out, ",", second);
    out.push(b']');
}

fn late_acks(out: &mut Vec<u8>, LateAcks { timer, first_frame, prompt }: LateAcks) {
    values::integer(out, r#"{"count":"#, timer.count);
    values::integer(out, r#","prompt":"#, prompt);
    values::integer(out, r#","first_frame":"#, first_frame);
    values::duration(out, r#","median_ms":"#, timer.median_ns);
    values::duration(out, r#","min_ms":"#, timer.min_ns);
    values::duration(out, r#","max_ms":"#, timer.max_ns);
    values::name(out, r#","consistent_with":""#, timer.consistent_with());
    out.extend_from_slice(br#""}"#);
}
