//! Posterior answers: one per direction and one per candidate wait.

use crate::cores;
use crate::judge::model::chain::of_share;
use crate::judge::model::density::most;
use crate::judge::model::directions::Direction;
use crate::judge::model::groups::{AT_ONCE, Groups, WORTH_THREADS};
use crate::judge::model::held::{ByData, DirectionModel, Held, most_by_clock};
use crate::judge::model::ratios::{Densities, Learning, windows};
use crate::judge::model::relay::{self, LateRelay};
use crate::judge::model::terms::Terms;
use crate::judge::statistics;
use crate::judge::thresholds::{OPEN_ON, POSSIBLE};
use crate::track::Reactions;
use crate::track::wait::Wait;
use std::convert::Infallible;

/// Nothing is surer of Nagle's algorithm.
const SUREST_ON: f32 = 0.99999;
/// Rounds after which a share of holds and a probability agree to a millionth.
const SHARE_ROUNDS: usize = 8;

impl Groups<'_> {
    /// Hands over what was found: each direction, and its candidates in their order.
    pub fn answers(
        self,
        threads: usize,
        mut take: impl FnMut(&Direction<'_>, DirectionModel, Vec<Held>),
    ) {
        let threads = if self.events.len() < WORTH_THREADS { 1 } else { threads };
        let sums = self.sums();
        let pieces = self.directions.len().div_ceil(AT_ONCE);
        let work = |piece: usize| {
            let some = piece * AT_ONCE..self.directions.len().min((piece + 1) * AT_ONCE);
            some.map(|at| (at, self.answer(at, &sums))).collect::<Vec<_>>()
        };
        let Ok(()) = cores::in_order(threads, pieces, work, |some| {
            for (at, (model, held)) in some {
                take(&self.directions[at], model, held);
            }
            Ok::<(), Infallible>(())
        });
    }

    /// The terms of a candidate, by its place in its block.
    pub fn terms(&self, block: u32, wait: usize) -> Option<Terms> {
        let sums = self.sums();
        let is_it = |direction: &Direction<'_>| {
            let own = direction.begin..direction.begin + direction.waits.len();
            direction.block == block && own.contains(&wait)
        };
        let of_connection = (0..self.directions.len()).filter(|&at| is_it(&self.directions[at]));
        of_connection.into_iter().find_map(|at| {
            let direction = &self.directions[at];
            let candidate = (wait - direction.begin) as u32;
            let place = direction.candidates.binary_search(&candidate).ok()?;
            let (model, held) = self.answer(at, &sums);
            Some(Terms {
                exclusion: None,
                held: held[place],
                direction: model,
                densities: Some(self.densities(at, place)),
                most: most(direction.wait(place), direction.connection),
            })
        })
    }

    /// The likelihood ratios of the last round for a direction's candidate.
    fn densities(&self, at: usize, place: usize) -> Densities {
        let mut learning = Learning::default();
        let group = &self.kinds[self.group_of(at)];
        let event = self.places[self.ranges[at].start + place] as usize - group.events.start;
        let (events, held) =
            (&self.events[group.events.clone()], &self.held_before[group.events.clone()]);
        let window = windows(events.len()).find(|window| window.contains(&event)).unwrap_or(0..0);
        let of = |at: usize| f64::from(held[at]);
        learning.learn_all((events, of), window, &group.others, group.manner);
        learning.given(&events[event], of(event))
    }

    fn answer(&self, at: usize, sums: &[(f64, f64)]) -> (DirectionModel, Vec<Held>) {
        let (direction, state) = (&self.directions[at], &self.states[at]);
        let held = self.own(at, &self.held);
        let ratios = self.ratios_of(at);
        let probabilities = held.iter().map(|&held| f64::from(held));
        let weighed: Vec<(&Wait, f64)> = direction.candidate_waits().zip(probabilities).collect();
        let relay = match &direction.reactions {
            Some(reactions) => relay::answers(reactions, &weighed),
            None => relay::relay(
                direction.connection,
                direction.side,
                direction.waits,
                &weighed,
                &direction.path,
                &direction.acks,
            ),
        };
        let late = match &direction.reactions {
            Some(_) => LateRelay::default(),
            None => LateRelay::of(&direction.path, &weighed),
        };
        let common = self.common(at, &held, sums);
        let holds = weighed.iter().filter(|(_, held)| *held >= POSSIBLE);
        let mut releases: Vec<i64> = holds.map(|(wait, _)| wait.release_ns()).collect();
        let release_ns = statistics::upper(&mut releases).unwrap_or(0);
        let spread_ns = statistics::deviation(&mut releases).unwrap_or(0);
        let by_data = |reactions: &Reactions| ByData {
            reactions: reactions.count(),
            quickest_ms: reactions.quickest_ns().unwrap_or(0) as f64 / 1e6,
            candidates: common.candidates,
            holds: common.holds,
            relay,
        };
        let model = DirectionModel {
            path: direction.path,
            release_ms: release_ns as f64 / 1e6,
            spread_ms: spread_ns as f64 / 1e6,
            relay,
            late,
            siblings: state.siblings,
            sibling_count: state.sibling_count,
            by_sender_clock: state.own_clock.is_some(),
            by_data: direction.reactions.as_ref().map_or_else(ByData::default, by_data),
            ..common
        };
        // Where no round trip is known, what pauses show says little about Nagle's algorithm.
        let is_unknown = direction.path.yardstick_ms().is_none();
        let one = |place: usize| {
            let wait = direction.wait(place);
            // Until the share is that of the probability itself: readers compute the one from the other.
            let (on, ratio) = (state.chain.on[place].min(SUREST_ON), ratios[place]);
            let again =
                |own: f64| f64::from(on) * of_share(common.share(own, on.into()), ratio.into());
            let own = (0..SHARE_ROUNDS).fold(f64::from(held[place]), |own, _| again(own));
            let probability = own * (1.0 - model.passed_on(wait));
            let probability = probability.min(most_by_clock(direction.path.step_ms, wait));
            Held {
                probability: probability as f32,
                on,
                ratio,
                is_open: state.is_open && (f64::from(on) >= OPEN_ON || is_unknown),
            }
        };
        let answers: Vec<Held> = (0..weighed.len()).map(one).collect();
        (model, answers)
    }
}
