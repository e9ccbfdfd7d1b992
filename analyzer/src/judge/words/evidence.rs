//! Why a stall is believed: the terms of its probability in sentences with frame numbers, for JSON,
//! tables and reports.

use crate::capture::progress::Grouped;
use crate::judge::causes::Cause;
use crate::judge::finding::judged::JudgedConnection;
use crate::judge::findings::Finding;
use crate::judge::model::{Confidence, DirectionModel, Proof};
use crate::judge::path::Basis;
use crate::track::thresholds::SHORTEST_DELAYED_ACK_NS;
use crate::track::wait::{Wait, fact};
use std::fmt::{self, Display, Formatter, Write};

/// Most sentences are shorter.
const LEN: usize = 256;

/// The reasons for a stall: what was seen, then what each term of its probability says.
pub fn reasons(finding: Finding<'_>, judged: &JudgedConnection) -> Vec<String> {
    let mut reasons = Vec::new();
    each_reason(finding, judged, |reason| reasons.push(reason.to_owned()));
    reasons
}

/// Hands the reasons to `take`. All are written into one buffer: JSON with many stalls consists of them.
pub fn each_reason(finding: Finding<'_>, judged: &JudgedConnection, mut take: impl FnMut(&str)) {
    let stall = ExplainedStall::new(finding, judged);
    let mut text = String::with_capacity(LEN);
    let mut add = |write: &dyn Fn(&mut String) -> fmt::Result| {
        text.clear();
        // Memory takes all that is written.
        let _ = write(&mut text);
        take(&text);
    };
    add(&|out| stall.unacked(out));
    if stall.wait.is(fact::RESENT) {
        add(&|out| stall.resent(out));
    }
    if finding.held.proof == Proof::Proven {
        let (at, data) = (stall.wait.ack.frame, stall.wait.is(fact::DATA_ACK));
        let ack = if data { "data that acknowledged it" } else { "its ACK" };
        let hold = Ms(finding.hold_ns());
        let frame = stall.wait.to.frame;
        add(&|out| {
            write!(
                out,
                "by the system calls of the program, frame {frame} was written {hold} before it left, before {ack} came \
                 (frame {at}): the kernel held it"
            )
        });
        return;
    }
    if stall.wait.is(fact::DATA_ACK) {
        add(&|out| stall.data_ack(out));
        add(&|out| stall.data_release(out));
        add(&|out| stall.on(out));
        add(&|out| stall.quick(out));
        add(&|out| stall.held_at_most(out));
    } else {
        add(&|out| stall.ack(out));
        add(&|out| stall.release(out));
        add(&|out| stall.on(out));
        add(&|out| stall.relay(out));
    }
    let (most, why) = stall.model.most(stall.wait);
    if most < 1.0 {
        add(&|out| write!(out, "by {why}, no more than a probability of {}", Decimals::<3>(most)));
    }
    let probability = finding.held.probability;
    add(&|out| {
        write!(out, "together: held with a probability of {}", Decimals::<5>(probability.into()))
    });
}

/// A stall, with what its sentences need.
pub struct ExplainedStall<'a> {
    pub finding: Finding<'a>,
    pub wait: &'a Wait,
    pub judged: &'a JudgedConnection,
    pub model: DirectionModel,
    /// The sender of its data, and the receiver.
    pub by: &'static str,
    pub receiver: &'static str,
}

impl<'a> ExplainedStall<'a> {
    pub fn new(finding: Finding<'a>, judged: &'a JudgedConnection) -> Self {
        let wait = finding.wait;
        let judged = judged.at_capture_of(wait);
        let (by, receiver) = (wait.by.name(), wait.by.other().name());
        let model = judged.half(wait.by).model_of(wait);
        Self { finding, wait, judged, model, by, receiver }
    }

    /// Round trip between the capture point and the receiver, and where else it was measured.
    pub fn receiver_rtt(&self) -> Option<(Ms, &'static str)> {
        let half = self.judged.half(self.wait.by.other());
        Some((Ms(half.rtt_ns()?), half.rtt_basis.elsewhere()))
    }

