//! Directions that learn from each other: those of one server whose paths are of one kind.

use crate::judge::model::chain::{self, Chain};
use crate::judge::model::evidence::{OwnClock, blended};
use crate::judge::model::held::DirectionModel;
use crate::judge::model::ratios::{Event, Manner, OtherPause, Series};
use crate::judge::model::sets::CandidateSet;
use crate::judge::thresholds::{
    CLOCK_COST, FEW_RELEASES, KERNEL_WIDTHS, LEARNT_PAUSES, NAGLE_ON, WIDTHS_MS,
};
use crate::rules;
use crate::track::{Endpoint, Side};
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// A sender's clock that counts for less is not asked again.
const LEAST_WEIGHT: f64 = 1e-3;

/// Which directions learn from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Kind {
    pub server: Endpoint,
    pub side: Side,
    /// Is there a network between the capture point and the sender?
    far: bool,
    /// Are releases compared with a round trip?
    is_known: bool,
    /// May data have released them?
    pub by_data: bool,
    /// Are their waits shorter than evidence?
    pub is_short: bool,
}

/// The directions of one kind, and their candidates.
pub struct Group<'a> {
    pub kind: Kind,
    pub members: Vec<Member<'a>>,
    /// All candidates.
    pub series: Series,
    /// The ratio of each candidate, and the probability that it was held.
    pub ratios: Vec<f32>,
    pub held: Vec<f32>,
    /// Probabilities before the last round, from which its ratios were learnt.
    pub held_before: Vec<f32>,
    /// Expected holds, and waits with Nagle's algorithm on, before the round.
    pub sums: (f64, f64),
    /// Do enough releases come about a round trip after their ACKs to leave it open what they are?
    pub is_blurred: bool,
    /// Have its probabilities not settled?
    pub is_moving: bool,
}

/// A set of candidates, and its state between rounds.
pub struct Member<'a> {
    pub set: CandidateSet<'a>,
    /// Where its candidates are among the events of its group.
    pub places: Vec<u32>,
    pub state: State,
}

/// The state of a direction between rounds.
#[derive(Default)]
pub struct State {
    /// Was Nagle's algorithm on, by its waits and its siblings?
    pub chain: Chain,
    /// By its sender's clock, where that shows more: densities of its own.
    pub own_clock: Option<OwnClock>,
    /// Log-odds by other connections of its server, and how many those are.
    pub siblings: f64,
    pub sibling_count: u32,
    /// Does nothing tell holds from pauses?
    pub is_open: bool,
}

