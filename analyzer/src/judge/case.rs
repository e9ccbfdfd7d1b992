//! The case of a wait: every line that speaks for or against a hold, and the one decision.
//!
//! The rooms add lines; [`Lines::decide`] weighs them. Evidence, doubts, rivals and `--why` are views of the
//! case: nothing else decides whether data was held, or how sure that is.

use crate::thresholds::number;
use serde::{Deserialize, Serialize};
use std::ops::BitOr;

number! {
    /// Lines that never apply: none, but those that `make rules` tries to do without.
    LEFT_OUT: u64 = 0
}

/// Which expert's question a line answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    Path,
    Program,
    Capture,
    Pooled,
    Nagle,
}

impl Room {
    pub const ALL: [Self; 5] =
        [Self::Path, Self::Program, Self::Capture, Self::Pooled, Self::Nagle];

    pub fn name(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Program => "program",
            Self::Capture => "capture",
            Self::Pooled => "pooled",
            Self::Nagle => "nagle",
        }
    }
}

/// What a line does to the case when it applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// Leaves another explanation open, by so many points.
    Doubt(u32),
    /// Rules out that this wait was a hold.
    Excludes,
    /// The capture cannot show a hold here.
    Hides,
    /// The releases of the direction do not peak where an ACK would make them.
    NoPeak,
    /// They show holds all the same, whatever [`Weight::NoPeak`] says.
    Peak,
}

impl Weight {
    /// Points from which a stall is only possible; without any it is certain. Two rival explanations make it
    /// possible, and so does one accident that is likely enough by itself.
    pub const POSSIBLE: u32 = 4;

    /// Does a line of this weight speak for a hold when it applies?
    pub fn is_for(self) -> bool {
        self == Peak
    }
}

use Weight::{Doubt, Excludes, Hides, NoPeak, Peak};

