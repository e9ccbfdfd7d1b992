//! Directions that learn from each other: those of one server whose paths are of one kind.

use crate::cores;
use crate::judge::model::chain::{self, Chain};
use crate::judge::model::directions::Direction;
use crate::judge::model::evidence::{OwnClock, blended};
use crate::judge::model::ratios::{Event, Learning, Manner, OtherPause, windows};
use crate::judge::thresholds::{CLOCK_COST, LEARNT_PAUSES, NAGLE_ON, ROUNDS};
use crate::rules;
use crate::track::{Endpoint, Side};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::ops::Range;

/// Waits for which it is worth to start threads.
pub const WORTH_THREADS: usize = 1 << 13;
/// A sender's clock that counts for less is not asked again.
const LEAST_WEIGHT: f64 = 1e-3;
/// A probability that moves by less between two rounds has settled.
const SETTLED: f32 = 1e-3;
/// Directions that a thread takes at once.
pub const AT_ONCE: usize = 64;

/// Which directions learn from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Kind {
    server: Endpoint,
    side: Side,
    far: bool,
    /// Are releases compared with a round trip?
    is_known: bool,
    /// May data have released them?
    by_data: bool,
    is_short: bool,
}

/// The directions of one kind.
pub struct Group {
    pub events: Range<usize>,
    pub others: Vec<OtherPause>,
    pub manner: Manner,
    pub members: Range<usize>,
    /// The server, with others of another kind.
    pub server: usize,
    pub by_data: bool,
    pub is_short: bool,
}

impl Group {
    /// Is it of waits that are evidence for all others?
    pub fn is_base(&self) -> bool {
        !self.by_data && !self.is_short
    }
}

/// All directions by their kinds, and what is known of each candidate.
pub struct Groups<'a> {
    pub kinds: Vec<Group>,
    pub directions: Vec<Direction<'a>>,
    /// Where the candidates of each direction are in `places`.
    pub ranges: Vec<Range<usize>>,
    /// Candidates in the order of the directions: their places among the events.
    pub places: Vec<u32>,
    /// Events; those of a group are in the order of time.
    pub events: Vec<Event>,
    /// One ratio per event.
    pub ratios: Vec<f32>,
    pub held: Vec<f32>,
    /// One state per direction.
    pub states: Vec<State>,
    /// Probabilities before the last round, from which its ratios were learnt. Kept if they are asked for.
    pub keeps_before: bool,
    pub held_before: Vec<f32>,
}

/// The state of a direction between rounds.
#[derive(Default)]
pub struct State {
    pub chain: Chain,
    /// By its sender's clock, where that shows more: densities of its own.
    pub own_clock: Option<OwnClock>,
    pub siblings: f64,
    pub sibling_count: u32,
    /// Does nothing tell holds from pauses?
    pub is_open: bool,
}

impl<'a> Groups<'a> {
    pub fn of(directions: Vec<Direction<'a>>) -> Self {
        let events = directions.iter().map(|direction| direction.candidates.len()).sum();
        let mut kinds: HashMap<Kind, usize, RandomState> = HashMap::default();
        let mut servers: HashMap<(Endpoint, Side), usize, RandomState> = HashMap::default();
        let mut numbered: Vec<(usize, Direction<'a>)> = Vec::with_capacity(directions.len());
        let mut of_servers = Vec::new();
        for direction in directions {
            let kind = Kind::of(&direction);
            let next = kinds.len();
            let number = *kinds.entry(kind).or_insert(next);
            if number == next {
                let count = servers.len();
                of_servers.push(*servers.entry((kind.server, kind.side)).or_insert(count));
            }
            numbered.push((number, direction));
        }
        // Stable: the order of the connections stays.
        numbered.sort_by_key(|(number, _)| *number);
        let mut all = Self {
            kinds: Vec::with_capacity(kinds.len()),
            directions: Vec::with_capacity(numbered.len()),
            ranges: Vec::with_capacity(numbered.len()),
            places: Vec::with_capacity(events),
            events: Vec::with_capacity(events),
            ratios: Vec::new(),
            held: Vec::new(),
            states: Vec::new(),
            keeps_before: false,
            held_before: Vec::new(),
        };
        for own in numbered.chunk_by(|one, next| one.0 == next.0) {
            all.add_group(own.iter().map(|(_, direction)| direction), of_servers[own[0].0]);
        }
        all.directions = numbered.into_iter().map(|(_, direction)| direction).collect();
        all.held = vec![0.0; events];
        all
    }

    fn add_group<'b>(
        &mut self,
        directions: impl Iterator<Item = &'b Direction<'a>> + Clone,
        server: usize,
    ) where
        'a: 'b,
    {
        let (first_event, first_member) = (self.events.len(), self.ranges.len());
        let (mut others, mut step_ms, mut far, mut is_known) = (Vec::new(), 0.0_f64, false, false);
        let (mut by_data, mut is_short) = (false, false);
        for direction in directions {
            let begin = self.places.len();
            for at in 0..direction.candidates.len() {
                self.places.push(self.events.len() as u32);
                self.events.push(direction.event(at));
            }
            self.ranges.push(begin..self.places.len());
            others.extend(direction.other_pauses().filter(|_| !rules::off("other_pauses")));
            step_ms = step_ms.max(direction.path.step_ms);
            far |= direction.path.far;
            is_known |= direction.path.is_known();
            by_data |= direction.reactions.is_some();
            is_short |= direction.is_short;
        }
        // Clocks may step back.
        let is_ordered = self.events[first_event..].is_sorted_by_key(|event| event.time_ns);
        if !is_ordered {
            self.sort_events(first_event, self.ranges[first_member].start);
        }
        others.sort_unstable_by_key(|other: &OtherPause| other.0);
        self.kinds.push(Group {
            events: first_event..self.events.len(),
            others,
            manner: manner(far, is_known, step_ms, by_data),
            members: first_member..self.ranges.len(),
            server,
            by_data,
            is_short,
        });
    }

