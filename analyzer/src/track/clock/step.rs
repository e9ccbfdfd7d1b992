//! How coarse a clock is: the largest step in which all its times lie; of one that ticks unevenly,
//! the shortest distance of times that differ.

use crate::track::thresholds::{
    ALIKE_ONE_OF, COARSEST_CLOCK_NS, FINE_CLOCK_NS, ROUND_NS, TIMES_ALIKE, TIMES_FOR_A_CLOCK,
    UNEVEN_CLOCK_NS,
};

/// The ticks of 1, 4 and 10 ms (Linux: `CONFIG_HZ` of 1000, 250 and 100) and of 15.625 ms (Windows: 64 in a
/// second) all fit into a second.
const FIT_NS: i64 = 1_000_000_000;

/// The step that the times so far have in common, counted from the first one: a clock's ticks need not be
/// whole since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockStep {
    pub first_ns: Option<i64>,
    step_ns: i64,
    segments: Distances,
}

/// Distances of successive TCP segments, which every excerpt of a capture keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Distances {
    first_ns: Option<i64>,
    last_ns: i64,
    /// The shortest of times that differ.
    shortest_ns: i64,
    /// How often a time was that of the segment before, and how often not.
    alike: u32,
    apart: u32,
}

impl Distances {
    const UNKNOWN: Self =
        Self { first_ns: None, last_ns: 0, shortest_ns: i64::MAX, alike: 0, apart: 0 };

    /// A fine clock: nothing more is looked for, nor kept that depends on how its times were split.
    const SHORT: Self = Self { shortest_ns: 0, ..Self::UNKNOWN };

    #[inline]
    fn are_short(&self) -> bool {
        self.shortest_ns < UNEVEN_CLOCK_NS
    }

    /// The shortest of them, if a clock ticks unevenly.
    fn uneven_ns(&self) -> Option<i64> {
        (self.alike >= TIMES_ALIKE && !self.are_short() && self.shortest_ns < i64::MAX)
            .then_some(self.shortest_ns)
    }

    fn see(&mut self, time_ns: i64) {
        if self.first_ns.is_some() {
            match time_ns.abs_diff(self.last_ns).cast_signed() {
                0 => self.alike = self.alike.saturating_add(1),
                distance_ns => {
                    self.shortest_ns = self.shortest_ns.min(distance_ns);
                    self.apart = self.apart.saturating_add(1);
                }
            }
        }
        self.first_ns.get_or_insert(time_ns);
        self.last_ns = time_ns;
        self.settle();
    }

    fn settle(&mut self) {
        if self.are_short() {
            *self = Self::SHORT;
        }
    }

    /// The distances of both, `next` coming after its own.
    fn and(mut self, next: Self) -> Self {
        if let Some(first_ns) = next.first_ns {
            self.see(first_ns);
            self.last_ns = next.last_ns;
        }
        self.shortest_ns = self.shortest_ns.min(next.shortest_ns);
        self.alike = self.alike.saturating_add(next.alike);
        self.apart = self.apart.saturating_add(next.apart);
        self.settle();
        self
    }
}

/// No time was seen.
impl Default for ClockStep {
    fn default() -> Self {
        Self { first_ns: None, step_ns: FIT_NS, segments: Distances::UNKNOWN }
    }
}

impl ClockStep {
    /// How coarse the clock is, in ns.
    pub fn step_ns(&self) -> i64 {
        let step_ns = self.uneven_ns().unwrap_or(self.step_ns);
        step_ns.clamp(FINE_CLOCK_NS, COARSEST_CLOCK_NS)
    }

    fn uneven_ns(&self) -> Option<i64> {
        self.segments.uneven_ns().filter(|_| self.step_ns < UNEVEN_CLOCK_NS)
    }

    /// The step, if this number of `times` is enough to show it: two are where the clock stands
    /// still, or tells whole seconds only.
    pub fn shown_ns(&self, times: u32) -> Option<i64> {
        let stands = self.step_ns == FIT_NS && times > 1;
        let is_shown = stands || self.uneven_ns().is_some() || times >= TIMES_FOR_A_CLOCK;
        is_shown.then(|| self.step_ns())
    }

    /// Is each time a round one, and hardly any that of the segment before? A clock that ticks as seldom gives
    /// neighbours the same time, and begins to tick at any: a script or a simulator made these up.
    pub fn is_made_up(&self) -> bool {
        let Distances { alike, apart, .. } = self.segments;
        let is_round = |ns: i64| ns % ROUND_NS == 0;
        apart >= TIMES_FOR_A_CLOCK
            && alike <= apart / ALIKE_ONE_OF
            && is_round(self.step_ns)
            && self.first_ns.is_some_and(is_round)
    }

    /// The step that picked `times` show, which may be those of one moment. The coarser the clock, the less
    /// likely they have its step in common by chance.
    pub fn shown_by(&self, times: u32) -> Option<i64> {
        let digits = (self.step_ns() / FINE_CLOCK_NS).ilog10();
        (times.saturating_sub(1) * digits >= TIMES_FOR_A_CLOCK - 1).then(|| self.step_ns())
    }

