//! Rules on the waits of one direction, one after the other.

use crate::judge::capture::ip_ids::Ids;
use crate::judge::capture::link::SlowLink;
use crate::judge::capture::spurious;
use crate::judge::causes::{Cause, Direction, stop_and_wait};
use crate::judge::conditions::Conditions;
use crate::judge::confidence::{Case, Doubts};
use crate::judge::findings::Ruling;
use crate::judge::nagle::phases::{self, Candidate, Contradictions, Phase};
use crate::judge::path::releases::Releases;
use crate::judge::pooled::false_discoveries::Pauses;
use crate::judge::program::corked::Corks;
use crate::judge::program::pace::{self, Pace};
use crate::judge::program::reaction::MayBeRelay;
use crate::judge::program::ticks;
use crate::judge::thresholds::FEW_RELEASES;
use crate::track::wait::{Wait, fact};
use crate::track::{Connection, Half, NETWORK_RTT_NS, Side};

/// What judges the waits of one direction, one after the other.
pub struct Judge<'a> {
    pub direction: Direction,
    /// Of each hold candidate, in order; nothing speaks against it once exhausted.
    phases: std::vec::IntoIter<Phase>,
    /// Does the program's own pace explain the waits of this direction?
    paced: bool,
    /// Small segments this sender sent while a small one was unacknowledged.
    contradictions: u32,
    mss_inferred: bool,
    receiver_rtt_known: bool,
    /// May its holds be what a relay passed on?
    relay: MayBeRelay,
    /// What its matches are weighed against, if they are few.
    around: Option<&'a Pauses>,
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
        let (releases, around) = weighed(connection, side, waits, conditions, &corks);
        let is_held = |wait: &&Wait| wait.by == side && releases.holds(wait);
        let held: Vec<&Wait> = waits.iter().filter(is_held).collect();
        let held = || held.iter().copied();
        let own = waits.iter().filter(|wait| wait.by == side);
        let receiver = connection.half(side.other());
        let against = Contradictions::of(connection.half(side));
        let candidates: Vec<Candidate> = match against.count {
            // Then nothing speaks against any.
            0 => Vec::new(),
            _ => held().map(|wait| Candidate::new(wait, &releases)).collect(),
        };
        Self {
            direction: Direction {
                releases,
                released: false,
                off_or_paced: false,
                resends_needlessly: spurious::is_needless(connection, side, waits, held()),
                at_receiver: spurious::is_at_receiver(connection, side),
                one_at_a_time: one_at_a_time(connection.half(side), &releases, own),
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
            paced: pace::is_periodic(held())
                || Pace::of(side, waits, &releases, connection.half(side).pauses())
                    .explains_most(held()),
            contradictions: against.count,
            mss_inferred: connection.effective_mss().1,
            receiver_rtt_known: receiver.measured_rtt_ns().is_some(),
            relay: MayBeRelay::of(connection, side, waits, held()),
            around,
        }
    }

    pub fn rule(&mut self, wait: &Wait) -> Ruling {
        let held = self.direction.releases.holds(wait);
        let phase = held.then(|| self.phases.next()).flatten().unwrap_or_default();
        self.direction.released = held;
        self.direction.off_or_paced = phase.is_off || self.paced;
        let cause = Cause::of(wait, &self.direction);
        let doubts = match cause.is_stall() {
            true => Doubts::about(&self.case(wait, phase)),
            false => Doubts::default(),
        };
        Ruling { cause, doubts }
    }

    fn case<'c>(&'c self, wait: &'c Wait, phase: Phase) -> Case<'c> {
        Case {
            wait,
            releases: &self.direction.releases,
            receiver_rtt_known: self.receiver_rtt_known,
            mss_inferred: self.mss_inferred,
            relay: self.relay,
            around: self.around,
            contradictions: if phase.is_apart { 0 } else { self.contradictions },
        }
    }
}

/// The releases of `side` with all that speaks for them and against them, and what they are weighed against,
/// if they are few.
fn weighed<'a>(
    connection: &Connection,
    side: Side,
    waits: &[Wait],
    conditions: Conditions<'a>,
    corks: &Corks,
) -> (Releases, Option<&'a Pauses>) {
    let mut releases = Releases::measure(connection, side, waits, conditions.clock_ns);
    // What a program writes at ticks only is told no more exactly than by a clock that ticks so.
    releases.clock_ns = releases.clock_ns.max(ticks::grid_ns(side, waits));
    releases.add_sisters(conditions.sisters, connection, side, waits);
    let around = match releases.in_band {
        1..FEW_RELEASES => conditions.accidents.around(connection, side),
        _ => None,
    };
    releases.peaks &= around.is_none_or(|pauses| pauses.peak(releases.closest_ns()));
    // What was sent again may be what came so late.
    releases.corked = connection.half(side).repeats().retransmitted == 0
        && waits.iter().any(|wait| wait.by == side && corks.is_left_behind(wait));
    (releases, around)
}

/// What varies of the round trip to this receiver is its path. Near by it cannot be that: there its ACKs
/// take their time.
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

/// Did this sender, all the time, wait for the ACK of each segment before the next?
fn one_at_a_time<'a>(
    sender: &Half,
    releases: &Releases,
    own: impl Iterator<Item = &'a Wait> + Clone,
) -> bool {
    let late = |wait: &&Wait| stop_and_wait::is_late_block(wait);
    let soon = |wait: &&Wait| late(wait) && stop_and_wait::is_next_block(wait, releases);
    let blocks = || {
        let soon = own.clone().filter(soon).count();
        soon >= FEW_RELEASES as usize && 2 * soon > own.clone().filter(late).count()
    };
    !sender.has_pipelined() && (releases.full_sized >= FEW_RELEASES || blocks())
}