    fn unacked(&self, out: &mut String) -> fmt::Result {
        let (wait, mss) = (self.wait, self.judged.mss);
        let (from, to) = (wait.from.frame, wait.to.frame);
        let (len, unacked_len) = (wait.len, wait.unacked_len);
        let last_is_full = unacked_len.is_multiple_of(mss);
        match (wait.is(fact::UNACKED_SMALL), last_is_full) {
            (true, true) => write!(out, "a small segment before frame {from}"),
            (false, true) => write!(out, "frame {from} ({}, full-sized)", Bytes(unacked_len)),
            (_, false) => {
                let end = if unacked_len < mss { "small" } else { "its last segment small" };
                write!(out, "frame {from} ({}, {end})", Bytes(unacked_len))
            }
        }?;
        let had_to = match self.finding.confidence() {
            Confidence::Possible => "would have had to wait",
            _ => "had to wait",
        };
        let estimated = if self.judged.mss_inferred { "estimated " } else { "" };
        // Offloading captures several segments as one, of which the last is small.
        let small = if len < mss { "less than" } else { "not a multiple of" };
        write!(
            out,
            " was unacknowledged, so frame {to} ({}, {small} the {estimated}MSS of {}) {had_to}",
            Bytes(len),
            Grouped(mss.into())
        )
    }

    fn resent(&self, out: &mut String) -> fmt::Result {
        write!(
            out,
            "frame {} was sent again before its ACK came, though nothing shows that it was lost: \
             the sender's retransmission timer is shorter than the receiver's delayed-ACK timer",
            self.wait.from.frame
        )
    }

    fn ack(&self, out: &mut String) -> fmt::Result {
        let (wait, receiver) = (self.wait, self.receiver);
        let before = if wait.unacked_ns < wait.from.time_ns { "the segment before " } else { "" };
        write!(
            out,
            "frame {} is a pure ACK, which no application sees, {} after {before}frame {}",
            wait.ack.frame,
            Ms(wait.ack.time_ns - wait.unacked_ns.min(wait.from.time_ns)),
            wait.from.frame
        )?;
        let delay = Ms(self.judged.ack_delay_ns(wait));
        if self.judged.elsewhere(wait).is_some_and(|seen| seen.ack_delay_ns.is_some()) {
            return write!(
                out,
                "; captured at the {receiver}, it left {delay} after what it acknowledges had come"
            );
        }
        match (self.finding.cause, self.receiver_rtt()) {
            (Cause::NagleDelack, Some((rtt, elsewhere))) => write!(
                out,
                "; the round trip to the {receiver} is {rtt}{elsewhere}, so it came {delay} late"
            ),
            (Cause::NagleDelack, None) => {
                write!(out, ": delayed by up to {delay} (round trip unknown)")
            }
            (_, None) => write!(
                out,
                "; the round trip to the {receiver} is unknown, so whether it was delayed is open"
            ),
            (_, Some(rtt)) => write!(out, ", {}", self.undelayed(rtt)),
        }
    }

    /// When the ACK came, by the round trip to the receiver, and that no timer delayed it.
    pub fn undelayed(&self, (rtt, elsewhere): (Ms, &str)) -> String {
        let (receiver, delay_ns) = (self.receiver, self.judged.ack_delay_ns(self.wait));
        let delay = Ms(delay_ns);
        match delay_ns {
            ..=0 => format!("within the round trip to the {receiver}{elsewhere}: not delayed"),
            1..SHORTEST_DELAYED_ACK_NS => format!(
                "only {delay} later than the round trip to the {receiver}{elsewhere}: not delayed"
            ),
            _ => format!(
                "{delay} later than the round trip to the {receiver}, which is {rtt} at \
                 least{elsewhere} and varies: not delayed"
            ),
        }
    }

    fn release(&self, out: &mut String) -> fmt::Result {
        let Self { wait, model, by, .. } = self;
        if wait.is(fact::ACK_BEHIND) {
            let (to, since) = (wait.to.frame, Left(wait));
            return write!(out, "frame {to} {since} the ACK: this capture stamps ACKs late");
        }
        write!(out, "frame {} follows the ACK by {}", wait.to.frame, Ms(wait.release_ns()))?;
        let rtt = Ms::of(model.path.rtt_or_zero_ms());
        match model.path.basis {
            _ if is_mostly_by_sender_clock(model) => {
                write!(out, ", and by its timestamps the {by} pauses for as long as its ACKs take")
            }
            Basis::Handshake | Basis::Shared => {
                let elsewhere = model.path.basis.elsewhere();
                write!(out, "; the round trip to the {by} is {rtt}{elsewhere}")
            }
            Basis::Estimate => write!(out, "; the fastest reply of the {by} took {rtt}"),
            Basis::Nothing if !model.path.far => {
                out.write_str(": so soon only in the sender's own host, captured there")
            }
            Basis::Nothing => write!(out, "; the round trip to the {by} is not known"),
        }?;
        write!(
            out,
            ". This timing is {} if the kernel held the segment than if the program wrote it just then",
            Likelier(self.finding.held.ratio.into())
        )
    }

