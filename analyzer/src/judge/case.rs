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
    ($($(#[$doc:meta])* $line:ident $name:literal $room:ident $weight:expr;)*) => {
        /// A line of a case. The doubts come first: a ruling keeps them in 24 bits.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Line { $($(#[$doc])* $line,)* }

        impl Line {
            pub const ALL: &[Self] = &[$(Self::$line),*];
            const WEIGHTS: &[Weight] = &[$($weight),*];
            const ROOMS: &[Room] = &[$(Room::$room),*];
            const NAMES: &[&str] = &[$($name),*];
        }
    };
}

lines! {
    // Doubts about a hold, in the order in which the evidence tells them.
    /// The unacknowledged segment is full-sized, and few holds were like that.
    FullSized "full_sized" Nagle Doubt(2);
    /// No handshake was captured, and few holds show the round trip to the sender.
    RoundTripEstimated "round_trip_estimated" Path Doubt(2);
    /// Only its releases show the round trip, and they keep to their ACKs no better than to the data before:
    /// a program with a period looks the same.
    OwnYardstick "own_yardstick" Path Doubt(Weight::POSSIBLE);
    /// The round trip to the receiver is not known.
    DelayUnknown "delay_unknown" Path Doubt(2);
    /// The MSS is inferred, and the held segment may be full-sized.
    MssInferred "mss_inferred" Capture Doubt(2);
    /// The capture lacks packets that the sender sent between the two segments, by its IP IDs.
    MissingPackets "missing_packets" Capture Doubt(2);
    /// The snap length cut the options of a SYN: MSS, window scale and timestamps may be other ones.
    CutOptions "cut_options" Capture Doubt(2);
    /// The program saw a FIN, or data that came before the ACK: it may have answered.
    Answerable "answerable" Program Doubt(2);
    LargeFlight "large_flight" Path Doubt(2);
    /// The unacknowledged segment was sent again.
    Resent "resent" Capture Doubt(2);
    /// This sender also sent small segments without waiting.
    Contradicted "contradicted" Nagle Doubt(2);
    /// A relay would look the same, and within one host this sender reacts as slowly as one.
    Relay "relay" Program Doubt(Weight::POSSIBLE);
    /// The same, but the ends may be on two hosts; or it is a relay or a broker, which may hold as well.
    DistantRelay "distant_relay" Program Doubt(2);
    /// It happened once in this direction, and the sender is a network away.
    Single "single" Path Doubt(Weight::POSSIBLE);
    /// Too few of its own releases show the round trip; those of sibling connections do.
    Siblings "siblings" Pooled Doubt(2);
    /// By accident a program writes this close to an ACK once in some hundred times.
    Coincidence "coincidence" Program Doubt(1);
    /// By accident it does so more than once in twenty times.
    LikelyCoincidence "likely_coincidence" Program Doubt(Weight::POSSIBLE);
    /// The connections of this server pause so often that some pauses end this close to an ACK.
    OtherPauses "other_pauses" Pooled Doubt(Weight::POSSIBLE);

    // Against this wait.
    /// No pure ACK of everything outstanding came during it.
    NoPureAck "pure_ack" Path Excludes;
    /// No data followed the ACK.
    NothingFollowed "data_after_ack" Path Excludes;
    /// The segment after it is full-sized: Nagle's algorithm holds small ones only.
    NotSmall "small" Nagle Excludes;
    /// That segment carries FIN or urgent data, which leave at once.
    Exempt "exempt" Nagle Excludes;
    Retransmitted "retransmission" Capture Excludes;
    /// The receiver's window was closed or full.
    WindowClosed "window" Path Excludes;
    /// Bytes are missing from the capture.
    BytesMissing "missing_bytes" Capture Hides;
    /// The segment echoes an older timestamp than the ACK's: it left before the ACK came.
    LeftBeforeAck "echo" Capture Excludes;
    /// No receiver delays an ACK for so long, and no round trip takes so long.
    TooLong "delay_limit" Path Excludes;
    /// The segment does not follow the ACK by the round trip to its sender.
    OffTheAck "release" Path Excludes;
    /// A congestion window stops this sender as often.
    CongestionWindow "congestion_window" Path Excludes;
    /// It is as likely the reply to data, or to a FIN.
    Reply "reply" Program Excludes;
    /// Its program passed on what had just arrived on another connection.
    PassedOn "passed_on" Pooled Excludes;
    /// The program pauses for as long by itself.
    OwnPause "own_pause" Program Excludes;
    /// `TCP_NODELAY` was in effect around it.
    NoDelay "nodelay" Nagle Excludes;
    /// The unacknowledged segment was sent again, and may have been lost.
    MayBeLost "resent_after_loss" Capture Excludes;
    /// It ended with the probe that follows a lost segment.
    Lost "tail_loss" Capture Excludes;
    /// A slow link takes as long for the segment, and the ACK was not delayed.
    SlowLink "slow_link" Capture Excludes;

    // For and against the releases of its direction.
    /// None lies where an ACK would make it, or as many beside the round trip as at it.
    Crowded "peak" Path NoPeak;
    /// More full-sized segments than small ones left after ACKs in the same way.
    FullSizedToo "full_sized_releases" Path NoPeak;
    /// Several come sooner than the round trip allows.
    TooSoon "too_soon" Path NoPeak;
    /// Nothing shows the round trip to the sender.
    RoundTripUnknown "round_trip" Path Hides;
    /// All frames are equally far apart: their times are made up.
    MadeUpTimes "made_up_times" Capture Hides;
    /// Next segments come promptly after prompt ACKs, and late after delayed ones.
    FollowsAcks "quick_acks" Path Peak;
    /// By the sender's own clock its pauses follow the ACK.
    OwnClock "sender_clock" Path Peak;
    /// The releases of sibling connections peak.
    SiblingPeak "sibling_releases" Pooled Peak;
    /// So many pauses on the connections of this server make so few matches likely.
    FalseDiscovery "false_discovery" Pooled Excludes;
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

    /// The decision: was it held, and how sure is that?
    ///
    /// A wait is a hold if nothing excludes it and the releases of its direction show holds: they peak at the
    /// round trip, or other evidence makes up for that. The points of the doubts then give the confidence.
    pub fn decide(self) -> Outcome {
        match (self.is_excluded(), self.has_any(Self::HIDING)) {
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
