//! Posterior answers: one per direction and one per candidate wait; and the terms of one, as
//! `--why` prints them, from which it can be computed.

use crate::cores;
use crate::judge::direction::Direction;
use crate::judge::doubts::hides;
use crate::judge::doubts::of_wait::{DoubtedWait, Effect, WaitDoubt};
use crate::judge::model::chain::of_share;
use crate::judge::model::groups::{Group, Member};
use crate::judge::model::held::{DirectionModel, Held};
use crate::judge::model::ratios::Densities;
use crate::judge::model::relay::{self, LateRelay};
use crate::judge::model::sets::{CandidateSet, sets};
use crate::judge::model::settle::{AT_ONCE, Weighing};
use crate::judge::pooled::paths::SharedPaths;
use crate::judge::statistics;
use crate::judge::thresholds::{OPEN_ON, POSSIBLE};
use crate::track::Connection;
use crate::track::clock::Clocks;
use crate::track::half::Half;
use crate::track::reactions::Reactions;
use crate::track::thresholds::LONGEST_DELAYED_ACK_NS;
use crate::track::tracked::Block;
use crate::track::wait::{Wait, fact};
use std::convert::Infallible;
use std::mem;

/// Nothing is surer of Nagle's algorithm.
const SUREST_ON: f32 = 0.99999;
/// Rounds after which a share of holds and a probability agree to a millionth.
const SHARE_ROUNDS: usize = 8;
/// No printed digit of a probability moves by less.
const STILL: f64 = 1e-9;

/// The terms from which the probability of a wait was computed.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// Why it is no candidate.
    pub exclusion: Option<WaitDoubt>,
    pub held: Held,
    pub direction: DirectionModel,
    /// Densities of its release and of its pause, per ms; `None` for no candidate.
    pub densities: Option<Densities>,
    /// The ratio at most, and why.
    pub most: (f64, &'static str),
}

/// The terms of a wait of a block, by its place there, if it is a candidate.
pub fn explain(
    blocks: &[Block],
    clocks: &Clocks,
    paths: &SharedPaths,
    threads: usize,
    block: usize,
    at: usize,
) -> Option<Terms> {
    let weighed = Weighing::of(sets(blocks, clocks, paths, threads), threads);
    weighed.terms(block as u32, at)
}

impl Terms {
    /// Terms of a wait that is no candidate, with the waits `before` it.
    pub fn excluded(
        wait: &Wait,
        connection: &Connection,
        directions: &[Direction; 2],
        before: &[Wait],
    ) -> Self {
        let hidden = hides::HOLDS | if wait.is(fact::DATA_ACK) { hides::REPLIES } else { 0 };
        let paths = directions.each_ref().map(|direction| &direction.path);
        let exclusion = match directions[0].doubts.about(hidden) {
            Some(doubt) => Some(WaitDoubt { effect: Effect::NotJudged, sentence: doubt.sentence }),
            None => DoubtedWait { wait, connection, paths, before }.exclusion(),
        };
        let direction = DirectionModel::default();
        Self { exclusion, held: Held::NOT, direction, densities: None, most: (1.0, "") }
    }
}

impl<'a> Weighing<'a> {
    /// Hands over what was found: each set, and its candidates in their order.
    pub fn answers(&self, mut take: impl FnMut(&CandidateSet<'a>, DirectionModel, Vec<Held>)) {
        let members: Vec<(&Group<'a>, &Member<'a>)> = self.members().collect();
        let pieces: Vec<&[(&Group<'a>, &Member<'a>)]> = members.chunks(AT_ONCE).collect();
        let work = |piece: usize| {
            let each = pieces[piece].iter().map(|(group, member)| member.answer(group));
            each.collect::<Vec<_>>()
        };
        let mut members = members.iter();
        let Ok(()) = cores::in_order(self.threads, pieces.len(), work, |some| {
            for ((model, held), (_, member)) in some.into_iter().zip(members.by_ref()) {
                take(&member.set, model, held);
            }
            Ok::<(), Infallible>(())
        });
    }

    /// The terms of a candidate, by its place in its block.
    fn terms(&self, block: u32, wait: usize) -> Option<Terms> {
        let mut of_block = self.members().filter(|(_, member)| member.set.block == block);
        of_block.find_map(|(group, member)| {
            let set = &member.set;
            let candidate = wait.checked_sub(set.begin)? as u32;
            let place = set.candidates.binary_search(&candidate).ok()?;
            let (model, held) = member.answer(group);
            Some(Terms {
                exclusion: None,
                held: held[place],
                direction: model,
                densities: Some(
                    group.series.densities(&group.held_before, member.places[place] as usize),
                ),
                most: set.most(set.wait(place)),
            })
        })
    }
}

impl Member<'_> {
    fn answer(&self, group: &Group<'_>) -> (DirectionModel, Vec<Held>) {
        let (set, state) = (&self.set, &self.state);
        let held = self.own(&group.held);
        let ratios = self.ratios(group);
        let probabilities = held.iter().map(|&held| f64::from(held));
        let weighed: Vec<(&Wait, f64)> = set.candidate_waits().zip(probabilities).collect();
        let (relay, late) = match &set.reactions {
            Some(reactions) => (relay::answers(reactions, &weighed), LateRelay::Unknown),
            None => relay::relays(set, &weighed),
        };
        let common = self.common(group, &held);
        let holds = weighed.iter().filter(|(_, held)| *held >= POSSIBLE);
        let mut releases: Vec<i64> = holds.map(|(wait, _)| wait.release_ns()).collect();
        let release_ns = statistics::upper(&mut releases).unwrap_or(0);
        let quickest_ns = set.reactions.as_ref().and_then(Reactions::quickest_ns);
        let model = DirectionModel {
            path: *set.path(),
            release_ms: release_ns as f64 / 1e6,
            relay,
            late,
            siblings: state.siblings,
            sibling_count: state.sibling_count,
            by_sender_clock: state.own_clock.as_ref().map_or(0.0, |own| own.weight),
            is_inferred: set.connection.halves.iter().any(Half::is_inferred),
            reactions: set.reactions.as_ref().map_or(0, Reactions::count),
            quickest_ms: quickest_ns.unwrap_or(0) as f64 / 1e6,
            ..common
        };
        // No way is longer than any ACK may be delayed. Where no round trip is known, what pauses
        // show says little about Nagle's algorithm.
        let is_unknown = set.path().yardstick_ms().is_none();
        let one = |place: usize| {
            let wait = set.wait(place);
            // Until the share is that of the probability itself: readers compute the one from the other.
            let (on, ratio) = (state.chain.on[place].min(SUREST_ON), ratios[place]);
            let again =
                |own: f64| f64::from(on) * of_share(common.share(own, on.into()), ratio.into());
            let mut own = f64::from(held[place]);
            for _ in 0..SHARE_ROUNDS {
                let again = again(own);
                let before = mem::replace(&mut own, again);
                if (own - before).abs() < STILL {
                    break;
                }
            }
            let probability = own * (1.0 - model.passed_on(wait));
            let probability = probability.min(model.most(wait).0);
            Held {
                probability: probability as f32,
                on,
                ratio,
                is_open: state.is_open
                    && wait.release_ns() <= LONGEST_DELAYED_ACK_NS
                    && (f64::from(on) >= OPEN_ON || is_unknown),
                ..Held::NOT
            }
        };
        let answers: Vec<Held> = (0..weighed.len()).map(one).collect();
        (model, answers)
    }
}