    fn on(&self, out: &mut String) -> fmt::Result {
        let held = &self.finding.held;
        write!(
            out,
            "Nagle's algorithm was on with a probability of {}, by all waits of the {} and {}",
            Decimals::<5>(held.on.into()),
            self.by,
            UnheldCount(self.judged.half(self.wait.by).contradictions)
        )?;
        if self.model.sibling_count > 0 {
            let (count, siblings) = (self.model.sibling_count, self.model.siblings);
            let (plural, say) = (plural(count), if count == 1 { "says" } else { "say" });
            let same = match siblings {
                TELLING.. => "the same",
                UNTELLING.. => "little",
                _ => "the opposite",
            };
            let count = Grouped(count.into());
            let others = format!("{count} other connection{plural} of this server with such waits");
            write!(out, " ({others} {say} {same})")?;
        }
        let percent = 100.0 * self.model.share_beside(held, self.wait);
        write!(out, "; with Nagle on, {} % of such waits are holds", percent.round() as u32)
    }

    fn relay(&self, out: &mut String) -> fmt::Result {
        write!(
            out,
            "a proxy on the {}'s host that forwards late data would look the same (probability {}); a capture of \
             all its connections would rule that out",
            self.by,
            Decimals::<4>(self.model.passed_on(self.wait))
        )
    }
}

/// How often small segments were sent unheld.
pub(super) struct UnheldCount(pub u32);

impl Display for UnheldCount {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => out.write_str("no small segment sent while another was unacknowledged"),
            1 => out.write_str("1 small segment sent while another was unacknowledged"),
            count => {
                let many = Grouped(count.into());
                write!(out, "{many} small segments sent while another was unacknowledged")
            }
        }
    }
}

/// Log-odds that tell something: three to one.
const TELLING: f64 = 1.1;
const UNTELLING: f64 = -TELLING;

/// A likelihood ratio in words, to be followed by what it compares.
pub(super) struct Likelier(pub f64);

impl Display for Likelier {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let (times, word) = match self.0 {
            ratio @ 1.0.. => (ratio, "likelier"),
            ratio => (1.0 / ratio.max(1e-9), "less likely"),
        };
        match times {
            ..1.05 => out.write_str("no likelier"),
            ..9.95 => write!(out, "{times:.1} times {word}"),
            _ => write!(out, "{} times {word}", Grouped(times.round() as u64)),
        }
    }
}

/// A number with four significant digits.
pub struct Digits(pub f64);

impl Display for Digits {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let magnitude = self.0.abs().max(1e-9).log10().floor();
        let decimals = (3.0 - magnitude).clamp(0.0, 9.0) as usize;
        write!(out, "{:.decimals$}", self.0)
    }
}

/// A number of bytes with its unit.
pub(super) struct Bytes(pub u32);

impl Display for Bytes {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{} byte{}", Grouped(self.0.into()), plural(self.0))
    }
}

pub(super) fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// A duration in ms with three decimals.
#[derive(Clone, Copy)]
pub struct Ms(pub i64);

impl Ms {
    pub(super) fn of(ms: f64) -> Self {
        Self((ms * 1e6) as i64)
    }
}

impl Display for Ms {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(if self.0 < 0 { "-" } else { "" })?;
        write_decimals::<3>(out, (self.0.unsigned_abs() + 500) / 1000)?;
        out.write_str(" ms")
    }
}

/// A number from 0 on with so many decimals.
pub(super) struct Decimals<const COUNT: u32>(pub f64);

impl<const COUNT: u32> Display for Decimals<COUNT> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write_decimals::<COUNT>(out, (self.0 * f64::from(10_u32.pow(COUNT))).round() as u64)
    }
}

/// Writes a number of so many thousandths, or the like. Not by `{:.3}`: numbers are most of what JSON with
/// many stalls takes.
fn write_decimals<const COUNT: u32>(out: &mut Formatter<'_>, number: u64) -> fmt::Result {
    let one = 10_u64.pow(COUNT);
    out.write_str(itoa::Buffer::new().format(number / one))?;
    out.write_str(".")?;
    // The leading digit keeps zeros behind it.
    out.write_str(&itoa::Buffer::new().format(one + number % one)[1..])
}

/// Do the sender's timestamps decide more than the times of the capture?
pub(super) fn is_mostly_by_sender_clock(model: &DirectionModel) -> bool {
    model.by_sender_clock >= 0.5
}

/// When a segment left, to be followed by its ACK, which late stamps put behind it.
pub(super) struct Left<'a>(pub &'a Wait);

impl Display for Left<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let release_ns = self.0.release_ns();
        if self.0.is(fact::ACK_BEHIND) {
            write!(out, "was captured {} before", Ms(-release_ns))
        } else {
            write!(out, "left {} after", Ms(release_ns))
        }
    }
}

/// Nanoseconds as milliseconds.
pub fn ms(duration_ns: i64) -> f64 {
    duration_ns as f64 / 1e6
}
