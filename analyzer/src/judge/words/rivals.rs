//! Alternative explanations of a stall, for sceptical readers: what the capture says of each.

use crate::judge::causes::Cause;
use crate::judge::finding::judged::JudgedConnection;
use crate::judge::findings::Finding;
use crate::judge::model::Confidence;
use crate::judge::words::evidence::{Bytes, ExplainedStall, Left, Likelier};
use crate::pieces::Ms;
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
    if !stall.wait.is(fact::RESENT) {
        return (true, format!("no byte was sent twice or is missing from frame {from} to {to}"));
    }
    let why = format!(
        "frame {from} was sent again before frame {to}, but it was not lost: a capture at the \
         receiver shows both copies, or only segments that hold others back are ever sent again"
    );
    (false, why)
}

fn window(stall: &ExplainedStall<'_>) -> (bool, String) {
    let (receiver, handshake) = (stall.receiver, stall.judged.handshake);
    let why = if handshake {
        format!(
            "the window that the {receiver} had announced had room for the {} of frame {}",
            Bytes(stall.wait.len),
            stall.wait.to.frame
        )
    } else {
        format!(
            "the {receiver} never announced a window of zero; how much room there was is not \
             known without the handshake"
        )
    };
    (handshake, why)
}

fn congestion(stall: &ExplainedStall<'_>) -> (bool, String) {
    let large = stall.wait.is(fact::LARGE_FLIGHT);
    let why = if large {
        "ten full segments or more were in flight; but a small segment waited, and a congestion \
             window does not care about the size of a segment"
    } else {
        "less than ten full segments were in flight, which even a new connection may send at once \
             (RFC 6928)"
    };
    (!large, why.to_owned())
}

fn program(stall: &ExplainedStall<'_>) -> (bool, String) {
    let likelier = Likelier(stall.finding.held.ratio.into());
    let why = match stall.finding.cause {
        Cause::NagleReply => format!(
            "frame {} left {} after data that the program may have answered; this timing is {likelier} if the kernel \
             held it",
            stall.wait.to.frame,
            Ms(stall.wait.release_ns())
        ),
        _ => format!(
            "frame {} {} an ACK, which a program cannot see; this timing is {likelier} if the kernel held it than if \
             the program wrote it just then",
            stall.wait.to.frame,
            Left(stall.wait)
        ),
    };
    (is_certain(stall), why)
}

fn late(stall: &ExplainedStall<'_>) -> (bool, String) {
    let (receiver, rtt) = (stall.receiver, stall.receiver_rtt());
    let why = match (stall.finding.cause, rtt) {
        (Cause::NagleDelack, Some((rtt, elsewhere))) => format!(
            "the round trip to the {receiver} takes {rtt}{elsewhere}; its ACK came {} later than that",
            Ms(stall.judged.ack_delay_ns(stall.wait))
        ),
        (Cause::NagleReply, _) => {
            let ack = stall.wait.ack.frame;
            return (true, format!("frame {ack} carries data: no delayed-ACK timer sent it"));
        }
        (_, None) => format!(
            "the round trip to the {receiver} is not known, so whether its ACK was delayed is open"
        ),
        (_, Some(rtt)) => format!("the ACK came {}", stall.undelayed(rtt)),
    };
    (rtt.is_some() && stall.judged.handshake, why)
}

fn cork(stall: &ExplainedStall<'_>) -> (bool, String) {
    let why = format!(
        "a corked socket sends on uncork or after 200 ms, not on an ACK; this segment {} one",
        Left(stall.wait)
    );
    (is_certain(stall), why)
}

fn closing(stall: &ExplainedStall<'_>) -> (bool, String) {
    let (ack, to) = (stall.wait.ack.frame, stall.wait.to.frame);
    if stall.wait.has_any(fact::FIN | fact::ACK_FIN) {
        (false, format!("frame {ack} has FIN"))
    } else {
        (true, format!("neither frame {ack} nor frame {to} has FIN"))
    }
}

fn is_certain(stall: &ExplainedStall<'_>) -> bool {
    stall.finding.confidence() == Confidence::Certain
}
