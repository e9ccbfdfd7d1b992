//! Rules on the waits of one direction, one after the other: gathers the case of each.

use crate::judge::capture::ip_ids::Ids;
use crate::judge::capture::spurious;
use crate::judge::case::{Line, Lines, Outcome};
use crate::judge::causes::cork::Corks;
use crate::judge::causes::slow_link::SlowLink;
use crate::judge::causes::{Cause, DirectionFacts, nagle_delack, retransmission, stop_and_wait};
use crate::judge::conditions::Conditions;
use crate::judge::findings::Ruling;
use crate::judge::nagle::phases::{self, Candidate, ContradictionCounts, Phase};
use crate::judge::path::releases::Releases;
use crate::judge::path::sender_rtt::Basis;
use crate::judge::pooled::false_discoveries::ServerPauses;
use crate::judge::program::pace::{self, Pace};
use crate::judge::program::reaction::MayBeRelay;
use crate::judge::program::ticks;
use crate::judge::thresholds::{
    CHANCE_AMONG_OTHERS, CHANCE_LIKELY, FEW_RELEASES, HOLDS_PER_CONTRADICTION,
};
use crate::track::wait::{Wait, fact};
use crate::track::{Connection, DEFAULT_MSS, Half, NETWORK_RTT_NS, Side};

/// What judges the waits of one direction, one after the other.
pub struct Judge<'a> {
    pub direction: DirectionFacts,
    /// Of each hold candidate, in order; nothing speaks against it once exhausted.
    phases: std::vec::IntoIter<Phase>,
    /// Small segments this sender sent while a small one was unacknowledged.
    contradictions: u32,
    /// Where the sender repeats a segment before its ACK comes: has the receiver had it all the time?
    resends_needlessly: bool,
    mss_inferred: bool,
    /// The doubts that all its holds share.
    doubts: Lines,
    /// The pauses on all connections of the server, if this direction has few matches.
    pauses: Option<&'a ServerPauses>,
}

impl<'a> Judge<'a> {
    pub fn new(
        connection: &Connection,
        side: Side,
        waits: &[Wait],
        conditions: Conditions<'a>,
    ) -> Self {
        // Mostly one side has all of them: nothing is to be looked for among those of the other.
        let waits = if waits.iter().any(|wait| wait.by == side) { waits } else { &[] };
        let corks = Corks::of(connection, side, waits);
        let (releases, pauses) = weighed(connection, side, waits, conditions, &corks);
        let is_held = |wait: &&Wait| wait.by == side && releases.holds(wait);
        let held: Vec<&Wait> = waits.iter().filter(is_held).collect();
        let held = || held.iter().copied();
        let own = waits.iter().filter(|wait| wait.by == side);
        let receiver = connection.half(side.other());
        let against = ContradictionCounts::of(connection.half(side));
        let candidates: Vec<Candidate> = match against.count {
            // Then nothing speaks against any.
            0 => Vec::new(),
            _ => held().map(|wait| Candidate::new(wait, &releases)).collect(),
        };
        let relay = MayBeRelay::of(connection, side, waits, held(), conditions.frames);
        let own_yardstick = releases.basis == Basis::Releases && releases.siblings.is_none();
        Self {
            direction: DirectionFacts {
                releases,
                held: false,
                may_be_held: false,
                paced: held().next().is_some()
                    && (pace::is_periodic(held())
                        || Pace::of(side, waits, &releases, connection.half(side).pauses())
                            .explains_most(held())),
                at_receiver: spurious::is_at_receiver(connection, side),
                one_at_a_time: stop_and_wait::is_throughout(connection.half(side), &releases, own),
                corks,
                link: SlowLink::of(connection.half(side), side, waits),
                ids: Ids::of(connection, side, waits),
                receiver_seen: receiver.segments() > 0 && !connection.is_even(),
                disordered: connection.is_disordered(),
                receiver_rtt_ns: receiver.longest_rtt_ns(),
                receiver_jitter_ns: path_jitter_ns(receiver),
                syn_took_ns: syn_took_ns(side, waits),
            },
            phases: phases::phases(&candidates, against).into_iter(),
            contradictions: against.count,
            resends_needlessly: spurious::is_needless(connection, side, waits, held()),
            mss_inferred: connection.effective_mss().1,
            doubts: Lines::of([
                (Line::OwnYardstick, own_yardstick && !releases.follow_acks(held())),
                (Line::DelayUnknown, receiver.measured_rtt_ns().is_none()),
                (Line::CutOptions, connection.halves.iter().any(Half::are_syn_options_cut)),
                (Line::Relay, relay == MayBeRelay::Probably),
                (Line::DistantRelay, relay == MayBeRelay::Perhaps),
                (Line::Siblings, releases.siblings.is_some()),
            ]),
            pauses,
        }
    }