macro_rules! lines {
    ($($(#[$doc:meta])* $line:ident $name:literal $room:ident $weight:expr, $sentence:literal;)*) => {
        /// A line of a case. The doubts come first: a ruling keeps them in 24 bits.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Line { $($(#[$doc])* $line,)* }

        impl Line {
            pub const ALL: &[Self] = &[$(Self::$line),*];
            const WEIGHTS: &[Weight] = &[$($weight),*];
            const ROOMS: &[Room] = &[$(Room::$room),*];
            const NAMES: &[&str] = &[$($name),*];
            const SENTENCES: &[&str] = &[$($sentence),*];
        }
    };
}

// Each with what was compared, true whether it applies or not; `words::case` fills in the numbers.
lines! {
    // Doubts about a hold, in the order of the evidence.
    /// Only classic stacks hold data behind a full-sized segment.
    FullSized "full_sized" Nagle Doubt(2),
        "{unacked} bytes of frame {from} were unacknowledged (MSS {mss}); {holds} such holds, \
         {few} suffice";
    /// No handshake was captured.
    RoundTripEstimated "round_trip_estimated" Path Doubt(2),
        "round trip to the {by} known from {basis}; {holds} holds, {few} suffice";
    /// Its releases keep to their ACKs no better than to the data before: a periodic program looks the same.
    OwnYardstick "own_yardstick" Path Doubt(Weight::POSSIBLE),
        "round trip to the {by} known from {basis}; a program's period would show the same unless \
         the waits vary more than the time from ACK to release";
    DelayUnknown "delay_unknown" Path Doubt(2), "round trip to the {receiver}: {receiver_rtt}";
    /// Any MSS is at least 536: only longer segments may be full-sized.
    MssInferred "mss_inferred" Capture Doubt(2),
        "MSS {mss}, {mss_from}; frame {to} has {len} bytes (any MSS is at least 536)";
    MissingPackets "missing_packets" Capture Doubt(2),
        "packets of the {by} missing before frame {to}, by its IP IDs: {skipped}";
    /// MSS, window scale and timestamps may be other ones.
    CutOptions "cut_options" Capture Doubt(2), "options of a SYN cut by the snap length: {answer}";
    /// The program may have answered.
    Answerable "answerable" Program Doubt(2),
        "FIN or data of the {receiver} before frame {to}: {answer}";
    LargeFlight "large_flight" Path Doubt(2), "ten segments or more in flight: {answer}";
    Resent "resent" Capture Doubt(2), "frame {from} sent again before its ACK: {answer}";
    Contradicted "contradicted" Nagle Doubt(2),
        "{contradictions} small segments sent unheld, {holds} holds; one for each {per} holds is \
         allowed";
    Relay "relay" Program Doubt(Weight::POSSIBLE),
        "the {by} reacts as slowly as a relay on one host: {answer}";
    /// The ends may be on two hosts; or it is a relay or a broker, which may hold as well.
    DistantRelay "distant_relay" Program Doubt(Weight::POSSIBLE),
        "the {by} passes on elsewhere, or may be such a relay: {answer}";
    Single "single" Path Doubt(Weight::POSSIBLE),
        "{matches} releases at the round trip of {center}; one may be chance from {network}";
    /// Too few of its own releases show the round trip; those of sibling connections do.
    Siblings "siblings" Pooled Doubt(2), "sibling connections that are needed and peak: {siblings}";
    Coincidence "coincidence" Program Doubt(1),
        "chance of a write this close to the ACK: {chance} (certain: less than {alone}, among \
         others {among})";
    LikelyCoincidence "likely_coincidence" Program Doubt(Weight::POSSIBLE),
        "chance of {holds} such writes {likely} or more, or a single hold among many segments sent \
         unheld: {answer}";
    OtherPauses "other_pauses" Pooled Doubt(Weight::POSSIBLE),
        "share of accidents on this server {likely} or more: {answer}";

    // Against this wait.
    NoPureAck "pure_ack" Path Excludes,
        "no pure ACK of everything outstanding, up to frame {from}: {answer}";
    NothingFollowed "data_after_ack" Path Excludes, "no data followed frame {ack}: {answer}";
    /// Nagle's algorithm holds small segments only; some stacks count shorter ones than the MSS as full-sized.
    NotSmall "small" Nagle Excludes, "frame {to} has {len} bytes; less than {full} is held";
    /// These leave at once on all stacks.
    Exempt "exempt" Nagle Excludes, "FIN or urgent data in frame {to}: {answer}";
    Retransmitted "retransmission" Capture Excludes,
        "bytes sent twice from frame {from} to {to}: {answer}";
    WindowClosed "window" Path Excludes,
        "window of the {receiver} closed or full before frame {to}: {answer}";
    BytesMissing "missing_bytes" Capture Hides, "bytes missing from frame {from} to {to}: {answer}";
    /// It left before the ACK came.
    LeftBeforeAck "echo" Capture Excludes,
        "frame {to} echoes a timestamp older than that of frame {ack}: {answer}";
    /// No receiver delays an ACK for so long, and no round trip takes so long.
    TooLong "delay_limit" Path Excludes,
        "frame {ack} came after {ack_ms} ({longest} at most), and frame {to} {release} later";
    OffTheAck "release" Path Excludes,
        "frame {to} left {release} after frame {ack}; expected {center}, off {off} (tolerance \
         {tolerance})";
    /// Where a congestion window stops this sender as often. Its tails look like holds that a prompt ACK ends.
    CongestionWindow "congestion_window" Path Excludes,
        "with an initial window in flight {small_after} small and {full_after} full-sized segments \
         followed ACKs";
    /// Programs answer a FIN, or what comes just before an ACK, as soon as a kernel releases.
    Reply "reply" Program Excludes,
        "frame {to} as likely the reply to a FIN, or to data before frame {ack}: {answer}";
    PassedOn "passed_on" Pooled Excludes, "frame {to} passed on from another connection: {answer}";
    OwnPause "own_pause" Program Excludes,
        "the program pauses for as long without an ACK to wait for: {answer}";
    NoDelay "nodelay" Nagle Excludes,
        "{contradictions} small segments sent unheld; TCP_NODELAY in effect near this wait: \
         {answer}";
    MayBeLost "resent_after_loss" Capture Excludes,
        "frame {from} sent again, and it may have been lost: {answer}";
    Lost "tail_loss" Capture Excludes,
        "frame {to} is a retransmission or a tail-loss probe: {answer}";
    /// Such a frame comes late after a prompt ACK, by accident as late as a round trip.
    SlowLink "slow_link" Capture Excludes,
        "a prompt ACK, and a slow link that takes {span} for frame {to}: {answer}";

    // For and against the releases of its direction.
    /// As many releases beside the round trip as at it.
    Crowded "peak" Path NoPeak,
        "{matches} releases, {by_chance} by chance ({near} beside the tolerance); more than {peak} \
         times as many are needed";
    /// A sender that never has two segments in flight does so.
    FullSizedToo "full_sized_releases" Path NoPeak,
        "{full_sized} full-sized segments followed ACKs in the same way, {matches} small ones";
    RoundTripUnknown "round_trip" Path Hides, "round trip to the {by} known from {basis}: {center}";
    /// A capture tool, not a clock, made the times.
    MadeUpTimes "made_up_times" Capture Hides, "all frames equally far apart: {answer}";
    FollowsAcks "quick_acks" Path Peak,
        "waits are short after prompt ACKs and long after delayed ones";
    SiblingPeak "sibling_releases" Pooled Peak,
        "sibling connections that are needed and peak: {siblings}";
    /// Jitter makes a release as late, and nothing else shows that the program wrote it then.
    NearTheAck "near_release" Path Hides,
        "frame {to} left near the round trip of {center}, and no small segment was sent unheld: \
         {answer}";
    /// So many pauses on the connections of this server make so few matches likely.
    FalseDiscovery "false_discovery" Pooled Excludes,
        "{matches} matches, accidents among the pauses of this server: {answer}";
}

impl Line {
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    pub fn room(self) -> Room {
        Self::ROOMS[self as usize]
    }

    pub fn weight(self) -> Weight {
        Self::WEIGHTS[self as usize]
    }

    pub fn sentence(self) -> &'static str {
        Self::SENTENCES[self as usize]
    }

    /// May a relay be behind it?
    pub fn is_relay(self) -> bool {
        matches!(self, Self::Relay | Self::DistantRelay)
    }

    const fn bit(self) -> u64 {
        1 << self as u64
    }
}

/// The lines of a case that apply, a bit for each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lines(u64);

/// What a case amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Held(Confidence),
    NotHeld,
    CannotTell,
}

