//! A wait as Python sees it.

use crate::judge::case::Line;
use crate::judge::finding::judged::JudgedConnection;
use crate::judge::findings::Finding;
use crate::judge::words::evidence::{ms, reasons};
use crate::judge::words::rivals::rivals;
use crate::result::names::Names;
use crate::track::wait::fact;
use pyo3::prelude::*;

/// A wait as reports tell it: from / ack / to are frames; durations in ms, times in ns.
#[pyclass(frozen, get_all)]
pub struct WaitRow {
    pub connection: u32,
    pub cause: &'static str,
    pub by: &'static str,
    pub sender: String,
    pub receiver: String,
    /// IP addresses, whatever the user calls them.
    pub sender_ip: String,
    pub receiver_ip: String,
    pub confidence: &'static str,
    pub frame_from: u64,
    pub frame_ack: u64,
    pub frame_to: u64,
    pub from_ns: i64,
    pub ack_ns: i64,
    pub to_ns: i64,
    pub len_unacked: u32,
    pub len: u32,
    pub wait_ms: f64,
    pub ack_delay_ms: f64,
    pub release_ms: f64,
    pub own_data_before: bool,
    /// Was something lost on its way to the capture? `None` where that is open.
    pub lost_before_capture: Option<bool>,
    pub evidence: Vec<String>,
    /// Names of the doubts that lower the confidence; each has its sentence in `evidence`.
    pub doubts: Vec<&'static str>,
    /// For a stall, the other explanations: name, whether the capture rules it out, and why.
    pub rivals: Vec<(&'static str, bool, String)>,
}

impl WaitRow {
    pub fn new(finding: Finding<'_>, judged: &JudgedConnection, names: &Names) -> Self {
        let wait = finding.wait;
        let stall = finding.cause.is_stall();
        let [by, other] = [wait.by, wait.by.other()].map(|side| judged.half(side).endpoint);
        Self {
            connection: judged.id,
            cause: finding.cause.name(),
            by: wait.by.name(),
            sender: names.endpoint(by),
            receiver: names.endpoint(other),
            sender_ip: by.addr.to_string(),
            receiver_ip: other.addr.to_string(),
            confidence: finding.confidence().name(),
            frame_from: wait.from.frame,
            frame_ack: wait.ack.frame,
            frame_to: wait.to.frame,
            from_ns: wait.from.time_ns,
            ack_ns: wait.ack.time_ns,
            to_ns: wait.to.time_ns,
            len_unacked: wait.unacked_len,
            len: wait.len,
            wait_ms: ms(wait.wait_ns()),
            ack_delay_ms: ms(judged.ack_delay_ns(wait)),
            release_ms: ms(wait.release_ns()),
            own_data_before: wait.is(fact::OWN_DATA_BEFORE),
            lost_before_capture: finding.lost_before_capture(),
            doubts: finding.doubts.iter().map(Line::name).collect(),
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
