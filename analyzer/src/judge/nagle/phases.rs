//! `TCP_NODELAY` may change during a connection: holds and contradictions in their order tell the phases.

use crate::judge::path::releases::Releases;
use crate::judge::thresholds::{
    CHANCE_ALONE, CHANCE_AMONG_OTHERS, CONTRADICTED, FEW_RELEASES, HOLDS_PER_CONTRADICTION,
    INDEPENDENT_HOLDS, NEIGHBOURS, PHASES_DEVIATIONS,
};
use crate::track::Half;
use crate::track::wait::{Wait, fact};
use std::ops::Range;

/// A wait that [`Releases::holds`] accepts, as its neighbours see it.
#[derive(Debug, Clone, Copy)]
pub struct Candidate {
    /// Small segments its sender had sent before it while a small one was unacknowledged.
    pub contradictions: u32,
    /// How likely it is to be a coincidence, taken by itself.
    pub chance: f64,
    /// Was a small segment unacknowledged?
    pub after_small: bool,
}

/// What the contradictions say of a candidate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Phase {
    /// Nagle was off around it.
    pub is_off: bool,
    /// It lies in a phase of its own, with so many holds and no contradiction that those elsewhere do not
    /// speak against it.
    pub is_apart: bool,
}

impl Candidate {
    /// Of a wait that is a hold by its `releases`.
    pub fn new(wait: &Wait, releases: &Releases) -> Self {
        Self {
            contradictions: wait.contradictions,
            chance: releases.chance(wait),
            after_small: wait.is(fact::UNACKED_SMALL),
        }
    }

    /// Is it most unlikely to be a coincidence, taken by itself?
    fn is_sure(&self) -> bool {
        self.after_small && self.chance < CHANCE_AMONG_OTHERS
    }
}

/// What a direction shows in all against holds: small segments that left while another was unacknowledged,
/// and how often it showed any.
#[derive(Debug, Clone, Copy)]
pub struct ContradictionCounts {
    pub count: u32,
    pub moments: u32,
}

impl ContradictionCounts {
    pub fn of(half: &Half) -> Self {
        Self { count: half.contradictions(), moments: half.contradicting_moments() }
    }
}

/// The phases of the candidates of one direction, in their order.
///
/// Judged near the candidate in time: programs switch TCP_NODELAY in the middle of a connection, and a
/// single exception among thousands of segments clears nothing. Before the first one nothing speaks
/// against a hold: many programs set the option after a login, as SSH does.
pub fn phases(candidates: &[Candidate], all: ContradictionCounts) -> Vec<Phase> {
    let alike = |a: &Candidate, b: &Candidate| a.contradictions == b.contradictions;
    let runs = || candidates.chunk_by(alike);
    let switched = is_switched(candidates, all, runs().count());
    let mut begin = 0;
    let ranges = runs().map(|run| {
        let range = begin..begin + run.len();
        begin = range.end;
        range
    });
    ranges.flat_map(|run| of_run(candidates, all.count, switched, run)).collect()
}

/// Of the candidates of a run, between which there is no contradiction.
fn of_run(
    candidates: &[Candidate],
    total: u32,
    switched: bool,
    run: Range<usize>,
) -> impl Iterator<Item = Phase> {
    let mostly_off = total as usize > candidates.len();
    let quiet = run.len() >= FEW_RELEASES as usize;
    let own = switched && quiet && are_no_accidents(&candidates[run.clone()]);
    let is_apart = own && run.len() >= HOLDS_PER_CONTRADICTION as usize;
    run.map(move |index| {
        let first = candidates[index].contradictions == 0 && candidates[index].is_sure();
        let both_sides = is_off_on_both_sides(candidates, total, index);
        let is_off = !own && (both_sides || (mostly_off && !first && !quiet));
        Phase { is_off, is_apart }
    })
}

/// Do holds and contradictions come in phases? A program that writes when it likes, before the ACK or by
/// accident just after it, mixes them. Test of Wald and Wolfowitz (1940) on the number of `runs`.
fn is_switched(candidates: &[Candidate], all: ContradictionCounts, runs: usize) -> bool {
    let contradicted = |pair: &[Candidate]| pair[0].contradictions < pair[1].contradictions;
    let between = candidates.windows(2).filter(|pair| contradicted(pair)).count();
    let before = candidates.first().is_some_and(|first| first.contradictions > 0);
    let after = candidates.last().is_some_and(|last| last.contradictions < all.count);
    let runs = (runs + between + usize::from(before) + usize::from(after)) as f64;
    let (holds, moments) = (candidates.len() as f64, f64::from(all.moments));
    let mixed = 2.0 * holds * moments / (holds + moments) + 1.0;
    let variance = (mixed - 1.0) * (mixed - 2.0) / (holds + moments - 1.0);
    variance > 0.0 && mixed - runs > PHASES_DEVIATIONS * variance.sqrt()
}

/// Holds in a row: are they too unlikely for accidents, be it that the option was switched on and off for them,
/// as one in a thousand programs does?
fn are_no_accidents(run: &[Candidate]) -> bool {
    let independent = &run[..run.len().min(INDEPENDENT_HOLDS as usize)];
    let chance: f64 = independent.iter().map(|candidate| candidate.chance).product();
    chance < CHANCE_ALONE * CHANCE_ALONE
}

