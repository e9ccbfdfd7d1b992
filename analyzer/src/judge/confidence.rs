//! How sure a stall is, and why not more: the confidence follows from the doubts, and the evidence
//! lists exactly them.

use crate::judge::path::releases::Releases;
use crate::judge::pooled::false_discoveries::Pauses;
use crate::judge::program::reaction::MayBeRelay;
use crate::judge::thresholds::{
    CHANCE_AMONG_OTHERS, CHANCE_LIKELY, COARSE_CLOCK_NS, FEW_RELEASES, HOLDS_PER_CONTRADICTION,
    INDEPENDENT_HOLDS,
};
use crate::track::wait::{Wait, fact};
use crate::track::{DEFAULT_MSS, NETWORK_RTT_NS};
use serde::{Deserialize, Serialize};
use std::iter;

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
    /// A relay that passes on what arrives on another connection would look the same, and within one host
    /// this sender reacts like one.
    Relay,
    /// The same, but both ends may not be on one host; or it is a relay that may hold as well.
    DistantRelay,
    /// It happened once in this direction, and the sender is a network away.
    Single,
    /// Too few of its releases show the round trip, but sister connections show the same.
    Sisters,
    /// A program may have written this close to the ACK by accident: once in some hundred times.
    Coincidence,
    /// The same, less than once in twenty times.
    LikelyCoincidence,
    /// The connections of its server have so many other pauses that some end this close to an ACK.
    OtherPauses,
}

/// Points from which a stall is only possible; without any it is certain.
const POSSIBLE: u32 = 4;

impl Doubt {
    /// In the order of their bits.
    pub const ALL: [Self; 15] = [
        Self::FullSized,
        Self::RoundTripEstimated,
        Self::DelayUnknown,
        Self::MssInferred,
        Self::Answerable,
        Self::LargeFlight,
        Self::Resent,
        Self::Contradicted,
        Self::Relay,
        Self::DistantRelay,
        Self::Single,
        Self::Sisters,
        Self::Coincidence,
        Self::LikelyCoincidence,
        Self::OtherPauses,
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
            Self::DistantRelay => "distant_relay",
            Self::Single => "single",
            Self::Sisters => "sisters",
            Self::Coincidence => "coincidence",
            Self::LikelyCoincidence => "likely_coincidence",
            Self::OtherPauses => "other_pauses",
        }
    }

    /// May a relay be behind it?
    pub fn is_relay(self) -> bool {
        matches!(self, Self::Relay | Self::DistantRelay)
    }

    /// Points. Two rival explanations make a stall only possible, and so does an accident that is likely
    /// enough by itself, or one match with a long round trip; an unlikely one leaves it likely, beside one
    /// rival too.
    fn weight(self) -> u32 {
        match self {
            Self::Coincidence => 1,
            Self::Relay | Self::Single | Self::LikelyCoincidence | Self::OtherPauses => POSSIBLE,
            _ => 2,
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
    pub relay: MayBeRelay,
    /// What it is weighed against, if its direction has few matches.
    pub around: Option<&'a Pauses>,
}

impl Case<'_> {
    fn share_of_accidents(&self) -> f64 {
        let off_ns = self.releases.blurred_off_ns(self.wait);
        self.around.map_or(0.0, |pauses| pauses.share(off_ns))
    }

    fn is_likely_by_accident(&self, chance: f64) -> bool {
        // Steady pauses of a program fall into the same step of a coarse clock each time.
        let independent = self.releases.clock_ns < COARSE_CLOCK_NS;
        let holds = if independent { self.releases.in_band.clamp(1, INDEPENDENT_HOLDS) } else { 1 };
        chance.powi(holds as i32) >= CHANCE_LIKELY
    }
}

/// The doubts about a stall, a bit for each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubts(u16);