    /// Brings the events of the last group in the order of time.
    fn sort_events(&mut self, first_event: usize, first_place: usize) {
        let events = &mut self.events[first_event..];
        let mut order: Vec<u32> = (0..events.len() as u32).collect();
        order.sort_by_key(|&at| events[at as usize].time_ns);
        let mut rank = vec![0; order.len()];
        for (place, &at) in order.iter().enumerate() {
            rank[at as usize] = place as u32;
        }
        for place in &mut self.places[first_place..] {
            *place = first_event as u32 + rank[*place as usize - first_event];
        }
        let sorted: Vec<Event> = order.iter().map(|&at| events[at as usize]).collect();
        events.copy_from_slice(&sorted);
    }

    /// Weighs all candidates: from the past alone, then with what others of the server show, then each again, given
    /// all others, until nothing moves.
    pub fn weigh(&mut self, threads: usize) {
        let threads = if self.events.len() < WORTH_THREADS { 1 } else { threads };
        let all: Vec<usize> = (0..self.kinds.len()).collect();
        self.ratios = vec![1.0; self.events.len()];
        self.set_ratios(threads, &all, |learning, group, events, window| {
            learning.ratios_from_past(events, window, &group.others, group.manner)
        });
        self.states = self.by_direction(threads, &all, |at| self.alone(at));
        self.ask_siblings(threads);
        let mut moving = all;
        for _ in 0..if rules::off("rounds") { 0 } else { ROUNDS } {
            let held = self.held.clone();
            for &group in moving.iter().filter(|_| self.keeps_before) {
                let events = self.kinds[group].events.clone();
                self.held_before.resize(held.len(), 0.0);
                self.held_before[events.clone()].copy_from_slice(&held[events]);
            }
            self.set_ratios(threads, &moving, |learning, group, events, window| {
                let held = |at: usize| f64::from(held[group.events.start + at]);
                learning.ratios_from_all((events, held), window, &group.others, group.manner)
            });
            let sums = self.sums();
            let again = self.by_direction(threads, &moving, |at| self.again(at, &sums));
            let members = moving.iter().flat_map(|&group| self.kinds[group].members.clone());
            for (at, (own, ratios)) in members.collect::<Vec<usize>>().into_iter().zip(again) {
                self.set_held(at, &own);
                if let (Some(own), Some(ratios)) = (&mut self.states[at].own_clock, ratios) {
                    own.ratios = ratios;
                }
            }
            let moved = |group: &usize| {
                let events = self.kinds[*group].events.clone();
                let both = self.held[events.clone()].iter().zip(&held[events]);
                both.into_iter().any(|(now, before)| (now - before).abs() > SETTLED)
            };
            moving.retain(moved);
            if moving.is_empty() {
                break;
            }
        }
    }

    /// Sets the ratios of some groups, to what `work` makes of each of their windows.
    fn set_ratios(
        &mut self,
        threads: usize,
        groups: &[usize],
        work: impl Fn(&mut Learning, &Group, &[Event], Range<usize>) -> Vec<f32> + Sync,
    ) {
        let jobs: Vec<(&Group, Range<usize>)> = groups
            .iter()
            .map(|&group| &self.kinds[group])
            .flat_map(|group| windows(group.events.len()).map(move |window| (group, window)))
            .collect();
        let pieces = cores::of_pieces(threads, &jobs, AT_ONCE, |jobs| {
            let mut learning = Learning::default();
            let one = |(group, window): &(&Group, Range<usize>)| {
                let events = &self.events[group.events.clone()];
                work(&mut learning, group, events, window.clone())
            };
            jobs.iter().map(one).collect::<Vec<Vec<f32>>>()
        });
        let begins: Vec<usize> =
            jobs.iter().map(|(group, window)| group.events.start + window.start).collect();
        for (begin, ratios) in begins.into_iter().zip(pieces.into_iter().flatten()) {
            self.ratios[begin..begin + ratios.len()].copy_from_slice(&ratios);
        }
    }

