//! How coarse a clock is: the largest step in which all its times lie.

use crate::track::thresholds::TIMES_FOR_A_CLOCK;

/// Clocks as fine as this need no allowance.
pub const FINE_NS: i64 = 1_000;

/// Clocks that tick more slowly are not looked for: captures with steps of 10 ms exist.
const COARSEST_NS: i64 = 100_000_000;

/// The ticks of 1, 4 and 10 ms (Linux: `CONFIG_HZ` of 1000, 250 and 100) and of 15.625 ms (Windows: 64 in a
/// second) all fit into a second.
const FIT_NS: i64 = 1_000_000_000;

/// The step that the times so far have in common, counted from the first one: a clock's ticks need not be
/// whole since the epoch.
#[derive(Debug, Clone, Copy)]
pub struct ClockStep {
    first_ns: Option<i64>,
    step_ns: i64,
}

impl ClockStep {
    /// No time was seen.
    pub const UNKNOWN: Self = Self { first_ns: None, step_ns: FIT_NS };

    /// So coarse is the clock, in ns.
    pub fn step_ns(&self) -> i64 {
        self.step_ns.clamp(FINE_NS, COARSEST_NS)
    }

    /// The same, if so many `times` are enough to show it. Few are where the clock stands still, or tells
    /// whole seconds only.
    pub fn shown_ns(&self, times: u64) -> Option<i64> {
        let stands = self.step_ns == FIT_NS && times > 1;
        (stands || times >= TIMES_FOR_A_CLOCK.into()).then(|| self.step_ns())
    }

    /// The same of picked `times`, which may be those of one moment. The coarser the clock, the less
    /// likely they have its step in common by chance.
    pub fn shown_by(&self, times: u32) -> Option<i64> {
        let digits = (self.step_ns() / FINE_NS).ilog10();
        (times.saturating_sub(1) * digits >= TIMES_FOR_A_CLOCK - 1).then(|| self.step_ns())
    }

    #[inline]
    pub fn is_fine(&self) -> bool {
        self.step_ns <= FINE_NS
    }

    /// A frame was stamped `time_ns`.
    #[inline]
    pub fn see(&mut self, time_ns: i64) {
        if !self.is_fine() {
            self.narrow(time_ns);
        }
    }

    /// The step that the times of both have in common.
    pub fn and(mut self, other: Self) -> Self {
        self.divide(other.step_ns);
        other.first_ns.into_iter().for_each(|first_ns| self.see(first_ns));
        self
    }

    fn narrow(&mut self, time_ns: i64) {
        let first_ns = *self.first_ns.get_or_insert(time_ns);
        self.divide((time_ns - first_ns).abs());
    }

    /// The greatest common divisor, by Euclid.
    fn divide(&mut self, mut rest_ns: i64) {
        while rest_ns > 0 {
            (self.step_ns, rest_ns) = (rest_ns, self.step_ns % rest_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step_ns(times_ns: impl Iterator<Item = i64>) -> i64 {
        let mut step = ClockStep::UNKNOWN;
        times_ns.for_each(|time_ns| step.see(time_ns));
        step.step_ns()
    }

    /// Frames of a clock that ticks so often, from some moment on.
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
        assert_eq!(step_ns(off), FINE_NS);
    }

    /// Of files with a frame each no one shows its clock.
    #[test]
    fn several_captures_show_the_step_that_they_have_in_common() {
        let alone = ticks(4_000_000).map(|time_ns| {
            let mut one = ClockStep::UNKNOWN;
            one.see(time_ns);
            one
        });
        assert_eq!(alone.fold(ClockStep::UNKNOWN, ClockStep::and).step_ns(), 4_000_000);
    }

    #[test]
    fn two_frames_show_a_clock_that_stands_still() {
        let mut step = ClockStep::UNKNOWN;
        step.see(0);
        assert_eq!(step.shown_ns(1), None);
        step.see(0);
        assert_eq!(step.shown_ns(2), Some(COARSEST_NS));
        step.see(7);
        assert_eq!(step.shown_ns(3), None);
    }

    #[test]
    fn where_times_are_round_the_clock_is_no_coarser_than_is_looked_for() {
        assert_eq!(step_ns([0, 3, 7, 9].map(|s| s * 1_000_000_000).into_iter()), COARSEST_NS);
        assert_eq!(step_ns([5].into_iter()), COARSEST_NS);
    }
}
