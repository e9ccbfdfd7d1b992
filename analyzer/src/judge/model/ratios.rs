//! Likelihood ratios of waits: held until the ACK, or written then. What a sender did elsewhere tells both.

use crate::judge::model::learnt::{Learnt, Widths};
use crate::judge::thresholds::{
    BOUND, HALF_LEARNT, LEARNT_HOLDS, OTHER_PAUSES, OWN_KIND, TAUGHT, WINDOW,
};
use crate::rules;
use std::ops::Range;

/// A wait as its ratio sees it. Times in ms, densities per ms.
#[derive(Debug, Clone, Copy)]
#[repr(C, packed(4))]
pub struct Event {
    pub time_ns: i64,
    /// From the ACK to the release, less the round trip where that is a yardstick; NaN where it is not known.
    pub release_ms: f32,
    pub pause_ms: f32,
    /// Densities of that release and of that pause, before anything is learnt.
    pub hold: f32,
    pub program: f32,
    /// How possible a hold is here, whatever others show.
    pub allowed: f32,
    /// The ratio at most.
    pub most: f32,
    /// How much it tells of the program's pauses, as far as it is one: see [`Event::taught`].
    pub taught: f32,
}

impl Event {
    /// How much a wait with these densities tells of the program's pauses. Where a hold would end it tells
    /// less, however many recur there: that both places are the same is a coincidence that is paid for once.
    pub fn taught(hold: f64, program: f64) -> f32 {
        let odds = TAUGHT * program / hold.max(1e-12);
        if rules::off("taught") { 1.0 } else { odds.min(1.0).sqrt() as f32 }
    }

    /// How much it tells of them, so far as it was `held`.
    fn paused(&self, held: f64) -> f64 {
        f64::from(self.taught) * (1.0 - held)
    }

    fn is_known(&self) -> bool {
        !self.release_ms.is_nan()
    }
}

/// How a kind of waits is learnt.
#[derive(Debug, Clone, Copy)]
pub struct Manner {
    pub releases: Widths,
    pub pauses: Widths,
    /// The weight of what earlier pauses show, once there are many.
    pub learnt_pauses: f64,
}

/// Waits that learn from each other.
pub struct Series {
    /// In the order of time, and so are the pauses of other kinds.
    pub events: Vec<Event>,
    pub others: Vec<OtherPause>,
    pub manner: Manner,
}

/// A pause that nothing can have held: when it ended, and how long it was.
pub type OtherPause = (i64, f64);

/// The densities that events of a window have shown so far. Made once per thread: its memory is used again.
#[derive(Debug, Default)]
pub struct Learning {
    releases: Learnt,
    pauses: Learnt,
    others: Learnt,
    learnt_pauses: f64,
}

/// Both densities of a wait.
#[derive(Debug, Clone, Copy)]
pub struct Densities {
    pub hold: f64,
    pub program: f64,
}

impl Densities {
    /// Up to `most`.
    pub fn ratio(self, most: f32) -> f64 {
        (self.hold / self.program.max(1e-12)).clamp(1.0 / BOUND, most.into())
    }
}

impl Series {
    /// Ranges of events that are learnt together.
    pub fn windows(&self) -> impl Iterator<Item = Range<usize>> {
        let count = self.events.len();
        (0..count).step_by(WINDOW.0).map(move |begin| begin..count.min(begin + WINDOW.0))
    }

    /// Ratios of a window, each from what came before it alone: their product is a Bayes factor,
    /// and a coincidence of places is paid for once.
    pub fn ratios_from_past(&self, learning: &mut Learning, window: Range<usize>) -> Vec<f32> {
        learning.clear(self.manner);
        let all = &self.events[window.start.saturating_sub(WINDOW.1)..window.end];
        let skipped = window.start.min(WINDOW.1);
        let mut others = self.others_near(all).peekable();
        let mut ratios = Vec::with_capacity(window.len());
        let mut learnt = 0;
        for (at, event) in all.iter().enumerate() {
            while let Some(&(_, pause_ms)) = others.next_if(|other| other.0 < event.time_ns) {
                learning.others.add(pause_ms, 1.0);
            }
            // Events of the same instant teach nothing about each other.
            while all[learnt].time_ns < event.time_ns {
                learning.learn(&all[learnt], 1.0, 1.0);
                learnt += 1;
            }
            if at >= skipped {
                ratios.push(learning.densities(event, None).ratio(event.most) as f32);
            }
        }
        ratios
    }

