//! Weighs all candidates: from the past alone, then with what others of the server show, then each
//! again, given all others, until nothing moves.

use crate::cores;
use crate::judge::model::groups::{Group, Member, groups};
use crate::judge::model::ratios::Learning;
use crate::judge::model::sets::CandidateSet;
use crate::judge::thresholds::ROUNDS;
use crate::rules;
use std::ops::Range;

/// Waits for which it is worth to start threads.
const WORTH_THREADS: usize = 1 << 13;
/// Directions that a thread takes at once.
pub const AT_ONCE: usize = 64;
/// A probability that moves by less between two rounds has settled.
const SETTLED: f32 = 1e-3;

/// All groups, and the threads that weigh them.
pub struct Weighing<'a> {
    pub groups: Vec<Group<'a>>,
    pub threads: usize,
}

impl<'a> Weighing<'a> {
    /// Weighs all of them.
    pub fn of(sets: Vec<CandidateSet<'a>>, threads: usize) -> Self {
        let groups = groups(sets);
        let events: usize = groups.iter().map(|group| group.series.events.len()).sum();
        let mut all = Self { groups, threads: if events < WORTH_THREADS { 1 } else { threads } };
        all.set_ratios(|group, learning, window| group.series.ratios_from_past(learning, window));
        let alone = all.of_members(|group, member| member.alone(group));
        all.put(alone, |member, state, _| member.state = state);
        all.ask_siblings();
        for _ in 0..if rules::off("rounds") { 0 } else { ROUNDS } {
            all.round();
            if !all.groups.iter().any(|group| group.is_moving) {
                break;
            }
        }
        for group in &mut all.groups {
            group.is_moving = true;
            group.sum();
        }
        all
    }

    /// Weighs each candidate of the groups that move again, given all others.
    fn round(&mut self) {
        for group in self.groups.iter_mut().filter(|group| group.is_moving) {
            group.held_before.clone_from(&group.held);
            group.sum();
        }
        self.set_ratios(|group, learning, window| {
            group.series.ratios_from_all(&group.held_before, learning, window)
        });
        let again = self.of_members(|group, member| member.again(group));
        self.put(again, |member, (own, ratios), held| {
            member.put(&own, held);
            if let (Some(own), Some(ratios)) = (&mut member.state.own_clock, ratios) {
                own.ratios = ratios;
            }
        });
        for group in self.groups.iter_mut().filter(|group| group.is_moving) {
            let mut both = group.held.iter().zip(&group.held_before);
            group.is_moving = both.any(|(now, before)| (now - before).abs() > SETTLED);
        }
    }

    /// Sets the ratios of the groups that move, to what `work` makes of each of their windows.
    fn set_ratios(
        &mut self,
        work: impl Fn(&Group<'a>, &mut Learning, Range<usize>) -> Vec<f32> + Sync,
    ) {
        let moving = self.groups.iter().filter(|group| group.is_moving);
        let jobs: Vec<(&Group<'a>, Range<usize>)> = moving
            .flat_map(|group| group.series.windows().map(move |window| (group, window)))
            .collect();
        let pieces = cores::of_pieces(self.threads, &jobs, AT_ONCE, |jobs| {
            let mut learning = Learning::default();
            let each =
                jobs.iter().map(|(group, window)| work(group, &mut learning, window.clone()));
            each.flatten().collect::<Vec<f32>>()
        });
        let mut ratios = pieces.into_iter().flatten();
        for group in self.groups.iter_mut().filter(|group| group.is_moving) {
            group.ratios.clear();
            group.ratios.extend(ratios.by_ref().take(group.series.events.len()));
        }
    }

    /// The members of the groups that move.
    pub fn members(&self) -> impl Iterator<Item = (&Group<'a>, &Member<'a>)> {
        let moving = self.groups.iter().filter(|group| group.is_moving);
        moving.flat_map(|group| group.members.iter().map(move |member| (group, member)))
    }

    /// Maps the members with `work`, in parallel.
    pub fn of_members<T: Send>(
        &self,
        work: impl Fn(&Group<'a>, &Member<'a>) -> T + Sync,
    ) -> Vec<T> {
        let all: Vec<(&Group<'a>, &Member<'a>)> = self.members().collect();
        let pieces = cores::of_pieces(self.threads, &all, AT_ONCE, |some| {
            some.iter().map(|(group, member)| work(group, member)).collect::<Vec<T>>()
        });
        pieces.into_iter().flatten().collect()
    }

    /// Hands each result of `of_members` to its member, and to the probabilities of its group.
    pub fn put<T>(
        &mut self,
        results: Vec<T>,
        mut take: impl FnMut(&mut Member<'a>, T, &mut [f32]),
    ) {
        let mut results = results.into_iter();
        for group in self.groups.iter_mut().filter(|group| group.is_moving) {
            for (member, result) in group.members.iter_mut().zip(results.by_ref()) {
                take(member, result, &mut group.held);
            }
        }
    }
}
