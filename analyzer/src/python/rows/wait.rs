//! A wait as Python sees it.

use super::fields::set_fields;
use crate::judge::capture::point::CapturePoint;
use crate::judge::causes::Cause;
use crate::judge::finding::judged::JudgedConnection;
use crate::judge::findings::Finding;
use crate::judge::nagle::nodelay::Nagle;
use crate::judge::words::evidence::reasons;
use crate::judge::words::rivals::rivals;
use crate::output::fields::StallRow;
use crate::result::cause_totals::Turn;
use crate::result::scan::Scan;
use crate::track::Side;
use crate::track::ending::Ending;
use crate::track::wait::fact;
use pyo3::prelude::*;

/// A wait as reports describe it: the fields of a [`Finding`], those of a [`StallRow`] whatever it is, and
/// these. from / ack / to are frames.
#[pyclass(frozen, get_all, dict)]
pub struct WaitRow {
    pub sender_end: String,
    pub receiver_end: String,
    /// IP addresses, whatever the user calls them.
    pub sender_ip: String,
    pub receiver_ip: String,
    pub from_ns: i64,
    pub ack_ns: i64,
    pub to_ns: i64,
    /// See [`Turn`].
    pub turn: &'static str,
    /// The ledger's words for what was owed when it began, and what ended it.
    pub owed: &'static str,
    pub ended_by: &'static str,
    /// Bytes of data in the ACK.
    pub len_ack: u16,
    /// How often a SYN was sent in all, if it was sent again and nothing of the other end followed; 0 for others.
    pub unanswered_syns: u32,
    /// The ending of a wait for something that never came, empty for others; when the other end was last heard
    /// of; and whether its host got the request for sure, though it did not acknowledge it.
    pub ending: &'static str,
    pub heard_ns: i64,
    pub has_arrived: bool,
    /// Did the other end never send anything?
    pub is_mute: bool,
    /// Held or paused, for all that the capture shows?
    pub may_be_held: bool,
    /// Is the round trip to the other end known, so that its ACK can be called late or prompt?
    pub is_measured: bool,
    /// Was something lost on its way to the capture? `None` where that is open.
    pub lost_before_capture: Option<bool>,
    pub evidence: Vec<String>,
    /// For a stall, the other explanations: name, whether the capture rules it out, and why.
    pub rivals: Vec<(&'static str, bool, String)>,
}

impl WaitRow {
    /// # Errors
    /// Python's own.
    pub fn new<'py>(
        py: Python<'py>,
        finding: Finding<'_>,
        judged: &JudgedConnection,
        scan: &Scan,
    ) -> PyResult<Bound<'py, Self>> {
        let (wait, names) = (finding.wait, &scan.names);
        let [by, other] = [wait.by, wait.by.other()].map(|side| judged.half(side).endpoint);
        let (evidence, rivals) = if finding.is_stall() {
            (
                reasons(finding, judged),
                rivals(finding, judged)
                    .into_iter()
                    .map(|rival| (rival.name, rival.ruled_out, rival.why))
                    .collect(),
            )
        } else {
            (Vec::new(), Vec::new())
        };
        let row = Self {
            sender_end: names.endpoint(by),
            receiver_end: names.endpoint(other),
            sender_ip: by.addr.to_string(),
            receiver_ip: other.addr.to_string(),
            from_ns: wait.from.time_ns,
            ack_ns: wait.ack.time_ns,
            to_ns: wait.to.time_ns,
            turn: Turn::of(finding).name(),
            owed: finding.entry.owed,
            ended_by: finding.entry.ended_by,
            len_ack: wait.ack_len,
            unanswered_syns: unanswered_syns(finding, judged),
            ending: wait.ending().map_or("", Ending::name),
            heard_ns: wait.unacked_ns,
            is_mute: judged.half(wait.by).bytes == 0,
            has_arrived: judged.capture_point == CapturePoint::Server,
            may_be_held: finding.may_be_held() && judged.half(wait.by).nagle != Nagle::Off,
            is_measured: judged.half(wait.by.other()).rtt_ns().is_some(),
            lost_before_capture: finding.lost_before_capture(),
            evidence,
            rivals,
        };
        let row = Bound::new(py, row)?;
        set_fields(&row, &finding)?;
        set_fields(&row, &StallRow::with(scan, judged, finding))?;
        Ok(row)
    }
}

/// How often a SYN was sent that nobody answered.
fn unanswered_syns(finding: Finding<'_>, judged: &JudgedConnection) -> u32 {
    let [client, server] = &judged.halves;
    let is_opened = client.bytes > 0 || server.bytes > 0 || judged.handshake_ns().is_some();
    match finding.wait.by {
        _ if finding.cause != Cause::Connect || is_opened => 0,
        Side::Client if server.segments == 0 => client.segments,
        Side::Server if !finding.wait.is(fact::RETRANSMITTED) => 0,
        Side::Server if client.segments == 0 || judged.handshake => server.segments,
        _ => 0,
    }
}