    /// Rules on the next wait.
    pub fn rule(&mut self, wait: &Wait) -> Ruling {
        let lines = self.case(wait);
        self.ruling(wait, lines)
    }

    /// What follows from the case of a wait.
    pub fn ruling(&mut self, wait: &Wait, lines: Lines) -> Ruling {
        let outcome = lines.decide();
        self.direction.held = matches!(outcome, Outcome::Held(_));
        self.direction.may_be_held = outcome == Outcome::CannotTell;
        let cause = Cause::of(wait, &self.direction);
        debug_assert_eq!(cause.is_stall(), self.direction.held, "{lines:?}");
        let doubts = if self.direction.held { lines.doubts() } else { Lines::default().doubts() };
        Ruling { cause, doubts }
    }

    /// All that speaks for and against the next wait.
    pub fn case(&mut self, wait: &Wait) -> Lines {
        let lines = self.direction.releases.lines_of(wait);
        if !wait.is_freed() {
            return lines;
        }
        let phase = lines.is_hold().then(|| self.phases.next()).flatten().unwrap_or_default();
        let lines = lines.and(self.against(wait, phase));
        match lines.is_hold() {
            true => lines.and(self.doubts(wait, phase)),
            false => lines.with(Line::NearTheAck, self.is_near_the_ack(wait)),
        }
    }

    /// Is it as late as jitter may make a release, of a sender that sent no small segment unheld?
    fn is_near_the_ack(&self, wait: &Wait) -> bool {
        let releases = &self.direction.releases;
        self.contradictions == 0 && releases.is_near(wait) && !releases.is_too_soon(wait)
    }

    /// What else may exclude a hold.
    fn against(&self, wait: &Wait, phase: Phase) -> Lines {
        let direction = &self.direction;
        let may_be_lost =
            wait.is(fact::RESENT) && !self.resends_needlessly && !wait.is(fact::NEEDLESS);
        let link = direction.link.explains(wait) && !nagle_delack::is_delayed(wait, direction);
        Lines::of([
            (Line::OwnPause, direction.paced),
            (Line::NoDelay, phase.is_off),
            (Line::MayBeLost, may_be_lost),
            (Line::Lost, retransmission::is_seen(wait, direction)),
            (Line::SlowLink, link),
        ])
    }

    /// The doubts about a hold.
    fn doubts(&self, wait: &Wait, phase: Phase) -> Lines {
        let releases = &self.direction.releases;
        let few = releases.in_band < FEW_RELEASES;
        let contradictions = if phase.is_apart { 0 } else { self.contradictions };
        // A sender that often sends without waiting waits once by accident.
        let likely_by_accident = releases.is_likely_by_accident(wait)
            || (contradictions >= FEW_RELEASES && releases.in_band <= 1);
        let share = self.pauses.map_or(0.0, |pauses| pauses.share(releases.blurred_off_ns(wait)));
        let rare = releases.is_rare(wait) && share < CHANCE_AMONG_OTHERS;
        let single = releases.matches() <= 1 && releases.siblings.is_none();
        let contradicted = contradictions > releases.in_band / HOLDS_PER_CONTRADICTION;
        self.doubts.and(Lines::of([
            (Line::FullSized, !wait.is(fact::UNACKED_SMALL) && few),
            (Line::RoundTripEstimated, !releases.is_measured() && few),
            (Line::MssInferred, self.mss_inferred && wait.len >= DEFAULT_MSS),
            (Line::MissingPackets, self.direction.ids.show_missing(wait)),
            (Line::Answerable, wait.has_any(fact::ANSWERABLE)),
            (Line::LargeFlight, wait.is(fact::LARGE_FLIGHT)),
            (Line::Resent, wait.is(fact::RESENT)),
            (Line::Contradicted, contradicted),
            (Line::Single, single && releases.band.center_ns >= NETWORK_RTT_NS),
            (Line::Coincidence, !likely_by_accident && !rare),
            (Line::LikelyCoincidence, likely_by_accident),
            (Line::OtherPauses, share >= CHANCE_LIKELY),
        ]))
    }
}

