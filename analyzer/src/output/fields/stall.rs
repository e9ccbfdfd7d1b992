//! The fields of a stall.

use super::Output::{Csv, Json, Python};
use super::{Field, Fields, Row, field};
use crate::judge::finding::judged::{JudgedConnection, JudgedHalf};
use crate::judge::findings::Finding;
use crate::judge::words::evidence::each_reason;
use crate::output::values;
use crate::result::calls::{CallRow, StallCalls};
use crate::result::scan::Scan;
use crate::track::Side;
use crate::track::reader::capture_summary::CaptureSummary;
use serde::Serialize;

/// A stall, with its connection.
#[derive(Debug, Clone, Copy)]
pub struct StallRow<'a> {
    pub finding: Finding<'a>,
    pub judged: &'a JudgedConnection,
    /// The call that wrote the held segment, where that is known.
    pub call: Option<(&'a StallCalls, &'a CallRow)>,
    /// The captures, where they were taken at both ends.
    captures: Option<&'a [CaptureSummary]>,
}

/// The frames of a stall in the capture at the other end, as that one numbers them.
#[derive(Debug, Clone, Serialize)]
pub struct OtherEnd<'a> {
    pub capture: &'a str,
    pub frame_unacked: u64,
    pub frame_ack: u64,
    pub frame_held: u64,
}

impl<'a> StallRow<'a> {
    /// A finding of `scan`.
    pub fn of(scan: &'a Scan, finding: Finding<'a>) -> Option<Self> {
        let index = scan.connections.index_of(finding.wait.connection)?;
        Some(Self::with(scan, &scan.connections[index], finding))
    }

    /// A finding of this connection of `scan`.
    pub fn with(scan: &'a Scan, judged: &'a JudgedConnection, finding: Finding<'a>) -> Self {
        let row =
            |calls: &'a StallCalls| Some((calls, calls.row(judged.id, finding.wait.to.frame)?));
        let captures = scan.ends.as_ref().map(|_| scan.captures.as_slice());
        Self { finding, judged, call: scan.calls.as_deref().and_then(row), captures }
    }

    /// The capture that its frames are of, where there is one at each end, and the number of the held
    /// one there.
    pub fn capture(&self) -> Option<(&'a str, u64)> {
        let (capture, frame) = CaptureSummary::with(self.captures?, self.finding.wait.to.frame)?;
        Some((&capture.path, frame))
    }

    /// Its frames at the other end.
    pub fn other_end(&self) -> Option<OtherEnd<'a>> {
        let [unacked, ack, held] = self.judged.elsewhere(self.finding.wait)?.frames;
        let captures = self.captures?;
        let number = |frame| CaptureSummary::with(captures, frame).map_or(0, |(_, number)| number);
        Some(OtherEnd {
            capture: &CaptureSummary::with(captures, held)?.0.path,
            frame_unacked: number(unacked),
            frame_ack: number(ack),
            frame_held: number(held),
        })
    }

    fn client(&self) -> &JudgedHalf {
        self.judged.half(Side::Client)
    }

    fn server(&self) -> &JudgedHalf {
        self.judged.half(Side::Server)
    }
}

const CONNECTION: Field = field!("connection", "Its connection: Wireshark's `tcp.stream`.");
const CLIENT_ADDR: Field = field!("client_addr", "IP address of the client.");
const CLIENT_PORT: Field = field!("client_port", "TCP port of the client.");
const SERVER_ADDR: Field = field!("server_addr", "IP address of the server.");
const SERVER_PORT: Field = field!("server_port", "TCP port of the server.");
const SENDER: Field = field!("sender", "Who held data back.");
const FRAME_UNACKED: Field = field!("frame_unacked", "Frame of the unacknowledged segment.");
const FRAME_HELD: Field = field!("frame_held", "Frame of the held segment.");
const TIME: Field = field!("time_ns", "When the held segment left.");
const LEN_UNACKED: Field =
    field!("len_unacked", "Payload of the unacknowledged segment, in bytes.");
