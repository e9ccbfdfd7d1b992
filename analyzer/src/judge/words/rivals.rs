//! Alternative explanations of a stall, for sceptical readers: the lines of its case that would speak for
//! each.

use crate::judge::case::{Confidence, Line};
use crate::judge::causes::Cause;
use crate::judge::finding::judged::JudgedConnection;
use crate::judge::findings::Finding;
use crate::judge::path::releases::Releases;
use crate::judge::words::evidence::{ExplainedStall, Ms};
use crate::track::wait::fact;

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
    let stall = ExplainedStall::new(finding, judged);
    let late_ack = match finding.cause {
        Cause::NagleDelack => "slow network",
        _ => "delayed ACK",
    };
    let each = [
        ("packet loss", loss(&stall)),
        ("receiver's window closed or full", window(&stall)),
        ("congestion window", congestion(&stall)),
        ("the program paused between its writes", program(&stall)),
        (late_ack, late(&stall)),
        ("TCP_CORK or MSG_MORE", cork(&stall)),
        ("the connection was closing", closing(&stall)),
    ];
    each.into_iter().map(|(name, (ruled_out, why))| Rival { name, ruled_out, why }).collect()
}

// For each rival: is it ruled out, and why?

fn loss(stall: &ExplainedStall<'_>) -> (bool, String) {
    let (from, to) = (stall.wait.from.frame, stall.wait.to.frame);
    let case = stall.case();
    let lost = case.has(Line::Retransmitted) || case.has(Line::BytesMissing);
    let why = match (lost, case.has(Line::Resent)) {
        (false, false) => format!("no byte was sent twice or is missing from frame {from} to {to}"),
        (true, false) => format!("bytes were sent twice or are missing from frame {from} to {to}"),
        (_, true) => format!(
            "frame {from} was sent again before frame {to}, but it was not lost: a capture at the \
             receiver shows both copies, or only segments that hold others back are ever sent again"
        ),
    };
    (!lost && !case.has(Line::Resent), why)
}

fn window(stall: &ExplainedStall<'_>) -> (bool, String) {
    let (receiver, handshake) = (stall.receiver, stall.judged.handshake);
    let closed = stall.case().has(Line::WindowClosed);
    let why = match (closed, handshake) {
        (true, _) => format!("the window of the {receiver} had no room"),
        (false, true) => format!(
            "the window that the {receiver} had announced had room for the {} bytes of frame {}",
            stall.wait.len, stall.wait.to.frame
        ),
        (false, false) => format!(
            "the {receiver} never announced a window of zero; how much room there was is not \
             known without the handshake"
        ),
    };
    (!closed && handshake, why)
}

fn congestion(stall: &ExplainedStall<'_>) -> (bool, String) {
    let Releases { small_after_window, full_after_window, .. } = stall.releases;
    if !stall.case().has(Line::LargeFlight) {
        let why = "less than ten full segments were in flight, which even a new connection may send \
                   at once (RFC 6928)";
        return (true, why.to_owned());
    }
    let why = format!(
        "ten full segments or more were in flight; but such waits ended with a small segment \
         {small_after_window} times and a full-sized one {full_after_window} times, and a congestion \
         window does not care about the size of a segment"
    );
    (false, why)
}

fn program(stall: &ExplainedStall<'_>) -> (bool, String) {
    let release = Ms(stall.wait.release_ns());
    let by_accident = (1.0 / stall.releases.chance(stall.wait)).round();
    let times = match stall.releases.in_band {
        0 | 1 => String::new(),
        times => format!(", and here it happened {times} times"),
    };
    let why = format!(
        "frame {} left {release} after an ACK, which a program cannot see; the chance of a \
         program writing that close to an ACK is 1 in {by_accident}{times}",
        stall.wait.to.frame
    );
    (is_certain(stall), why)
}

fn late(stall: &ExplainedStall<'_>) -> (bool, String) {
    let (receiver, rtt_ns) = (stall.receiver, stall.receiver_rtt_ns());
    let why = match (stall.finding.cause, rtt_ns) {
        (Cause::NagleDelack, Some(rtt_ns)) => format!(
            "the round trip to the {receiver} takes {}; its ACK came {} later than that",
            Ms(rtt_ns),
            Ms(stall.judged.ack_delay_ns(stall.wait))
        ),
        (Cause::NagleDelack, None) => format!("the round trip to the {receiver} is not known"),
        _ => format!("the ACK came within the round trip to the {receiver}: not delayed"),
    };
    (rtt_ns.is_some() && stall.judged.handshake, why)
}

fn cork(stall: &ExplainedStall<'_>) -> (bool, String) {
    let corked = stall.releases.corked;
    let why = match corked {
        true => format!(
            "the {} also sent a small segment some 200 ms late with nothing unacknowledged, as after \
             a write with MSG_MORE; such a segment waits for the next ACK even with TCP_NODELAY",
            stall.by
        ),
        false => format!(
            "a corked socket sends on uncork or after 200 ms, not on an ACK; this segment left {} \
             after one",
            Ms(stall.wait.release_ns())
        ),
    };
    (!corked && is_certain(stall), why)
}

fn closing(stall: &ExplainedStall<'_>) -> (bool, String) {
    let (ack, to) = (stall.wait.ack.frame, stall.wait.to.frame);
    match stall.wait.has_any(fact::FIN | fact::ACK_FIN) {
        false => (true, format!("neither frame {ack} nor frame {to} has FIN")),
        true => (false, format!("frame {ack} has FIN")),
    }
}

fn is_certain(stall: &ExplainedStall<'_>) -> bool {
    stall.finding.confidence() == Confidence::Certain
}