/// The releases of `side` with all that speaks for and against them, and the pauses of the server that they
/// are weighed against if they are few.
fn weighed<'a>(
    connection: &Connection,
    side: Side,
    waits: &[Wait],
    conditions: Conditions<'a>,
    corks: &Corks,
) -> (Releases, Option<&'a ServerPauses>) {
    let mut releases = Releases::measure(connection, side, waits, conditions.clock_ns);
    // What a program writes at ticks only is told no more exactly than by a clock that ticks so.
    releases.clock_ns = releases.clock_ns.max(ticks::grid_ns(side, waits));
    releases.add_siblings(conditions.siblings, connection, side, waits);
    let pauses = match releases.in_band {
        1..FEW_RELEASES => conditions.accidents.on_server_of(connection, side),
        _ => None,
    };
    let accidents = pauses.is_some_and(|pauses| !pauses.peak(releases.closest_ns()));
    releases.lines = releases.lines.with(Line::FalseDiscovery, accidents);
    // The late segment may be the retransmission.
    releases.corked = connection.half(side).repeats().retransmitted == 0
        && waits.iter().any(|wait| wait.by == side && corks.is_left_behind(wait));
    (releases, pauses)
}

/// RTT jitter is blamed on the path, except on a local network, where it must be the receiver's ACK delay.
fn path_jitter_ns(receiver: &Half) -> i64 {
    match receiver.rtt_or_zero_ns() {
        rtt_ns @ ..NETWORK_RTT_NS => receiver.jitter_ns().min(rtt_ns),
        _ => receiver.jitter_ns(),
    }
}

/// How long the receiver of `side` took to answer its SYN, if that was long.
fn syn_took_ns(side: Side, waits: &[Wait]) -> Option<i64> {
    let late = |wait: &&Wait| {
        wait.by != side && wait.is(fact::CONNECTING) && !wait.is(fact::RETRANSMITTED)
    };
    waits.iter().find(late).map(Wait::span_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::case::Confidence;
    use crate::track::Mark;
    use crate::track::band::Band;

    const MS: i64 = 1_000_000;

    /// The doubts about a hold of 44 ms, among others like it, whose segment left so long after the ACK.
    fn doubts(release_ns: i64, releases: Releases) -> Lines {
        let at = |time_ns, frame| Mark { time_ns, frame };
        let wait = Wait {
            facts: fact::UNACKED_SMALL,
            from: at(0, 1),
            ack: at(44 * MS - release_ns, 2),
            to: at(44 * MS, 3),
            ..Wait::unknown(0, Side::Server)
        };
        let judge = Judge {
            direction: DirectionFacts { releases, ..DirectionFacts::default() },
            phases: Vec::new().into_iter(),
            contradictions: 0,
            resends_needlessly: false,
            mss_inferred: false,
            doubts: Lines::default(),
            pauses: None,
        };
        judge.doubts(&wait, Phase::default())
    }

    fn confidence(release_ns: i64, releases: Releases) -> Confidence {
        doubts(release_ns, releases).doubts().confidence()
    }

    fn releases(center_ns: i64, in_band: u32, clock_ns: i64) -> Releases {
        let band = Band { center_ns, tolerance_ns: 2 * MS };
        Releases { band, clock_ns, in_band, ..Releases::default() }
    }

    #[test]
    fn one_match_with_a_long_round_trip_is_possible_and_several_are_more() {
        let far = |in_band| doubts(20 * MS, releases(20 * MS, in_band, 1_000));
        assert!(far(1).has(Line::Single) && !far(2).has(Line::Single));
        assert_eq!(far(1).doubts().confidence(), Confidence::Possible);
        // At the sender nothing but its kernel lies between.
        assert!(!doubts(20_000, releases(20_000, 1, 1_000)).has(Line::Single));
    }

    /// Of writes at any time in a wide band, one comes as close as what the kernel releases.
    #[test]
    fn the_closest_of_many_that_are_far_off_is_not_certain() {
        let among = |spread_ns| {
            let releases = Releases { spread_ns, ..releases(10 * MS, 20, 1_000) };
            confidence(10 * MS + 100_000, releases)
        };
        assert_eq!([100_000, 2 * MS].map(among), [Confidence::Certain, Confidence::Likely]);
    }

    /// A program that answers after 50 ms looks the same in steps of 10 ms, each time.
    #[test]
    fn what_a_coarse_clock_shows_often_is_no_surer() {
        let often = |clock_ns| confidence(0, releases(0, 40, clock_ns));
        assert_eq!(often(1_000), often(100_000));
        assert_eq!([often(4 * MS), often(10 * MS)], [Confidence::Possible; 2]);
        assert!(often(MS) > Confidence::Possible);
    }
}
