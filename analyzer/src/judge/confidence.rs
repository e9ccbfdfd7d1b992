//! How sure a stall is, and why not more: the confidence follows from the doubts, and the evidence
//! lists exactly them.

use crate::judge::releases::Releases;
use crate::judge::thresholds::{
    CHANCE_ALONE, CHANCE_AMONG_OTHERS, CHANCE_LIKELY, FEW_RELEASES, HOLDS_PER_CONTRADICTION,
    INDEPENDENT_HOLDS,
};
use crate::track::DEFAULT_MSS;
use crate::track::wait::{Wait, fact};

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

/// What speaks for another explanation of a stall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// The unacknowledged segment is full-sized, and few holds were like that.
    FullSized,
    /// No handshake was captured, and few holds show the round trip to the sender.
    RoundTripEstimated,
    /// The round trip to the receiver is not known.
    DelayUnknown,
    /// The MSS is inferred, and the held segment may be as long.
    MssInferred,
    /// The program saw a FIN, or data that came before the ACK: it may have answered.
    Answerable,
    LargeFlight,
    /// The unacknowledged segment was sent again.
    Resent,
    /// This sender sent small segments without waiting, too.
    Contradicted,
    /// A relay that passes on what arrives on another connection would look the same.
    Relay,
    /// A program may have written this close to the ACK by accident: once in some hundred times.
    Coincidence,
    /// The same, less than once in twenty times.
    LikelyCoincidence,
}

/// Points from which a stall is only possible; without any it is certain.
const POSSIBLE: u32 = 4;

impl Doubt {
    pub const ALL: [Self; 11] = [
        Self::FullSized,
        Self::RoundTripEstimated,
        Self::DelayUnknown,
        Self::MssInferred,
        Self::Answerable,
        Self::LargeFlight,
        Self::Resent,
        Self::Contradicted,
        Self::Relay,
        Self::Coincidence,
        Self::LikelyCoincidence,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::FullSized => "full_sized",
            Self::RoundTripEstimated => "round_trip_estimated",
            Self::DelayUnknown => "delay_unknown",
            Self::MssInferred => "mss_inferred",
            Self::Answerable => "answerable",
            Self::LargeFlight => "large_flight",
            Self::Resent => "resent",
            Self::Contradicted => "contradicted",
            Self::Relay => "relay",
            Self::Coincidence => "coincidence",
            Self::LikelyCoincidence => "likely_coincidence",
        }
    }

    /// Points. Two rival explanations make a stall only possible, and so does an accident that is likely
    /// enough by itself; an unlikely one leaves it likely, beside one rival too.
    fn weight(self) -> u32 {
        match self {
            Self::Coincidence => 1,
            Self::LikelyCoincidence => POSSIBLE,
            _ => 2,
        }
    }

    fn holds(self, case: &Case<'_>) -> bool {
        let Case { wait, releases, .. } = case;
        let few = releases.in_band < FEW_RELEASES;
        match self {
            Self::FullSized => !wait.is(fact::UNACKED_SMALL) && few,
            Self::RoundTripEstimated => !releases.is_measured() && few,
            Self::DelayUnknown => !case.receiver_rtt_known,
            Self::MssInferred => case.mss_inferred && wait.len >= DEFAULT_MSS,
            Self::Answerable => wait.has_any(fact::ANSWERABLE),
            Self::LargeFlight => wait.is(fact::LARGE_FLIGHT),
            Self::Resent => wait.is(fact::RESENT),
            Self::Contradicted => {
                let excused = releases.in_band / HOLDS_PER_CONTRADICTION;
                case.contradictions > excused
            }
            Self::Relay => case.may_be_relay,
            Self::Coincidence => !case.is_rare() && !case.is_likely_by_accident(),
            Self::LikelyCoincidence => case.is_likely_by_accident(),
        }
    }
}

/// A stall, and what is to be asked about it.
pub struct Case<'a> {
    pub wait: &'a Wait,
    pub releases: &'a Releases,
    pub receiver_rtt_known: bool,
    pub mss_inferred: bool,
    /// Small segments that its sender sent while a small one was unacknowledged.
    pub contradictions: u32,
    /// May its holds be what a relay passed on?
    pub may_be_relay: bool,
}

impl Case<'_> {
    fn is_rare(&self) -> bool {
        let alone = self.releases.in_band <= 1;
        self.releases.chance(self.wait) < if alone { CHANCE_ALONE } else { CHANCE_AMONG_OTHERS }
    }

    fn is_likely_by_accident(&self) -> bool {
        let holds = self.releases.in_band.clamp(1, INDEPENDENT_HOLDS);
        self.releases.chance(self.wait).powi(holds as i32) >= CHANCE_LIKELY
    }
}

/// The doubts about a stall, a bit for each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Doubts(u16);

impl Doubts {
    pub fn about(case: &Case<'_>) -> Self {
        let held = Doubt::ALL.into_iter().filter(|doubt| doubt.holds(case));
        Self(held.fold(0, |bits, doubt| bits | 1 << doubt as u16))
    }

    pub fn has(self, doubt: Doubt) -> bool {
        self.0 & (1 << doubt as u16) != 0
    }

    pub fn iter(self) -> impl Iterator<Item = Doubt> {
        Doubt::ALL.into_iter().filter(move |&doubt| self.has(doubt))
    }

    pub fn confidence(self) -> Confidence {
        if self.0 == 0 {
            return Confidence::Certain;
        }
        match self.iter().map(Doubt::weight).sum::<u32>() {
            0 => Confidence::Certain,
            POSSIBLE.. => Confidence::Possible,
            _ => Confidence::Likely,
        }
    }
}