impl Doubts {
    pub fn about(case: &Case<'_>) -> Self {
        let Case { wait, releases, .. } = case;
        let few = releases.in_band < FEW_RELEASES;
        let excused = releases.in_band / HOLDS_PER_CONTRADICTION;
        let holds = releases.in_band + releases.small_after_window;
        let chance = releases.chance(wait);
        // Who often sends without waiting waits once by accident.
        let likely_by_accident = case.is_likely_by_accident(chance)
            || (case.contradictions >= FEW_RELEASES && releases.in_band <= 1);
        let share = case.share_of_accidents();
        let rare = releases.is_rare(wait) && share < CHANCE_AMONG_OTHERS;
        let each: [(Doubt, bool); Doubt::ALL.len()] = [
            (Doubt::FullSized, !wait.is(fact::UNACKED_SMALL) && few),
            (Doubt::RoundTripEstimated, !releases.is_measured() && few),
            (Doubt::DelayUnknown, !case.receiver_rtt_known),
            (Doubt::MssInferred, case.mss_inferred && wait.len >= DEFAULT_MSS),
            (Doubt::Answerable, wait.has_any(fact::ANSWERABLE)),
            (Doubt::LargeFlight, wait.is(fact::LARGE_FLIGHT)),
            (Doubt::Resent, wait.is(fact::RESENT)),
            (Doubt::Contradicted, case.contradictions > excused),
            (Doubt::Relay, case.relay == MayBeRelay::Probably),
            (Doubt::DistantRelay, case.relay == MayBeRelay::Perhaps),
            (
                Doubt::Single,
                holds <= 1
                    && releases.sisters.is_none()
                    && releases.band.center_ns >= NETWORK_RTT_NS,
            ),
            (Doubt::Sisters, releases.sisters.is_some()),
            (Doubt::Coincidence, !likely_by_accident && !rare),
            (Doubt::LikelyCoincidence, likely_by_accident),
            (Doubt::OtherPauses, share >= CHANCE_LIKELY),
        ];
        let bit = |(doubt, holds)| u16::from(holds) << doubt as u16;
        Self(each.into_iter().fold(0, |bits, each| bits | bit(each)))
    }

    pub fn has(self, doubt: Doubt) -> bool {
        self.0 & (1 << doubt as u16) != 0
    }

    pub fn iter(self) -> impl Iterator<Item = Doubt> {
        let mut rest = self.0;
        iter::from_fn(move || {
            let doubt = *Doubt::ALL.get(rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(doubt)
        })
    }

    pub fn confidence(self) -> Confidence {
        match self.iter().map(Doubt::weight).sum::<u32>() {
            0 => Confidence::Certain,
            POSSIBLE.. => Confidence::Possible,
            _ => Confidence::Likely,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::band::Band;
    use crate::track::{Mark, Side};

    const MS: i64 = 1_000_000;

    /// A hold of 44 ms, among others like it, whose segment left so long after the ACK.
    fn doubts(release_ns: i64, releases: &Releases) -> Doubts {
        let at = |time_ns, frame| Mark { time_ns, frame };
        let wait = Wait {
            facts: fact::UNACKED_SMALL,
            from: at(0, 1),
            ack: at(44 * MS - release_ns, 2),
            to: at(44 * MS, 3),
            ..Wait::unknown(0, Side::Server)
        };
        let releases = *releases;
        Doubts::about(&Case {
            wait: &wait,
            releases: &releases,
            receiver_rtt_known: true,
            mss_inferred: false,
            contradictions: 0,
            relay: MayBeRelay::No,
            around: None,
        })
    }

    fn releases(center_ns: i64, in_band: u32, clock_ns: i64) -> Releases {
        let band = Band { center_ns, tolerance_ns: 2 * MS };
        Releases { band, clock_ns, in_band, ..Releases::default() }
    }

    /// Else the evidence would name other doubts than those that lower the confidence.
    #[test]
    fn each_doubt_has_its_place_among_all() {
        for doubt in Doubt::ALL {
            let only = Doubts(1 << doubt as u16);
            assert!(only.has(doubt) && only.iter().eq([doubt]), "{}", doubt.name());
        }
        assert!(Doubts((1 << Doubt::ALL.len()) - 1).iter().eq(Doubt::ALL));
        assert_eq!(Doubts::default().iter().next(), None);
    }

    #[test]
    fn one_match_with_a_long_round_trip_is_possible_and_several_are_more() {
        let far = |in_band| doubts(20 * MS, &releases(20 * MS, in_band, 1_000));
        assert!(far(1).has(Doubt::Single) && !far(2).has(Doubt::Single));
        assert_eq!(far(1).confidence(), Confidence::Possible);
        // At the sender nothing but its kernel lies between.
        assert!(!doubts(20_000, &releases(20_000, 1, 1_000)).has(Doubt::Single));
    }

    /// Of writes at any time in a wide band, one comes as close as what the kernel releases.
    #[test]
    fn the_closest_of_many_that_are_far_off_is_not_certain() {
        let among = |spread_ns| {
            let releases = Releases { spread_ns, ..releases(10 * MS, 20, 1_000) };
            doubts(10 * MS + 100_000, &releases).confidence()
        };
        assert_eq!([100_000, 2 * MS].map(among), [Confidence::Certain, Confidence::Likely]);
    }

    /// A program that answers after 50 ms looks the same in steps of 10 ms, each time.
    #[test]
    fn what_a_coarse_clock_shows_often_is_no_surer() {
        let often = |clock_ns| doubts(0, &releases(0, 40, clock_ns)).confidence();
        assert_eq!(often(1_000), often(100_000));
        assert_eq!([often(4 * MS), often(10 * MS)], [Confidence::Possible; 2]);
        assert!(often(MS) > Confidence::Possible);
    }
}
