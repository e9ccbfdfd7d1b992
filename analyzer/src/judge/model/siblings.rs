//! What directions show of each other: other connections of the same server, and waits of other kinds on the same
//! socket.

use crate::judge::model::chain::{Chain, logistic};
use crate::judge::model::directions::Direction;
use crate::judge::model::groups::{Group, Groups, State};
use crate::judge::thresholds::{
    FEW_RELEASES, NAGLE_ON, OPEN_ON, SIBLING, SIBLING_BOUNDS, SIBLINGS_BOUNDS,
};
use crate::rules;
use crate::track::Side;
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// Evidence from which no other connection changes the answer, as a logarithm.
const BEYOND_DOUBT: f64 = 20.0;

impl Groups<'_> {
    /// Gives each direction what others of its server show.
    pub fn ask_siblings(&mut self, threads: usize) {
        let bounded =
            |state: &State| state.chain.evidence.clamp(SIBLING_BOUNDS.0, SIBLING_BOUNDS.1);
        let count = self.kinds.iter().map(|group| group.server + 1).max().unwrap_or(0);
        let mut servers = vec![[(0.0, 0_u32); 2]; count];
        for group in self.kinds.iter().filter(|group| !group.by_data) {
            for state in &self.states[group.members.clone()] {
                let sum = &mut servers[group.server][usize::from(group.is_short)];
                *sum = (sum.0 + bounded(state), sum.1 + 1);
            }
        }
        let beside = self.beside();
        for group in &self.kinds {
            let [of_evidence, of_short] = servers[group.server];
            // Short ones are asked where nothing else is.
            let is_asked = group.is_short && !group.by_data && of_evidence.1 == 0;
            let (sum, count) = if is_asked { of_short } else { of_evidence };
            let blurred: Vec<usize> =
                self.directions[group.members.clone()].iter().map(Direction::blurred).collect();
            let is_blurred = blurred.iter().sum::<usize>() >= FEW_RELEASES as usize;
            for (at, blurred) in group.members.clone().zip(blurred) {
                let own = if is_asked || group.is_base() { Some(at) } else { beside[at] };
                let own = own.map(|own| bounded(&self.states[own]));
                let others = rules::weight("siblings", SIBLING) * (sum - own.unwrap_or(0.0));
                let state = &mut self.states[at];
                state.siblings = others.clamp(SIBLINGS_BOUNDS.0, SIBLINGS_BOUNDS.1);
                state.sibling_count = count - u32::from(own.is_some());
                // Many connections with a wait each leave as much open as one with many.
                let may_be_on = logistic(NAGLE_ON + state.siblings) >= OPEN_ON;
                state.is_open |= is_blurred && blurred > 0 && may_be_on;
            }
        }
        let all: Vec<usize> = (0..self.kinds.len()).collect();
        let asked = self.by_direction(threads, &all, |at| {
            let (state, ratios) = (&self.states[at], self.ratios_of(at));
            // What is beyond doubt anyway needs no advice.
            let is_open = state.sibling_count > 0 && state.chain.evidence < BEYOND_DOUBT;
            let advised = NAGLE_ON + state.siblings;
            let chain = if self.kinds[self.group_of(at)].is_base() {
                is_open.then(|| self.directions[at].chain(&ratios, advised))
            } else {
                Some(self.chain_beside(at, beside[at], advised))
            };
            let known = chain.as_ref().unwrap_or(&state.chain);
            let held = |(place, ratio): (usize, &f32)| known.held(place, f64::from(*ratio)) as f32;
            let held: Vec<f32> = ratios.iter().enumerate().map(held).collect();
            (chain, held)
        });
        for (at, (chain, held)) in asked.into_iter().enumerate() {
            if let Some(chain) = chain {
                self.states[at].chain = chain;
            }
            self.set_held(at, &held);
        }
    }

    /// For each direction of short waits, or of segments that data may have released, the place of the one with the
    /// evidence on the same socket.
    fn beside(&self) -> Vec<Option<usize>> {
        if self.kinds.iter().all(Group::is_base) {
            return vec![None; self.directions.len()];
        }
        let key = |direction: &Direction<'_>| (direction.block, direction.place, direction.side);
        let bases = self.kinds.iter().filter(|group| group.is_base());
        let places: HashMap<(u32, u32, Side), usize, RandomState> = bases
            .flat_map(|group| group.members.clone())
            .map(|at| (key(&self.directions[at]), at))
            .collect();
        self.directions.iter().map(|direction| places.get(&key(direction)).copied()).collect()
    }

    /// The chain of such a direction: Nagle's algorithm was on as the waits `beside` them show. Short waits show it, too;
    /// segments that data may have released do not.
    fn chain_beside(&self, at: usize, beside: Option<usize>, log_odds: f64) -> Chain {
        let direction = &self.directions[at];
        let by_data = direction.reactions.is_some();
        let own = direction.candidates.iter().zip(self.ratios_of(at));
        let own = own.map(|(&wait, ratio)| (wait, if by_data { 1.0 } else { ratio }, true));
        let mut all: Vec<(u32, f32, bool)> = own.collect();
        if let Some(beside) = beside {
            let others = self.directions[beside].candidates.iter().zip(self.ratios_of(beside));
            all.extend(others.map(|(&wait, ratio)| (wait, ratio, false)));
            all.sort_unstable_by_key(|(wait, ..)| *wait);
        }
        let waits = all.iter().map(|(wait, ..)| &direction.waits[*wait as usize]);
        let ratios: Vec<f32> = all.iter().map(|(_, ratio, _)| *ratio).collect();
        let on = direction.chain_of(waits, &ratios, log_odds).on;
        let own = all.iter().zip(on).filter(|((.., is_own), _)| *is_own);
        Chain { on: own.map(|(_, on)| on).collect(), ..self.states[at].chain.clone() }
    }
}