    /// Ratios of a window, given how likely each of all the others was `held`, by now.
    pub fn ratios_from_all(
        &self,
        held: &[f32],
        learning: &mut Learning,
        window: Range<usize>,
    ) -> Vec<f32> {
        self.learn_all(held, learning, window.clone());
        let both = self.events[window.clone()].iter().zip(&held[window]);
        let ratio = |(event, &held): (&Event, &f32)| {
            learning.densities(event, Some(held.into())).ratio(event.most) as f32
        };
        both.map(ratio).collect()
    }

    /// The ratios of all events, window by window.
    pub fn by_windows(
        &self,
        ratios: impl Fn(&Self, &mut Learning, Range<usize>) -> Vec<f32>,
    ) -> Vec<f32> {
        let mut learning = Learning::default();
        self.windows().flat_map(|window| ratios(self, &mut learning, window)).collect()
    }

    /// The densities of one event, given what each of all the others is.
    pub fn densities(&self, held: &[f32], at: usize) -> Densities {
        let mut learning = Learning::default();
        let window = self.windows().find(|window| window.contains(&at)).unwrap_or(0..0);
        self.learn_all(held, &mut learning, window);
        learning.densities(&self.events[at], Some(held[at].into()))
    }

    fn learn_all(&self, held: &[f32], learning: &mut Learning, window: Range<usize>) {
        learning.clear(self.manner);
        let all = window.start.saturating_sub(WINDOW.1)..window.end;
        let each = || self.events[all.clone()].iter().zip(&held[all.clone()]);
        for (event, &held) in each() {
            learning.learn(event, held.into(), event.paused(held.into()));
        }
        let known = each().filter(|(event, _)| event.is_known());
        let releases = known.map(|(event, &held)| (event.release_ms.into(), held.into()));
        learning.releases.weigh_widths(releases);
        let others = self.others_near(&self.events[all.clone()]);
        others.for_each(|&(_, pause_ms)| learning.others.add(pause_ms, 1.0));
    }

    /// Other pauses near these events in time, thinned out where they are many.
    fn others_near(&self, events: &[Event]) -> impl Iterator<Item = &OtherPause> {
        let time_ns = |event: Option<&Event>| event.map_or(0, |event| event.time_ns);
        let begin = self.others.partition_point(|other| other.0 < time_ns(events.first()));
        let end = self.others.partition_point(|other| other.0 <= time_ns(events.last()));
        let spare = OTHER_PAUSES.saturating_sub(end.saturating_sub(begin)) / 2;
        let near = &self.others[begin.saturating_sub(spare)..self.others.len().min(end + spare)];
        near.iter().step_by(near.len().div_ceil(OTHER_PAUSES).max(1))
    }
}

impl Learning {
    fn clear(&mut self, manner: Manner) {
        self.releases.clear(manner.releases);
        self.pauses.clear(manner.pauses);
        self.others.clear(manner.pauses);
        self.learnt_pauses = manner.learnt_pauses;
    }

    fn learn(&mut self, event: &Event, held: f64, paused: f64) {
        if event.is_known() {
            self.releases.add(event.release_ms.into(), held);
            self.pauses.add(event.pause_ms.into(), paused);
        }
    }

