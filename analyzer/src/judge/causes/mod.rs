//! Causes of waits: one file each, one pure function each, first match wins.

mod congestion_window;
mod connect;
pub mod cork;
mod delayed_ack;
pub mod nagle_delack;
mod nagle_rtt;
mod passed_on;
pub mod retransmission;
mod sender_app;
pub mod slow_link;
pub mod stop_and_wait;
mod unknown;
mod zero_window;

use crate::judge::capture::ip_ids::Ids;
use crate::judge::causes::cork::Corks;
use crate::judge::causes::slow_link::SlowLink;
use crate::judge::path::releases::Releases;
use crate::track::wait::Wait;
use serde::{Deserialize, Serialize};

/// What a cause may ask about the direction of a wait, in ns.
#[derive(Debug, Clone, Copy, Default)]
pub struct Direction {
    pub releases: Releases,
    /// Was this wait a hold, by its case?
    pub held: bool,
    /// Does the program's own pace explain the waits?
    pub paced: bool,
    /// Was the capture taken at the receiver?
    pub at_receiver: bool,
    /// Did the sender never have more than one segment in flight, full-sized ones too?
    pub one_at_a_time: bool,
    /// Which waits look like those for a cork.
    pub corks: Corks,
    /// The slow link that it came through, if it did.
    pub link: SlowLink,
    /// What the sender's IP identifications tell.
    pub ids: Ids,
    /// Was anything of the receiver captured, at times that are not made up? Without its ACKs all data
    /// looks unacknowledged.
    pub receiver_seen: bool,
    /// Do segments come after their ACKs? What came when is not known then.
    pub disordered: bool,
    /// Round trip between the capture point and the receiver, or what it does not exceed; `None` unknown.
    pub receiver_rtt_ns: Option<i64>,
    /// Mean jitter of that round trip.
    pub receiver_jitter_ns: i64,
    /// How long the receiver took to answer a SYN, if that was long.
    pub syn_took_ns: Option<i64>,
}

impl Direction {
    /// How long the receiver sat on its ACK; never negative.
    pub fn ack_delay_ns(&self, wait: &Wait) -> i64 {
        wait.ack_delay_ns(self.receiver_rtt_ns)
    }
}

/// The causes, by the names that code, columns, JSON and documentation share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Cause {
    NagleDelack,
    SlowLink,
    NagleRtt,
    Connect,
    Retransmission,
    ZeroWindow,
    PassedOn,
    StopAndWait,
    CongestionWindow,
    DelayedAck,
    Cork,
    SenderApp,
    Unknown,
}

/// A cause, its name and the function that recognises it.
struct Rule {
    cause: Cause,
    name: &'static str,
    recognises: fn(&Wait, &Direction) -> bool,
}

/// In the order in which they are asked: what is seen directly first, what is inferred later.
const RULES: [Rule; 13] = [
    Rule { cause: Cause::Connect, name: "connect", recognises: connect::recognises },
    Rule {
        cause: Cause::Retransmission,
        name: "retransmission",
        recognises: retransmission::recognises,
    },
    Rule { cause: Cause::ZeroWindow, name: "zero_window", recognises: zero_window::recognises },
    Rule { cause: Cause::PassedOn, name: "passed_on", recognises: passed_on::recognises },
    Rule { cause: Cause::NagleDelack, name: "nagle_delack", recognises: nagle_delack::recognises },
    Rule { cause: Cause::SlowLink, name: "slow_link", recognises: slow_link::recognises },
    Rule { cause: Cause::NagleRtt, name: "nagle_rtt", recognises: nagle_rtt::recognises },
    Rule {
        cause: Cause::StopAndWait,
        name: "stop_and_wait",
        recognises: stop_and_wait::recognises,
    },
    Rule {
        cause: Cause::CongestionWindow,
        name: "congestion_window",
        recognises: congestion_window::recognises,
    },
    Rule { cause: Cause::DelayedAck, name: "delayed_ack", recognises: delayed_ack::recognises },
    Rule { cause: Cause::Cork, name: "cork", recognises: cork::recognises },
    Rule { cause: Cause::SenderApp, name: "sender_app", recognises: sender_app::recognises },
    Rule { cause: Cause::Unknown, name: "unknown", recognises: unknown::recognises },
];

/// Name of each file beside this one, and the doc comment at its top.
const DOCUMENTATION: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/documentation.rs"));

/// What a user should know of the cause of this name, under fixed headings; `None` if there is no
/// such cause.
pub fn explain(name: &str) -> Option<&'static str> {
    let rule = RULES.iter().find(|rule| rule.name == name)?;
    DOCUMENTATION.iter().find(|(file, _)| *file == rule.name).map(|(_, text)| *text)
}

impl Cause {
    pub fn of(wait: &Wait, direction: &Direction) -> Self {
        RULES
            .iter()
            .find(|rule| (rule.recognises)(wait, direction))
            .map_or(Cause::Unknown, |rule| rule.cause)
    }

    pub fn name(self) -> &'static str {
        RULES.iter().find(|rule| rule.cause == self).map_or("unknown", |rule| rule.name)
    }

    /// All names, in the order in which the causes are asked.
    pub fn names() -> Vec<&'static str> {
        RULES.iter().map(|rule| rule.name).collect()
    }

    /// Its place among the names.
    pub fn index(self) -> u8 {
        RULES.iter().position(|rule| rule.cause == self).unwrap_or(0) as u8
    }

    pub fn is_stall(self) -> bool {
        matches!(self, Cause::NagleDelack | Cause::NagleRtt)
    }
}

#[cfg(test)]
mod tests;
