//! Alternative explanations of a stall, for sceptical readers: the lines of its case that would speak for
//! each.

use crate::judge::case::{Confidence, Line, Lines};
use crate::judge::causes::Cause;
use crate::judge::finding::judged::JudgedConnection;
use crate::judge::findings::Finding;
use crate::judge::path::releases::Releases;
use crate::judge::words::evidence::Ms;
use crate::track::wait::{Wait, fact};

/// Another explanation of a stall.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rival {
    pub name: &'static str,
    /// Does the capture exclude it?
    pub ruled_out: bool,
    /// One sentence without its full stop.
    pub why: String,
}

/// The rivals of a stall, in the order in which people think of them.
pub fn rivals(finding: Finding<'_>, judged: &JudgedConnection) -> Vec<Rival> {
    let wait = finding.wait;
    let releases = judged.half(wait.by).detail().releases.of(wait);
    let case = releases.lines_of(wait).and(finding.doubts.into());
    let stall = Stall { finding, wait, judged, releases, case };
    let late_ack = match finding.cause {
        Cause::NagleDelack => "slow network",
        _ => "delayed ACK",
    };
    let each = [
        ("packet loss", stall.loss()),
        ("receiver's window closed or full", stall.window()),
        ("congestion window", stall.congestion()),
        ("the program paused between its writes", stall.program()),
        (late_ack, stall.late_ack()),
        ("TCP_CORK or MSG_MORE", stall.cork()),
        ("the connection was closing", stall.closing()),
    ];
    each.into_iter().map(|(name, (ruled_out, why))| Rival { name, ruled_out, why }).collect()
}

struct Stall<'a> {
    finding: Finding<'a>,
    wait: &'a Wait,
    judged: &'a JudgedConnection,
    releases: &'a Releases,
    case: Lines,
}

/// For each rival: is it ruled out, and why?
impl Stall<'_> {
    fn receiver(&self) -> &'static str {
        self.wait.by.other().name()
    }

    fn is_certain(&self) -> bool {
        self.finding.confidence() == Confidence::Certain
    }

    fn loss(&self) -> (bool, String) {
        let (from, to) = (self.wait.from.frame, self.wait.to.frame);
        let lost = self.case.has(Line::Retransmitted) || self.case.has(Line::BytesMissing);
        match (lost, self.case.has(Line::Resent)) {
            (false, false) => {
                (true, format!("no byte was sent twice or is missing from frame {from} to {to}"))
            }
            (_, true) => (
                false,
                format!(
                    "frame {from} was sent again before frame {to}, but it was not lost: a capture at \
                     the receiver shows both copies, or only segments that hold others back are ever \
                     sent again"
                ),
            ),
            (true, false) => {
                (false, format!("bytes were sent twice or are missing from frame {from} to {to}"))
            }
        }
    }

    fn window(&self) -> (bool, String) {
        let receiver = self.receiver();
        match (self.case.has(Line::WindowClosed), self.judged.handshake) {
            (false, true) => (
                true,
                format!(
                    "the window that the {receiver} had announced had room for the {} bytes of frame {}",
                    self.wait.len, self.wait.to.frame
                ),
            ),
            (false, false) => (
                false,
                format!(
                    "the {receiver} never announced a window of zero; how much room there was is not \
                     known without the handshake"
                ),
            ),
            (true, _) => (false, format!("the window of the {receiver} had no room")),
        }
    }

    fn congestion(&self) -> (bool, String) {
        let Releases { small_after_window, full_after_window, .. } = self.releases;
        match self.case.has(Line::LargeFlight) {
            false => (
                true,
                "less than ten full segments were in flight, which even a new connection may send at \
                 once (RFC 6928)"
                    .to_owned(),
            ),
            true => (
                false,
                format!(
                    "ten full segments or more were in flight; but such waits ended with a small \
                     segment {small_after_window} times and a full-sized one {full_after_window} times, \
                     and a congestion window does not care about the size of a segment"
                ),
            ),
        }
    }

    fn program(&self) -> (bool, String) {
        let release = Ms(self.wait.release_ns());
        let by_accident = (1.0 / self.releases.chance(self.wait)).round();
        let times = match self.releases.in_band {
            0 | 1 => String::new(),
            times => format!(", and here it did {times} times"),
        };
        let why = format!(
            "frame {} left {release} after an ACK, which a program cannot see; a program's write would \
             fall that close to an ACK once in {by_accident}{times}",
            self.wait.to.frame
        );
        (self.is_certain(), why)
    }

    fn late_ack(&self) -> (bool, String) {
        let receiver = self.receiver();
        let rtt_ns = self.judged.half(self.wait.by.other()).rtt_ns();
        let why = match (self.finding.cause, rtt_ns) {
            (Cause::NagleDelack, Some(rtt_ns)) => format!(
                "the round trip to the {receiver} takes {}; its ACK came {} later than that",
                Ms(rtt_ns),
                Ms(self.judged.ack_delay_ns(self.wait))
            ),
            (Cause::NagleDelack, None) => {
                format!("the round trip to the {receiver} is not known")
            }
            _ => format!("the ACK came within the round trip to the {receiver}: not delayed"),
        };
        (rtt_ns.is_some() && self.judged.handshake, why)
    }

    fn cork(&self) -> (bool, String) {
        let why = match self.releases.corked {
            true => format!(
                "the {} also sent a small segment some 200 ms late with nothing unacknowledged, as \
                 after a write with MSG_MORE; such a segment waits for the next ACK even with \
                 TCP_NODELAY",
                self.wait.by.name()
            ),
            false => format!(
                "a corked socket sends on uncork or after 200 ms, not on an ACK; this segment left {} \
                 after one",
                Ms(self.wait.release_ns())
            ),
        };
        (!self.releases.corked && self.is_certain(), why)
    }

    fn closing(&self) -> (bool, String) {
        let (ack, to) = (self.wait.ack.frame, self.wait.to.frame);
        match self.wait.has_any(fact::FIN | fact::ACK_FIN) {
            false => (true, format!("neither frame {ack} nor frame {to} has FIN")),
            true => (false, format!("frame {ack} has FIN")),
        }
    }
}
