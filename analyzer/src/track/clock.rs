//! The clocks that stamped the frames, and how coarse they are as far as the timestamps tell.

use crate::track::clock_step::{ClockStep, FINE_NS};
use crate::track::reader::capture_summary::CaptureSummary;
use crate::track::wait::Wait;

/// The clock of each capture: the number of its first frame, and the step in ns.
#[derive(Debug, Clone, Default)]
pub struct Clocks {
    captures: Vec<(u64, i64)>,
}

impl Clocks {
    /// Of `captures` in the order of their frames. A capture with few frames does not show its clock:
    /// it gets the step that all captures share, if together they have enough frames.
    pub fn of(captures: &[CaptureSummary]) -> Self {
        let packets: u64 = captures.iter().map(|capture| capture.packets).sum();
        let clocks = captures.iter().map(|capture| capture.clock);
        let common = clocks.fold(ClockStep::UNKNOWN, ClockStep::and);
        let common_ns = common.shown_ns(packets).unwrap_or(FINE_NS);
        let clock = |capture: &CaptureSummary| {
            (capture.first_frame, capture.clock.shown_ns(capture.packets).unwrap_or(common_ns))
        };
        Self { captures: captures.iter().map(clock).collect() }
    }

    /// Step in ns of the coarsest clock.
    pub fn coarsest_ns(&self) -> i64 {
        self.captures.iter().map(|&(_, step_ns)| step_ns).max().unwrap_or(FINE_NS)
    }

    /// Are some finer than others?
    pub fn differ(&self) -> bool {
        self.captures.windows(2).any(|pair| pair[0].1 != pair[1].1)
    }

    /// Step in ns of the finest clock among the captures that these `waits` span; among all where there
    /// are none.
    pub fn behind_ns(&self, waits: &[Wait]) -> i64 {
        let first = waits.iter().map(|wait| wait.from.frame).min();
        let last = waits.iter().map(|wait| wait.to.frame).max();
        let (Some(first), Some(last)) = (first, last) else {
            return self.captures.iter().map(|&(_, step_ns)| step_ns).min().unwrap_or(FINE_NS);
        };
        let next_to = |frame| self.captures.partition_point(|&(begin, _)| begin <= frame);
        let behind = &self.captures[next_to(first).saturating_sub(1)..next_to(last)];
        behind.iter().map(|&(_, step_ns)| step_ns).min().unwrap_or(FINE_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::{Mark, Side};

    fn waits(frames: &[(u64, u64)]) -> Vec<Wait> {
        let mark = |frame| Mark { time_ns: 0, frame };
        let wait =
            |&(from, to)| Wait { from: mark(from), to: mark(to), ..Wait::unknown(0, Side::Client) };
        frames.iter().map(wait).collect()
    }

    #[test]
    fn the_finest_clock_behind_a_connection_counts() {
        let clocks = Clocks { captures: vec![(1, 1_000), (100, 10_000_000), (200, 100_000)] };
        let behind_ns = |frames| clocks.behind_ns(&waits(frames));
        assert_eq!(behind_ns(&[(1, 9), (20, 99)]), 1_000);
        assert_eq!(behind_ns(&[(100, 101)]), 10_000_000);
        assert_eq!(behind_ns(&[(200, 300)]), 100_000);
        assert_eq!(behind_ns(&[(1, 9), (20, 300)]), 1_000);
        assert_eq!(behind_ns(&[(210, 250), (150, 300)]), 100_000);
        assert_eq!((clocks.coarsest_ns(), behind_ns(&[])), (10_000_000, FINE_NS));
        assert!(clocks.differ());
        assert_eq!(Clocks::default().behind_ns(&waits(&[(1, 2)])), FINE_NS);
    }
}