const HOLD: Field = field!(
    "hold_ms",
    "The time lost, which all sums count: as `wait_ms`, since no capture shows when it was written."
);
const CALL: Field = field!(
    "call",
    "The system call that wrote it: `name`, `bytes`, `line` of the trace, `function`, `written_ns`, `hold_ms`, `proof`: `proven` where it was written before the ACK, or empty."
);
const CAPTURE: Field = field!(
    "capture",
    "With captures at both ends: the one that its frames are of. They are counted through all captures."
);
const OTHER_END: Field = field!(
    "other_end",
    "Its frames in the capture at the other end, as that one numbers them: `capture`, `frame_unacked`, `frame_ack`, `frame_held`. `ack_delay_ms` is measured at the receiver then."
);
const CONFIDENCE: Field = field!("confidence", "`possible`, `likely` or `certain`.");
const EVIDENCE: Field = field!("evidence", "The evidence, in sentences.");

impl Row for StallRow<'_> {
    const NAME: &'static str = "stall";

    fn fields(to: &mut impl Fields<Self>) {
        to.integer(CONNECTION.except(Json), |row| row.judged.id);
        to.address(CLIENT_ADDR.only(Csv), |row| row.client().endpoint.addr);
        to.integer(CLIENT_PORT.only(Csv), |row| row.client().endpoint.port);
        to.address(SERVER_ADDR.only(Csv), |row| row.server().endpoint.addr);
        to.integer(SERVER_PORT.only(Csv), |row| row.server().endpoint.port);
        to.category(field!("cause", "`nagle_delack`, `nagle_reply` or `nagle_rtt`."), |row| {
            row.finding.cause
        });
        to.category(SENDER.except(Python), |row| row.finding.wait.by);
        to.category(CONFIDENCE.late(), |row| row.finding.confidence());
        to.integer(field!("rel_seq", "Stream offset of the held segment's first byte."), |row| {
            row.finding.wait.rel_seq
        });
        to.integer(field!("len", "Payload of the held segment, in bytes."), |row| {
            row.finding.wait.len
        });
        to.integer(LEN_UNACKED.except(Csv), |row| row.finding.wait.unacked_len);
        to.integer(FRAME_UNACKED.except(Python), |row| row.finding.wait.from.frame);
        to.integer(
            field!("frame_ack", "Frame of the ACK that released the held segment."),
            |row| row.finding.wait.ack.frame,
        );
        to.integer(FRAME_HELD.except(Python), |row| row.finding.wait.to.frame);
        to.time(TIME.except(Python), |row| row.finding.wait.to.time_ns);
        to.duration(
            field!("wait_ms", "Upper bound: since its sender last sent or received data."),
            |row| row.finding.wait.wait_ns(),
        );
        to.duration(HOLD, |row| row.finding.lost_ns());
        to.duration(field!("ack_delay_ms", "ACK delay, less the round trip; of `nagle_reply` how long the data took that acknowledged it."), |row| {
            row.judged.ack_delay_ns(row.finding.wait)
        });
        to.duration(
            field!(
                "release_ms",
                "From the ACK to the held segment, at the capture point; negative where ACKs are stamped late."
            ),
            |row| row.finding.wait.release_ns(),
        );
        to.json(CAPTURE.late(), |row| Some(row.capture()?.0), as_json);
        to.json(OTHER_END.late(), StallRow::other_end, as_json);
        to.json(EVIDENCE.late(), |row| Some(*row), evidence);
        to.json(CALL.late(), |row| row.call, call);
    }
}

fn as_json(out: &mut Vec<u8>, value: impl Serialize) {
    let _ = serde_json::to_writer(out, &value);
}

/// The call that wrote it, where a trace tells.
fn call(out: &mut Vec<u8>, (calls, row): (&StallCalls, &CallRow)) {
    let _ = serde_json::to_writer(out, &row.named(calls));
}

/// The sentences why a stall is believed.
fn evidence(out: &mut Vec<u8>, stall: StallRow<'_>) {
    values::enclosed(out, *b"[]", |out| {
        // Sentences of this program, with numbers in them: nothing to escape.
        each_reason(stall.finding, stall.judged, |reason| {
            values::name(out, ",\"", reason);
            out.push(b'"');
        });
    });
}
