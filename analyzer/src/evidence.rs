//! Why a stall is believed: sentences with frame numbers, for JSON, tables and reports.

use crate::causes::Cause;
use crate::flow::Side;
use crate::judge::{Finding, Verdict};
use crate::wait::fact;
use std::fmt::{self, Display, Formatter};

/// One reason. `Display` writes the sentence.
pub struct Reason<'a> {
    kind: Kind,
    finding: &'a Finding,
    verdict: &'a Verdict,
}

#[derive(Clone, Copy)]
enum Kind {
    Unacked,
    Ack,
    Release,
    Peak,
    Doubt(&'static str),
}

/// The reasons for a stall, strongest facts first, then what lowers the confidence.
pub fn reasons<'a>(finding: &'a Finding, verdict: &'a Verdict) -> impl Iterator<Item = Reason<'a>> {
    let wait = &finding.wait;
    let lock = &verdict.end(wait.by).lock;
    let doubts = [
        (
            !wait.is(fact::UNACKED_SMALL),
            "the unacknowledged segment is full-sized: held by the classic rule only (RFC 1122), not by Linux",
        ),
        (!lock.measured, "no handshake was captured: the round trips are estimates"),
        (verdict.mss_inferred, "the MSS is inferred from the largest segment: no SYN was captured"),
        (wait.is(fact::ACK_FIN), "the ACK carries FIN: the receiver was closing"),
        (
            wait.is(fact::LARGE_FLIGHT),
            "much was in flight: a full congestion window is the rival explanation",
        ),
        (lock.in_band == 1, "it happened only once in this direction"),
    ];
    let facts = [Kind::Unacked, Kind::Ack, Kind::Release, Kind::Peak];
    let doubts = doubts.into_iter().filter(|(is, _)| *is).map(|(_, text)| Kind::Doubt(text));
    facts
        .into_iter()
        .filter(move |kind| !matches!(kind, Kind::Peak) || lock.in_band > 1)
        .chain(doubts)
        .map(move |kind| Reason { kind, finding, verdict })
}

impl Display for Reason<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let wait = &self.finding.wait;
        let end = self.verdict.end(wait.by);
        match self.kind {
            Kind::Unacked => self.unacked(out),
            Kind::Ack => self.ack(out),
            Kind::Release => write!(
                out,
                "frame {} follows the ACK by {}; the round trip to the {} is {} (tolerance {})",
                wait.to.frame,
                Ms(wait.release_ns()),
                wait.by.name(),
                Ms(end.lock.center_ns),
                Ms(end.lock.tolerance_ns),
            ),
            Kind::Peak => write!(
                out,
                "{} waits in this direction end this close to an ACK, {} lie near",
                end.lock.in_band, end.lock.near,
            ),
            Kind::Doubt(text) => out.write_str(text),
        }
    }
}

impl Reason<'_> {
    fn unacked(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let (wait, mss) = (&self.finding.wait, self.verdict.mss);
        let last_is_full = wait.unacked_len.is_multiple_of(mss);
        match (wait.is(fact::UNACKED_SMALL), last_is_full) {
            (true, true) => write!(out, "a small segment before frame {}", wait.from.frame)?,
            (_, last_is_full) => write!(
                out,
                "frame {} ({} bytes, {})",
                wait.from.frame,
                wait.unacked_len,
                if last_is_full { "full-sized" } else { "small" },
            )?,
        }
        write!(
            out,
            " was unacknowledged, so frame {} ({} bytes, less than the MSS of {mss}) had to wait",
            wait.to.frame, wait.len,
        )
    }

    fn ack(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let wait = &self.finding.wait;
        let receiver: Side = wait.by.other();
        write!(
            out,
            "frame {} is a pure ACK, which no application sees, {} after frame {}: ",
            wait.ack.frame,
            Ms(wait.ack.time_ns - wait.from.time_ns),
            wait.from.frame,
        )?;
        let delay = Ms(self.finding.ack_delay_ns);
        match (self.finding.cause, self.verdict.end(receiver).rtt_ns) {
            (Cause::NagleDelack, Some(rtt_ns)) => write!(
                out,
                "{delay} more than the round trip to the {} of {}",
                receiver.name(),
                Ms(rtt_ns),
            ),
            (Cause::NagleDelack, None) => {
                write!(out, "delayed by up to {delay} (round trip unknown)")
            }
            _ => write!(out, "as soon as the round trip to the {} allows", receiver.name()),
        }
    }
}

/// A duration in ms with three decimals. Integers are written several times faster than floats,
/// and there is one of these for every stall.
pub struct Ms(pub i64);

impl Display for Ms {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let us = (self.0.unsigned_abs() + 500) / 1000;
        write!(out, "{sign}{}.{:03} ms", us / 1000, us % 1000)
    }
}

/// Nanoseconds as milliseconds.
pub fn ms(duration_ns: i64) -> f64 {
    duration_ns as f64 / 1e6
}