    /// Does `work` for each direction of some groups.
    pub fn by_direction<T: Send>(
        &self,
        threads: usize,
        groups: &[usize],
        work: impl Fn(usize) -> T + Sync,
    ) -> Vec<T> {
        let members = groups.iter().flat_map(|&group| self.kinds[group].members.clone());
        let all: Vec<usize> = members.collect();
        let pieces = cores::of_pieces(threads, &all, AT_ONCE, |some| {
            some.iter().map(|&at| work(at)).collect::<Vec<T>>()
        });
        pieces.into_iter().flatten().collect()
    }

    /// The values of a direction's candidates, in their order.
    pub fn own(&self, at: usize, values: &[f32]) -> Vec<f32> {
        self.places[self.ranges[at].clone()].iter().map(|&place| values[place as usize]).collect()
    }

    pub fn set_held(&mut self, at: usize, held: &[f32]) {
        for (&place, &held) in self.places[self.ranges[at].clone()].iter().zip(held) {
            self.held[place as usize] = held;
        }
    }

    /// A direction by what came before each wait, and by nothing else.
    fn alone(&self, at: usize) -> State {
        let direction = &self.directions[at];
        let ratios = self.own(at, &self.ratios);
        let chain = direction.chain(&ratios, NAGLE_ON);
        let is_open = direction.is_open(&ratios);
        let alone = |chain| State { chain, is_open, ..State::default() };
        let Some((own, by_clock)) = direction.own_clock() else { return alone(chain) };
        let by_clock = by_clock.evidence - CLOCK_COST;
        let weight = chain::logistic(by_clock - chain.evidence);
        if weight < LEAST_WEIGHT {
            return alone(chain);
        }
        let evidence = weight * by_clock + (1.0 - weight) * chain.evidence;
        let ratios = blended(&ratios, &own.ratios, weight);
        let chain = Chain { evidence, ..direction.chain(&ratios, NAGLE_ON) };
        State { own_clock: Some(OwnClock { ratios, weight, ..own }), ..alone(chain) }
    }

    /// The ratios of a direction, by both clocks if it has one of its own.
    pub fn ratios_of(&self, at: usize) -> Vec<f32> {
        match &self.states[at].own_clock {
            Some(own) => own.ratios.clone(),
            None => self.own(at, &self.ratios),
        }
    }

    /// For each group: expected holds, and waits with Nagle's algorithm on.
    pub fn sums(&self) -> Vec<(f64, f64)> {
        let sum = |values: &[f32]| values.iter().map(|&one| f64::from(one)).sum::<f64>();
        let of_group = |group: &Group| {
            let on = group
                .members
                .clone()
                .map(|at| sum(&self.states[at].chain.on) + self.directions[at].late());
            (sum(&self.held[group.events.clone()]), on.sum::<f64>())
        };
        self.kinds.iter().map(of_group).collect()
    }

    /// The group of a direction.
    pub fn group_of(&self, at: usize) -> usize {
        self.kinds.partition_point(|group| group.members.end <= at)
    }

    /// A direction again, given all others; with ratios by its own clock, if it has one.
    fn again(&self, at: usize, sums: &[(f64, f64)]) -> (Vec<f32>, Option<Vec<f32>>) {
        let state = &self.states[at];
        let held = self.own(at, &self.held);
        let by_clock = state.own_clock.as_ref().map(|own| {
            let held = |place: usize| f64::from(held[place]);
            let mut learning = Learning::default();
            let each = windows(own.events.len()).map(|window| {
                learning.ratios_from_all((&own.events, held), window, &[], own.manner)
            });
            blended(&self.own(at, &self.ratios), &each.collect::<Vec<_>>().concat(), own.weight)
        });
        let ratios = by_clock.clone().unwrap_or_else(|| self.own(at, &self.ratios));
        let model = self.common(at, &held, sums);
        let one = |((&held, &on), &ratio): ((&f32, &f32), &f32)| {
            let share = model.share(held.into(), on.into());
            on * chain::of_share(share, ratio.into()) as f32
        };
        let again = held.iter().zip(&state.chain.on).zip(&ratios).map(one).collect();
        (again, by_clock)
    }
}

/// How a group is learnt.
fn manner(far: bool, is_known: bool, step_ms: f64, by_data: bool) -> Manner {
    let third = 1.0 / 3.0;
    let wide = [0.1, 0.8, 4.0].map(|width_ms| (width_ms + step_ms, third));
    let narrow = [(0.02 + step_ms, 0.7), (0.1 + step_ms, 0.3), (1.0, 0.0)];
    Manner {
        releases: if far { wide } else { narrow },
        pauses: wide,
        learnt_pauses: match (by_data, far && is_known) {
            // Where a kernel releases and where a program answers is one place: nothing tells them apart there.
            (true, _) => 0.0,
            (_, true) => LEARNT_PAUSES.0,
            _ => LEARNT_PAUSES.1,
        },
    }
}

impl Kind {
    fn of(direction: &Direction<'_>) -> Self {
        Self {
            server: direction.connection.ends().server,
            side: direction.side,
            far: direction.path.far,
            is_known: direction.path.is_known(),
            by_data: direction.reactions.is_some(),
            is_short: direction.is_short,
        }
    }
}