/// Do contradictions come before the candidate and after it, among its neighbours?
fn is_off_on_both_sides(candidates: &[Candidate], total: u32, index: usize) -> bool {
    let count = candidates.len();
    let at = |index: usize| candidates[index].contradictions;
    let left = index.saturating_sub(NEIGHBOURS);
    let right = index + NEIGHBOURS;
    let before = if left == 0 { 0 } else { at(left) };
    let after = if right < count { at(right) } else { total };
    let here = at(index);
    let rate_before = f64::from(here.saturating_sub(before)) / (index - left + 1) as f64;
    let rate_after =
        f64::from(after.saturating_sub(here)) / (right.min(count - 1) - index + 1) as f64;
    rate_before.min(rate_after) >= CONTRADICTED
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::story::{Story, client, server};

    /// A program's write falls this close to an ACK by accident: at the sender, and far from it.
    const NEAR: f64 = 0.002;
    const FAR: f64 = 0.1;

    fn candidates(contradictions: impl IntoIterator<Item = u32>, chance: f64) -> Vec<Candidate> {
        let with = |contradictions| Candidate { contradictions, chance, after_small: true };
        contradictions.into_iter().map(with).collect()
    }

    /// So many contradictions, each at a moment of its own.
    fn each(count: u32) -> ContradictionCounts {
        ContradictionCounts { count, moments: count }
    }

    fn off(candidates: &[Candidate], total: u32) -> Vec<bool> {
        phases(candidates, each(total)).iter().map(|phase| phase.is_off).collect()
    }

    #[test]
    fn switching_nodelay_on_late_clears_nothing_before() {
        assert!(off(&candidates([0; 20], FAR), 500).iter().all(|&off| !off));
    }

    #[test]
    fn a_single_hold_before_nodelay_was_switched_on_must_be_no_coincidence() {
        let counts = [0, 40, 90];
        assert_eq!(off(&candidates(counts, NEAR), 500), [false, true, true]);
        assert_eq!(off(&candidates(counts, FAR), 500), [true, true, true]);
    }

    #[test]
    fn contradictions_all_around_mean_coincidence() {
        let all_around = candidates((0..20).map(|index| index * 2 + 1), NEAR);
        assert!(off(&all_around, 60).iter().all(|&off| off));
    }

    #[test]
    fn one_exception_among_many_clears_nothing() {
        let with_one = candidates((0..40).map(|index| u32::from(index >= 20)), FAR);
        assert!(off(&with_one, 1).iter().all(|&off| !off));
    }

    /// Eight holds, nine contradictions, eight holds, and so on.
    #[test]
    fn nodelay_switched_off_again_begins_a_phase_of_holds() {
        let phases_of = |chance| candidates((0..24).map(|index| index / 8 * 9), chance);
        assert!(off(&phases_of(NEAR), 27).iter().all(|&off| !off));
        // Accidents as likely as that come together now and then.
        assert!(off(&phases_of(0.8), 27)[8..16].iter().all(|&off| off));
    }

    /// Some of its writes come before the ACK, others by accident just after it.
    #[test]
    fn accidents_that_mix_with_contradictions_are_no_phase() {
        let mixed = candidates([2, 2, 2, 3, 3, 4, 4, 5, 5, 5, 5, 7, 8], NEAR);
        assert!(off(&mixed, 9).iter().all(|&off| off));
    }

    #[test]
    fn many_pieces_at_once_are_one_contradiction() {
        let bursts = candidates([0, 0, 0, 9, 9, 9, 9, 18, 18, 18, 27, 27, 27, 27], NEAR);
        let all = |moments| ContradictionCounts { count: 36, moments };
        let in_middle = |moments| phases(&bursts, all(moments))[5].is_off;
        assert_eq!([4, 36].map(in_middle), [true, false]);
    }

    #[test]
    fn contradictions_do_not_speak_against_a_long_phase_without_any() {
        let apart = |len: usize| {
            let before_and_after = [0; 12].into_iter().chain(std::iter::repeat_n(40, len));
            phases(&candidates(before_and_after, NEAR), each(90))[12].is_apart
        };
        assert_eq!([9, 10].map(apart), [false, true]);
    }

    /// Two small segments in flight: `TCP_NODELAY` is in effect.
    fn in_effect(story: Story) -> Story {
        story.after_ms(5.0, client(100)).after_ms(0.02, client(50)).after_ms(1.0, server(200))
    }

    /// A small segment after the ACK of another.
    fn after_ack(story: Story, ms: f64) -> Story {
        let acked = story.after_ms(5.0, client(100)).after_ms(40.0, server(0));
        acked.after_ms(ms, client(50)).after_ms(1.0, server(200))
    }

    /// What follows ACKs by so much, between phases with `TCP_NODELAY`: how many stalls are found?
    fn stalls_between(after_ms: [f64; 8]) -> u32 {
        let again = |story: Story| {
            let story = after_ms.into_iter().fold(story, after_ack);
            story.times(8, in_effect)
        };
        let mut told = Story::new().handshake(0.02, 1.0).times(3, again).end();
        told.judge().0.stalls
    }

    #[test]
    fn nodelay_on_and_off_again_hides_no_stalls_and_a_pausing_program_has_none() {
        assert_eq!(stalls_between([0.02, 0.03, 0.02, 0.02, 0.03, 0.02, 0.04, 0.02]), 24);
        assert_eq!(stalls_between([0.3, 0.45, 2.0, 0.6, 0.9, 1.4, 0.4, 1.1]), 0);
    }
}