    /// If it was learnt from, without itself: as much of it as was held, and the rest.
    fn densities(&self, event: &Event, learnt: Option<f64>) -> Densities {
        if !event.is_known() {
            return Densities { hold: 1.0, program: 1.0 };
        }
        let (own_hold, own_pause) = learnt.map_or((0.0, 0.0), |held| (held, event.paused(held)));
        let (release_ms, pause_ms) = (event.release_ms.into(), event.pause_ms.into());
        let (hold, hold_mass) = without(&self.releases, release_ms, own_hold);
        let (own_kind, own_mass) = without(&self.pauses, pause_ms, own_pause);
        let mass = own_mass + self.others.mass;
        let both = (own_kind + self.others.at(pause_ms)) / mass.max(1e-9);
        // From the past: pauses of other kinds do not thin out those of this one.
        let least = match learnt {
            None => rules::weight("own_kind", OWN_KIND) * own_kind / own_mass.max(1e-9),
            Some(_) => 0.0,
        };
        let learnt_holds = LEARNT_HOLDS * hold_mass / (hold_mass + HALF_LEARNT);
        let learnt_pauses = self.learnt_pauses * mass / (mass + HALF_LEARNT + 1.0);
        let learnt = hold / hold_mass.max(1e-9) * f64::from(event.allowed);
        Densities {
            hold: (1.0 - learnt_holds) * f64::from(event.hold) + learnt_holds * learnt,
            program: (1.0 - learnt_pauses) * f64::from(event.program)
                + learnt_pauses * both.max(least),
        }
    }
}

/// The density that was learnt at a place, and its mass, without an event of this weight there.
fn without(learnt: &Learnt, at_ms: f64, weight: f64) -> (f64, f64) {
    let own = if weight > 0.0 { weight * learnt.own(at_ms) } else { 0.0 };
    ((learnt.at(at_ms) - own).max(0.0), (learnt.mass - weight).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::model::density;

    const WIDTHS: Widths = [(0.1, 0.4), (0.8, 0.3), (4.0, 0.3)];

    /// Waits of so many ms, each with a release so long after its ACK.
    fn series(all: impl IntoIterator<Item = (f64, f64)>) -> Series {
        let event = |(at, (pause_ms, release_ms)): (i64, (f64, f64))| Event {
            taught: Event::taught(0.01, density::pause(pause_ms)),
            time_ns: at * 1_000_000_000,
            release_ms: release_ms as f32,
            pause_ms: pause_ms as f32,
            hold: 0.01,
            program: density::pause(pause_ms) as f32,
            allowed: 1.0,
            most: 1e3,
        };
        let manner = Manner { releases: WIDTHS, pauses: WIDTHS, learnt_pauses: 0.75 };
        Series { events: (0..).zip(all).map(event).collect(), others: Vec::new(), manner }
    }

    fn last_ratio(all: impl IntoIterator<Item = (f64, f64)>) -> f32 {
        *series(all).by_windows(Series::ratios_from_past).last().unwrap()
    }

    #[test]
    fn releases_that_recur_speak_for_a_hold_and_pauses_that_recur_against_one() {
        let spread = |at: u32| 40.0 + f64::from(at * 7 % 11) * 0.9;
        assert!(last_ratio((0..30).map(|at| (spread(at), 1.25))) > 5.0);
        assert!(last_ratio((0..30).map(|at| (40.0, spread(at)))) < 0.1);
        // Where both recur, neither does.
        assert!((0.2..5.0).contains(&last_ratio((0..30).map(|_| (40.0, 1.25)))));
    }

    /// One in each short connection, 27 ms away, each at its own round trip.
    #[test]
    fn holds_do_not_become_pauses_because_they_are_many() {
        let last = |count: u32| {
            let mut all = series((0..count).map(|_| (32.0, 0.4)));
            for event in &mut all.events {
                (event.hold, event.taught) = (0.33, Event::taught(0.33, event.program.into()));
            }
            let held = vec![0.95; all.events.len()];
            *all.by_windows(|all, learning, window| all.ratios_from_all(&held, learning, window))
                .last()
                .unwrap()
        };
        assert!(last(1) > 80.0 && last(20) > 10.0, "{}", last(20));
    }

    #[test]
    fn windows_leave_out_no_wait() {
        let many = series((0..1_300).map(|_| (40.0, 1.0)));
        assert!(many.windows().flatten().eq(0..1_300));
        assert_eq!(many.by_windows(Series::ratios_from_past).len(), 1_300);
    }
}