    /// A frame was stamped `time_ns`.
    #[inline]
    pub fn see(&mut self, time_ns: i64) {
        if self.step_ns > FINE_CLOCK_NS {
            self.narrow(time_ns);
        }
    }

    /// The next TCP segment was stamped `time_ns`.
    #[inline]
    pub fn see_segment(&mut self, time_ns: i64) {
        if !self.segments.are_short() {
            self.segments.see(time_ns);
        }
    }

    /// The step that the times of both have in common, those of `next` coming after its own.
    pub fn and(mut self, next: Self) -> Self {
        self.divide(next.step_ns);
        next.first_ns.into_iter().for_each(|first_ns| self.narrow(first_ns));
        self.segments = self.segments.and(next.segments);
        self
    }

    fn narrow(&mut self, time_ns: i64) {
        let first_ns = *self.first_ns.get_or_insert(time_ns);
        self.divide((time_ns - first_ns).abs());
    }

    /// The greatest common divisor, by Euclid; of a fine clock nothing smaller than [`FINE_CLOCK_NS`].
    fn divide(&mut self, mut rest_ns: i64) {
        while rest_ns > 0 && self.step_ns > FINE_CLOCK_NS {
            (self.step_ns, rest_ns) = (rest_ns, self.step_ns % rest_ns);
        }
        self.step_ns = self.step_ns.max(FINE_CLOCK_NS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step_ns(times_ns: impl Iterator<Item = i64>) -> i64 {
        let mut step = ClockStep::default();
        times_ns.for_each(|time_ns| {
            step.see(time_ns);
            step.see_segment(time_ns);
        });
        step.step_ns()
    }

    /// Frames of a clock that ticks every `tick_ns`, from some moment on.
    fn ticks(tick_ns: i64) -> impl Iterator<Item = i64> {
        (0..20).map(move |at| 1_700_000_000_000_123_000 + at * at * 37 % 101 * tick_ns)
    }

    #[test]
    fn steps_of_every_usual_clock_are_found() {
        for tick_ns in [1_000_000, 4_000_000, 10_000_000, 15_625_000] {
            assert_eq!(step_ns(ticks(tick_ns)), tick_ns);
        }
    }

    #[test]
    fn one_time_off_the_ticks_tells_a_fine_clock() {
        let off = ticks(4_000_000).chain([1_700_000_000_000_124_777]);
        assert_eq!(step_ns(off), FINE_CLOCK_NS);
    }

    /// Each tick is some microseconds early or late, as of a switch that stamps frames once in a millisecond:
    /// what looks like a pause of a millisecond behind an ACK may be none.
    #[test]
    fn a_clock_that_ticks_unevenly_is_as_coarse_as_its_shortest_step() {
        let uneven = |frames: i64| {
            (0..20).map(move |at| at / frames * 1_000_000 + at / frames * 7_919 % 17_000)
        };
        assert_eq!(step_ns(uneven(2)) / 100_000, 9);
        // Even ticks, few of which are told: the step is theirs.
        assert_eq!(step_ns((0..20).map(|at| at / 2 * at / 2 * 4_000_000)), 4_000_000);
        // No time is that of the frame before: these may be a program's pauses.
        assert_eq!(step_ns(uneven(1)), FINE_CLOCK_NS);
        assert_eq!(step_ns(uneven(2).chain([9_040_000])), FINE_CLOCK_NS);
    }

    /// A simulator writes each frame at a round time of its own. A clock that ticks every 10 ms gives an answer the
    /// time of its request.
    #[test]
    fn round_times_of_their_own_are_made_up() {
        let is_made_up = |first_ns: i64, each: fn(i64) -> i64| {
            let mut step = ClockStep::default();
            (0..40).map(|at| first_ns + each(at) * ROUND_NS).for_each(|time_ns| {
                step.see(time_ns);
                step.see_segment(time_ns);
            });
            step.is_made_up()
        };
        assert!(is_made_up(0, |at| at * at));
        assert!(!is_made_up(0, |at| at / 2));
        assert!(!is_made_up(123_000, |at| at * at));
        assert!(!is_made_up(0, |at| at.min(12)));
    }

    /// A file with one frame does not show its clock.
    #[test]
    fn several_captures_show_the_step_that_they_have_in_common() {
        let alone = ticks(4_000_000).map(|time_ns| {
            let mut one = ClockStep::default();
            one.see(time_ns);
            one
        });
        assert_eq!(alone.fold(ClockStep::default(), ClockStep::and).step_ns(), 4_000_000);
    }

    #[test]
    fn two_frames_show_a_clock_that_stands_still() {
        let mut step = ClockStep::default();
        step.see(0);
        assert_eq!(step.shown_ns(1), None);
        step.see(0);
        assert_eq!(step.shown_ns(2), Some(COARSEST_CLOCK_NS));
        step.see(7);
        assert_eq!(step.shown_ns(3), None);
    }

    #[test]
    fn where_times_are_round_the_clock_is_no_coarser_than_is_looked_for() {
        assert_eq!(step_ns([0, 3, 7, 9].map(|s| s * 1_000_000_000).into_iter()), COARSEST_CLOCK_NS);
        assert_eq!(step_ns([5].into_iter()), COARSEST_CLOCK_NS);
    }
}