/// All directions by their kinds, in the order in which these come first.
pub fn groups(sets: Vec<CandidateSet<'_>>) -> Vec<Group<'_>> {
    let mut places: HashMap<Kind, usize, RandomState> = HashMap::default();
    let mut kinds: Vec<(Kind, Vec<CandidateSet<'_>>)> = Vec::new();
    for set in sets {
        let kind = Kind::of(&set);
        let place = *places.entry(kind).or_insert(kinds.len());
        match kinds.get_mut(place) {
            Some((_, own)) => own.push(set),
            None => kinds.push((kind, vec![set])),
        }
    }
    kinds.into_iter().map(|(kind, own)| Group::of(kind, own)).collect()
}

impl Kind {
    fn of(set: &CandidateSet<'_>) -> Self {
        Self {
            server: set.connection.ends().server,
            side: set.side,
            far: set.path().far,
            is_known: set.path().is_known(),
            by_data: set.reactions.is_some(),
            is_short: set.is_short,
        }
    }

    /// Is it of waits that are evidence for all others?
    pub fn is_base(&self) -> bool {
        !self.by_data && !self.is_short
    }
}

impl<'a> Group<'a> {
    fn of(kind: Kind, sets: Vec<CandidateSet<'a>>) -> Self {
        let mut placed: Vec<(Event, u32, u32)> = Vec::new();
        let (mut others, mut step_ms, mut blurred) = (Vec::new(), 0.0_f64, 0);
        for (number, set) in (0..).zip(&sets) {
            let own =
                (0..set.candidates.len() as u32).map(|at| (set.event(at as usize), number, at));
            placed.extend(own);
            others.extend(set.other_pauses().filter(|_| !rules::off("other_pauses")));
            step_ms = step_ms.max(set.path().step_ms);
            blurred += set.blurred();
        }
        // Connections overlap, and clocks may step back.
        if !placed.is_sorted_by_key(|(event, ..)| event.time_ns) {
            placed.sort_by_key(|(event, ..)| event.time_ns);
        }
        others.sort_unstable_by_key(|other: &OtherPause| other.0);
        let member = |set: CandidateSet<'a>| Member {
            places: vec![0; set.candidates.len()],
            set,
            state: State::default(),
        };
        let mut members: Vec<Member<'a>> = sets.into_iter().map(member).collect();
        for (place, &(_, member, at)) in (0..).zip(&placed) {
            members[member as usize].places[at as usize] = place;
        }
        Self {
            kind,
            members,
            ratios: vec![1.0; placed.len()],
            held: vec![0.0; placed.len()],
            held_before: vec![0.0; placed.len()],
            series: Series {
                events: placed.into_iter().map(|(event, ..)| event).collect(),
                others,
                manner: manner(kind, step_ms),
            },
            sums: (0.0, 0.0),
            is_blurred: blurred >= FEW_RELEASES as usize,
            is_moving: true,
        }
    }

    /// Sums up before a round.
    pub fn sum(&mut self) {
        let sum = |values: &[f32]| values.iter().map(|&one| f64::from(one)).sum::<f64>();
        let on = |member: &Member<'_>| sum(&member.state.chain.on) + member.set.late();
        self.sums = (sum(&self.held), self.members.iter().map(on).sum());
    }
}

impl Member<'_> {
    /// The values of the candidates among the `values` of a group, in their order.
    pub fn own(&self, values: &[f32]) -> Vec<f32> {
        self.places.iter().map(|&place| values[place as usize]).collect()
    }

    /// The opposite.
    pub fn put(&self, own: &[f32], values: &mut [f32]) {
        for (&place, &value) in self.places.iter().zip(own) {
            values[place as usize] = value;
        }
    }

    /// Its ratios, by both clocks if it has one of its own.
    pub fn ratios(&self, group: &Group<'_>) -> Vec<f32> {
        match &self.state.own_clock {
            Some(own) => own.ratios.clone(),
            None => self.own(&group.ratios),
        }
    }

    /// The parameters that its waits share, which were held with these probabilities.
    pub fn common(&self, group: &Group<'_>, held: &[f32]) -> DirectionModel {
        DirectionModel::of(held, &self.state.chain.on, self.set.late(), group.sums)
    }

    /// By what came before each wait, and by nothing else.
    pub fn alone(&self, group: &Group<'_>) -> State {
        let set = &self.set;
        let ratios = self.own(&group.ratios);
        let chain = set.chain(&ratios, NAGLE_ON);
        let is_open = set.is_open(&ratios);
        let alone = |chain| State { chain, is_open, ..State::default() };
        let Some((own, by_clock)) = set.own_clock() else { return alone(chain) };
        let by_clock = by_clock.evidence - CLOCK_COST;
        let weight = chain::logistic(by_clock - chain.evidence);
        if weight < LEAST_WEIGHT {
            return alone(chain);
        }
        let evidence = weight * by_clock + (1.0 - weight) * chain.evidence;
        let ratios = blended(&ratios, &own.ratios, weight);
        let chain = Chain { evidence, ..set.chain(&ratios, NAGLE_ON) };
        State { own_clock: Some(OwnClock { ratios, weight, ..own }), ..alone(chain) }
    }

    /// Given all others: its probabilities, and its ratios if it has a clock of its own.
    pub fn again(&self, group: &Group<'_>) -> (Vec<f32>, Option<Vec<f32>>) {
        let held = self.own(&group.held);
        let by_clock = self.state.own_clock.as_ref().map(|own| {
            let by_clock = own.series.by_windows(|series, learning, window| {
                series.ratios_from_all(&held, learning, window)
            });
            blended(&self.own(&group.ratios), &by_clock, own.weight)
        });
        let ratios = by_clock.clone().unwrap_or_else(|| self.own(&group.ratios));
        let model = self.common(group, &held);
        let one = |((&held, &on), &ratio): ((&f32, &f32), &f32)| {
            let share = model.share(held.into(), on.into());
            on * chain::of_share(share, ratio.into()) as f32
        };
        (held.iter().zip(&self.state.chain.on).zip(&ratios).map(one).collect(), by_clock)
    }
}

/// How a group is learnt.
fn manner(Kind { far, is_known, by_data, .. }: Kind, step_ms: f64) -> Manner {
    let third = 1.0 / 3.0;
    let wide = WIDTHS_MS.map(|width_ms| (width_ms + step_ms, third));
    let [core, late] = KERNEL_WIDTHS.map(|(width_ms, weight)| (width_ms + step_ms, weight));
    let narrow = [core, late, (1.0, 0.0)];
    Manner {
        releases: if far { wide } else { narrow },
        pauses: wide,
        learnt_pauses: match (by_data, far && is_known) {
            // A kernel releases where a program answers: nothing tells them apart there.
            (true, _) => 0.0,
            (_, true) => LEARNT_PAUSES.0,
            _ => LEARNT_PAUSES.1,
        },
    }
}
