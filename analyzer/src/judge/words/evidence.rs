//! Why a stall is believed: the terms of its probability in sentences with frame numbers, for JSON,
//! tables and reports.

use crate::judge::causes::Cause;
use crate::judge::finding::judged::JudgedConnection;
use crate::judge::findings::Finding;
use crate::judge::model::{Confidence, DirectionModel, Proof};
use crate::judge::path::Basis;
use crate::pieces::{Decimals, Grouped, Ms, Piece, displayed, put};
use crate::track::thresholds::SHORTEST_DELAYED_ACK_NS;
use crate::track::wait::{Wait, fact};
use std::fmt::{self, Display, Formatter};

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
    let mut add = |write: &dyn Fn(&mut String)| {
        text.clear();
        write(&mut text);
        take(&text);
    };
    add(&|out| stall.unacked(out));
    if stall.wait.is(fact::RESENT) {
        add(&|out| stall.resent(out));
    }
    if finding.held.proof == Proof::Proven {
        let (at, data) = (stall.wait.ack.frame, stall.wait.is(fact::DATA_ACK));
        let ack = if data { "data that acknowledged it" } else { "its ACK" };
        let (hold, frame) = (Ms(finding.hold_ns()), stall.wait.to.frame);
        add(&|out| {
            put!(out, "by the system calls of the program, frame ", frame, " was written ", hold);
            put!(
                out,
                " before it left, before ",
                ack,
                " came (frame ",
                at,
                "): the kernel held it"
            );
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
        let most = Decimals::<3>(most);
        add(&|out| put!(out, "by ", why, ", no more than a probability of ", most));
    }
    let probability = Decimals::<5>(finding.held.probability.into());
    add(&|out| put!(out, "together: held with a probability of ", probability));
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

    fn unacked(&self, out: &mut String) {
        let (wait, mss) = (self.wait, self.judged.mss);
        let (from, to) = (wait.from.frame, wait.to.frame);
        let (len, unacked_len) = (wait.len, wait.unacked_len);
        let last_is_full = unacked_len.is_multiple_of(mss);
        if wait.is(fact::UNACKED_SMALL) && last_is_full {
            put!(out, "a small segment before frame ", from);
        } else {
            let end = match unacked_len {
                _ if last_is_full => "full-sized",
                len if len < mss => "small",
                _ => "its last segment small",
            };
            put!(out, "frame ", from, " (", Bytes(unacked_len), ", ", end, ")");
        }
        let had_to = match self.finding.confidence() {
            Confidence::Possible => "would have had to wait",
            _ => "had to wait",
        };
        let estimated = if self.judged.mss_inferred { "estimated " } else { "" };
        // Offloading captures several segments as one, of which the last is small.
        let small = if len < mss { "less than" } else { "not a multiple of" };
        put!(out, " was unacknowledged, so frame ", to, " (", Bytes(len), ", ", small, " the ");
        put!(out, estimated, "MSS of ", Grouped(mss.into()), ") ", had_to);
    }

    fn resent(&self, out: &mut String) {
        put!(
            out,
            "frame ",
            self.wait.from.frame,
            " was sent again before its ACK came, though nothing shows that it was lost: \
             the sender's retransmission timer is shorter than the receiver's delayed-ACK timer"
        );
    }

    fn ack(&self, out: &mut String) {
        let (wait, receiver) = (self.wait, self.receiver);
        let before = if wait.unacked_ns < wait.from.time_ns { "the segment before " } else { "" };
        let after = Ms(wait.ack.time_ns - wait.unacked_ns.min(wait.from.time_ns));
        put!(out, "frame ", wait.ack.frame, " is a pure ACK, which no application sees, ", after);
        put!(out, " after ", before, "frame ", wait.from.frame);
        let delay = Ms(self.judged.ack_delay_ns(wait));
        if self.judged.elsewhere(wait).is_some_and(|seen| seen.ack_delay_ns.is_some()) {
            put!(out, "; captured at the ", receiver, ", it left ", delay);
            put!(out, " after what it acknowledges had come");
            return;
        }
        match (self.finding.cause, self.receiver_rtt()) {
            (Cause::NagleDelack, Some((rtt, elsewhere))) => {
                put!(out, "; the round trip to the ", receiver, " is ", rtt, elsewhere);
                put!(out, ", so it came ", delay, " late");
            }
            (Cause::NagleDelack, None) => {
                put!(out, ": delayed by up to ", delay, " (round trip unknown)");
            }
            (_, None) => {
                put!(out, "; the round trip to the ", receiver);
                put!(out, " is unknown, so whether it was delayed is open");
            }
            (_, Some(rtt)) => put!(out, ", ", self.undelayed(rtt).as_str()),
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

    fn release(&self, out: &mut String) {
        let Self { wait, ref model, by, .. } = *self;
        let to = wait.to.frame;
        if wait.is(fact::ACK_BEHIND) {
            put!(out, "frame ", to, " ", Left(wait), " the ACK: this capture stamps ACKs late");
            return;
        }
        put!(out, "frame ", to, " follows the ACK by ", Ms(wait.release_ns()));
        let rtt = Ms::of(model.path.rtt_or_zero_ms());
        match model.path.basis {
            _ if is_mostly_by_sender_clock(model) => {
                put!(
                    out,
                    ", and by its timestamps the ",
                    by,
                    " pauses for as long as its ACKs take"
                );
            }
            basis @ (Basis::Handshake | Basis::Shared) => {
                put!(out, "; the round trip to the ", by, " is ", rtt, basis.elsewhere());
            }
            Basis::Estimate => put!(out, "; the fastest reply of the ", by, " took ", rtt),
            Basis::Nothing if !model.path.far => {
                put!(out, ": so soon only in the sender's own host, captured there");
            }
            Basis::Nothing => put!(out, "; the round trip to the ", by, " is not known"),
        }
        put!(out, ". This timing is ", Likelier(self.finding.held.ratio.into()));
        put!(out, " if the kernel held the segment than if the program wrote it just then");
    }

    fn on(&self, out: &mut String) {
        let held = &self.finding.held;
        let unheld = UnheldCount(self.judged.half(self.wait.by).contradictions);
        put!(out, "Nagle's algorithm was on with a probability of ");
        put!(out, Decimals::<5>(held.on.into()), ", by all waits of the ", self.by, unheld);
        if self.model.sibling_count > 0 {
            let (count, siblings) = (self.model.sibling_count, self.model.siblings);
            let (plural, say) = (plural(count), if count == 1 { "says" } else { "say" });
            let same = match siblings {
                TELLING.. => "the same",
                UNTELLING.. => "little",
                _ => "the opposite",
            };
            put!(out, " (", Grouped(count.into()), " other connection", plural);
            put!(out, " of this server with such waits ", say, " ", same, ")");
        }
        let percent = 100.0 * self.model.share_beside(held, self.wait);
        put!(out, "; with Nagle on, ", percent.round() as u32, " % of such waits are holds");
    }

    fn relay(&self, out: &mut String) {
        let probability = Decimals::<4>(self.model.passed_on(self.wait));
        put!(
            out,
            "a proxy on the ",
            self.by,
            "'s host that forwards late data would look the same "
        );
        put!(out, "(probability ", probability, "); a capture of all its connections would rule ");
        put!(out, "that out");
    }
}

/// How often small segments were sent unheld, which speaks against the algorithm.
pub(super) struct UnheldCount(pub u32);

impl Piece for UnheldCount {
    fn put(&self, out: &mut String) {
        match self.0 {
            0 => put!(out, " and no small segment sent right behind an unacknowledged one"),
            1 => put!(
                out,
                ", against which 1 small segment speaks, sent right behind an unacknowledged one"
            ),
            count => {
                put!(out, ", against which ", Grouped(count.into()), " small segments speak, ");
                put!(out, "sent right behind unacknowledged ones");
            }
        }
    }
}

/// Log-odds that tell something: three to one.
const TELLING: f64 = 1.1;
const UNTELLING: f64 = -TELLING;

/// A likelihood ratio in words, to be followed by what it compares.
pub(super) struct Likelier(pub f64);

impl Piece for Likelier {
    fn put(&self, out: &mut String) {
        let (times, word) = match self.0 {
            ratio @ 1.0.. => (ratio, "likelier"),
            ratio => (1.0 / ratio.max(1e-9), "less likely"),
        };
        match times {
            ..1.05 => put!(out, "no likelier"),
            ..9.95 => put!(out, Decimals::<1>(times), " times ", word),
            _ => put!(out, Grouped(times.round() as u64), " times ", word),
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

impl Piece for Bytes {
    fn put(&self, out: &mut String) {
        put!(out, Grouped(self.0.into()), " byte", plural(self.0));
    }
}

pub(super) fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// Do the sender's timestamps decide more than the times of the capture?
pub(super) fn is_mostly_by_sender_clock(model: &DirectionModel) -> bool {
    model.by_sender_clock >= 0.5
}

/// When a segment left, to be followed by its ACK, which late stamps put behind it.
pub(super) struct Left<'a>(pub &'a Wait);

impl Piece for Left<'_> {
    fn put(&self, out: &mut String) {
        let release_ns = self.0.release_ns();
        if self.0.is(fact::ACK_BEHIND) {
            put!(out, "was captured ", Ms(-release_ns), " before");
        } else {
            put!(out, "left ", Ms(release_ns), " after");
        }
    }
}

displayed!(UnheldCount, Likelier, Bytes, Left<'_>);

/// Nanoseconds as milliseconds.
pub fn ms(duration_ns: i64) -> f64 {
    duration_ns as f64 / 1e6
}