/// How sure a stall is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    Possible,
    Likely,
    Certain,
}

impl Confidence {
    pub const NAMES: [&'static str; 3] = ["possible", "likely", "certain"];

    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

impl Lines {
    /// Those of 1, of 2 and of [`Weight::POSSIBLE`] points.
    const DOUBTS: [Self; 3] = [
        Self::weighing(Doubt(1)),
        Self::weighing(Doubt(2)),
        Self::weighing(Doubt(Weight::POSSIBLE)),
    ];
    const EXCLUDING: Self = Self::weighing(Excludes);
    const HIDING: Self = Self::weighing(Hides);
    const AGAINST_PEAK: Self = Self::weighing(NoPeak);
    const FOR_PEAK: Self = Self::weighing(Peak);
    /// These compare times of releases, which prove nothing of a single one where a hold may be hidden.
    const BY_TIME: Self = Self(Line::OffTheAck.bit() | Line::FalseDiscovery.bit());

    /// The decision: was it held, and how sure is that?
    ///
    /// A wait is a hold if nothing excludes it and the releases of its direction show holds: they peak at the
    /// round trip, or other evidence makes up for that. The points of the doubts then give the confidence.
    pub fn decide(self) -> Outcome {
        match (self.is_excluded(), self.has_any(Self::HIDING)) {
            (true, true) if !self.is_ruled_out() => Outcome::CannotTell,
            (true, _) => Outcome::NotHeld,
            (false, true) => Outcome::CannotTell,
            (false, false) => Outcome::Held(self.doubts().confidence()),
        }
    }

    /// Do these lines leave a hold?
    pub fn is_hold(self) -> bool {
        !self.is_excluded() && !self.has_any(Self::HIDING)
    }

    fn is_excluded(self) -> bool {
        let shows_holds = self.has_any(Self::FOR_PEAK) || !self.has_any(Self::AGAINST_PEAK);
        self.has_any(Self::EXCLUDING) || !shows_holds
    }

    /// By more than the times of releases?
    fn is_ruled_out(self) -> bool {
        self.has_any(Self(Self::EXCLUDING.0 & !Self::BY_TIME.0)) || self.has(Line::FullSizedToo)
    }

    /// Those of `each` that apply.
    pub fn of<const N: usize>(each: [(Line, bool); N]) -> Self {
        let bit = |(line, applies)| u64::from(applies) << line as u64;
        Self(each.into_iter().map(bit).fold(0, BitOr::bitor) & !LEFT_OUT)
    }

    /// The same with `line`, if that applies.
    pub fn with(self, line: Line, applies: bool) -> Self {
        self.and(Self::of([(line, applies)]))
    }

    pub fn and(self, more: Self) -> Self {
        Self(self.0 | more.0)
    }

    pub fn has(self, line: Line) -> bool {
        self.0 & line.bit() != 0
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn doubts(self) -> Doubts {
        let all = Self::DOUBTS.iter().fold(0, |all, some| all | some.0);
        let [low, middle, high, ..] = (self.0 & all).to_le_bytes();
        Doubts([low, middle, high])
    }

    fn has_any(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    /// All lines of a kind of weight.
    const fn weighing(weight: Weight) -> Self {
        let (mut bits, mut at) = (0, 0);
        while at < Line::ALL.len() {
            let same = match (weight, Line::WEIGHTS[at]) {
                (Doubt(points), Doubt(other)) => points == other,
                (Excludes, Excludes) | (Hides, Hides) | (NoPeak, NoPeak) | (Peak, Peak) => true,
                _ => false,
            };
            bits |= (same as u64) << at;
            at += 1;
        }
        Self(bits)
    }
}

/// The doubts about a stall: all that a ruling keeps of its case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubts([u8; 3]);

const _: () = {
    let [ones, twos, most] = Lines::DOUBTS;
    assert!((ones.0 | twos.0 | most.0) < 1 << 24, "a ruling has no room for so many doubts");
};

impl Doubts {
    pub fn has(self, line: Line) -> bool {
        Lines::from(self).has(line)
    }

    pub fn iter(self) -> impl Iterator<Item = Line> {
        Line::ALL.iter().copied().take(24).filter(move |line| self.has(*line))
    }

    /// Of a stall.
    pub fn confidence(self) -> Confidence {
        let count = |of: Lines| (Lines::from(self).0 & of.0).count_ones();
        let [ones, twos, most] = Lines::DOUBTS;
        match count(ones) + 2 * count(twos) + Weight::POSSIBLE * count(most) {
            0 => Confidence::Certain,
            Weight::POSSIBLE.. => Confidence::Possible,
            _ => Confidence::Likely,
        }
    }
}

impl From<Doubts> for Lines {
    fn from(doubts: Doubts) -> Self {
        let [low, middle, high] = doubts.0;
        Self(u32::from_le_bytes([low, middle, high, 0]).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided<const N: usize>(lines: [Line; N]) -> Outcome {
        Lines::of(lines.map(|line| (line, true))).decide()
    }

    #[test]
    fn two_rivals_or_a_likely_accident_leave_a_hold_only_possible() {
        use Confidence::{Certain, Likely, Possible};
        assert_eq!(decided([]), Outcome::Held(Certain));
        assert_eq!(decided([Line::Coincidence, Line::FullSized]), Outcome::Held(Likely));
        assert_eq!(decided([Line::Answerable, Line::FullSized]), Outcome::Held(Possible));
        assert_eq!(decided([Line::LikelyCoincidence]), Outcome::Held(Possible));
    }

    #[test]
    fn other_evidence_makes_up_for_a_missing_peak_but_for_nothing_else() {
        assert_eq!(decided([Line::Crowded]), Outcome::NotHeld);
        assert!(matches!(decided([Line::Crowded, Line::FollowsAcks]), Outcome::Held(_)));
        assert_eq!(decided([Line::FollowsAcks, Line::FalseDiscovery]), Outcome::NotHeld);
        assert_eq!(decided([Line::FollowsAcks, Line::NotSmall]), Outcome::NotHeld);
    }

    #[test]
    fn what_the_capture_hides_cannot_be_told_unless_something_else_excludes_it() {
        assert_eq!(decided([Line::BytesMissing]), Outcome::CannotTell);
        assert_eq!(decided([Line::BytesMissing, Line::NotSmall]), Outcome::NotHeld);
    }

    /// Else a hold that jitter moved would be told as a pause of the program.
    #[test]
    fn times_of_releases_alone_rule_nothing_out_near_the_round_trip() {
        use Line::{Crowded, NearTheAck, NotSmall, OffTheAck, OwnPause};
        assert_eq!(decided([OffTheAck, Crowded]), Outcome::NotHeld);
        assert_eq!(decided([OffTheAck, Crowded, NearTheAck]), Outcome::CannotTell);
        for proven in [NotSmall, OwnPause, Line::LeftBeforeAck, Line::FullSizedToo] {
            assert_eq!(decided([OffTheAck, NearTheAck, proven]), Outcome::NotHeld);
        }
    }

    /// Else the evidence would name other doubts than those that lower the confidence.
    #[test]
    fn a_ruling_keeps_each_doubt() {
        for line in Line::ALL.iter().filter(|line| matches!(line.weight(), Doubt(_))) {
            let doubts = Lines::of([(*line, true)]).doubts();
            assert!(doubts.has(*line) && doubts.iter().eq([*line]), "{}", line.name());
            assert_ne!(doubts.confidence(), Confidence::Certain, "{}", line.name());
        }
        assert_eq!(Doubts::default().iter().next(), None);
    }
}
