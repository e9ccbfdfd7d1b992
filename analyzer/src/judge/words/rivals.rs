//! What else could have made a sender wait, and what speaks against it: for people who must be
//! convinced that a stall is one.

use crate::judge::case::Confidence;
use crate::judge::causes::Cause;
use crate::judge::finding::judged::JudgedConnection;
use crate::judge::findings::Finding;
use crate::judge::words::evidence::Ms;
use crate::track::Side;
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
    vec![
        loss(finding),
        window(finding, judged),
        congestion(finding, judged),
        program(finding, judged),
        late_ack(finding, judged),
        cork(finding, judged),
        closing(finding),
    ]
}

fn loss(finding: Finding<'_>) -> Rival {
    let wait = finding.wait;
    let (from, to) = (wait.from.frame, wait.to.frame);
    let repeated = wait.has_any(fact::RETRANSMITTED | fact::RECOVERY | fact::RESENT);
    let ruled_out = !repeated && !wait.is(fact::UNSEEN);
    Rival {
        name: "packet loss",
        ruled_out,
        why: match ruled_out {
            true => format!("no byte was sent twice or is missing from frame {from} to {to}"),
            false if wait.is(fact::RESENT) => format!(
                "frame {from} was sent again before frame {to}, but it was not lost: a capture at the \
                 receiver shows both copies, or only segments that hold others back are ever sent \
                 again"
            ),
            false => format!("bytes were sent twice or are missing from frame {from} to {to}"),
        },
    }
}

fn window(finding: Finding<'_>, judged: &JudgedConnection) -> Rival {
    let wait = finding.wait;
    let open = !wait.has_any(fact::ZERO_WINDOW | fact::WINDOW_FULL);
    let receiver = wait.by.other().name();
    Rival {
        name: "receiver's window closed or full",
        ruled_out: open && judged.handshake,
        why: match (open, judged.handshake) {
            (true, true) => format!(
                "the window that the {receiver} had announced had room for the {} bytes of frame {}",
                wait.len, wait.to.frame
            ),
            (true, false) => format!(
                "the {receiver} never announced a window of zero; how much room there was is not \
                 known without the handshake"
            ),
            (false, _) => format!("the window of the {receiver} had no room"),
        },
    }
}

fn congestion(finding: Finding<'_>, judged: &JudgedConnection) -> Rival {
    let wait = finding.wait;
    let releases = judged.half(wait.by).detail().releases.of(wait);
    let ruled_out = !wait.is(fact::LARGE_FLIGHT);
    Rival {
        name: "congestion window",
        ruled_out,
        why: match ruled_out {
            true => "less than ten full segments were in flight, which even a new connection may \
                     send at once (RFC 6928)"
                .to_owned(),
            false => format!(
                "ten full segments or more were in flight; but such waits ended with a small segment \
                 {} times and a full-sized one {} times, and a congestion window does not care about \
                 the size of a segment",
                releases.small_after_window, releases.full_after_window
            ),
        },
    }
}

fn program(finding: Finding<'_>, judged: &JudgedConnection) -> Rival {
    let wait = finding.wait;
    let releases = judged.half(wait.by).detail().releases.of(wait);
    let release = Ms(wait.release_ns());
    let by_accident = (1.0 / releases.chance(wait)).round();
    let ruled_out = finding.confidence() == Confidence::Certain;
    let why = match releases.in_band {
        0 | 1 => format!(
            "frame {} left {release} after an ACK, which a program cannot see; a program's write \
             would fall that close to an ACK once in {by_accident}",
            wait.to.frame
        ),
        times => format!(
            "frame {} left {release} after an ACK, which a program cannot see; a program's write \
             would fall that close to an ACK once in {by_accident}, and here it did {times} times",
            wait.to.frame
        ),
    };
    Rival { name: "the program paused between its writes", ruled_out, why }
}

fn late_ack(finding: Finding<'_>, judged: &JudgedConnection) -> Rival {
    let wait = finding.wait;
    let receiver: Side = wait.by.other();
    let delay = Ms(judged.ack_delay_ns(wait));
    let (name, why) = match (finding.cause, judged.half(receiver).rtt_ns()) {
        (Cause::NagleDelack, Some(rtt_ns)) => (
            "slow network",
            format!(
                "the round trip to the {} takes {}; its ACK came {delay} later than that",
                receiver.name(),
                Ms(rtt_ns)
            ),
        ),
        (Cause::NagleDelack, None) => {
            ("slow network", format!("the round trip to the {} is not known", receiver.name()))
        }
        _ => (
            "delayed ACK",
            format!("the ACK came within the round trip to the {}: not delayed", receiver.name()),
        ),
    };
    let measured = judged.half(receiver).rtt_ns().is_some() && judged.handshake;
    Rival { name, ruled_out: measured, why }
}

fn cork(finding: Finding<'_>, judged: &JudgedConnection) -> Rival {
    let wait = finding.wait;
    let corked = judged.half(wait.by).detail().releases.of(wait).corked;
    let why = match corked {
        true => format!(
            "the {} also sent a small segment some 200 ms late with nothing unacknowledged, as after a \
             write with MSG_MORE; such a segment waits for the next ACK even with TCP_NODELAY",
            wait.by.name()
        ),
        false => format!(
            "a corked socket sends on uncork or after 200 ms, not on an ACK; this segment left {} after \
             one",
            Ms(wait.release_ns())
        ),
    };
    let ruled_out = !corked && finding.confidence() == Confidence::Certain;
    Rival { name: "TCP_CORK or MSG_MORE", ruled_out, why }
}

fn closing(finding: Finding<'_>) -> Rival {
    let wait = finding.wait;
    let ruled_out = !wait.has_any(fact::FIN | fact::ACK_FIN);
    Rival {
        name: "the connection was closing",
        ruled_out,
        why: match ruled_out {
            true => {
                format!("neither frame {} nor frame {} has FIN", wait.ack.frame, wait.to.frame)
            }
            false => format!("frame {} has FIN", wait.ack.frame),
        },
    }
}
