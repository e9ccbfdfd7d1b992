//! Neighbouring frames of a capture that lie more than a day apart: someone set the clock, files were put one
//! behind the other, or nothing came for days. The capture does not tell which, and waits span it.
//!
//! The latest time is kept here too, and whether all frames are equally far apart: all look at the step from frame
//! to frame.

use crate::capture::times::DAY_NS;
use crate::track::thresholds::TIMES_FOR_A_CLOCK;

/// The first jumps are listed one by one.
const TOLD: usize = 3;

/// From a frame to the next; negative if that is earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockJump {
    /// The number of the frame before it in its capture, from 1.
    pub frame: u64,
    pub by_ns: i64,
}

/// The jumps of a capture, or of a part of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClockJumps {
    /// The first ones.
    pub told: Vec<ClockJump>,
    pub count: u64,
    /// Time of the last frame, and the latest one from which time went back or jumped.
    now_ns: i64,
    left_ns: i64,
    /// From each frame to the next, while that is the same for all.
    gap_ns: Option<i64>,
    is_uneven: bool,
}

impl ClockJumps {
    /// Takes the stamp of the frame that `frames_before` others precede.
    #[inline]
    pub fn see(&mut self, time_ns: i64, frames_before: u64) {
        let by_ns = time_ns - self.now_ns;
        if !(0..=DAY_NS).contains(&by_ns) {
            self.leave(ClockJump { frame: frames_before, by_ns });
        }
        if !self.is_uneven && frames_before > 0 {
            self.compare(by_ns);
        }
        self.now_ns = time_ns;
    }

    #[inline(never)]
    fn compare(&mut self, gap_ns: i64) {
        self.is_uneven = *self.gap_ns.get_or_insert(gap_ns) != gap_ns;
        if self.is_uneven {
            self.gap_ns = None;
        }
    }

    /// Are all of these `frames` equally far apart, backwards or forwards? No clock stamped them: a script or a
    /// converter did.
    pub fn are_made_up(&self, frames: u64) -> bool {
        frames >= TIMES_FOR_A_CLOCK.into() && self.gap_ns.is_some_and(|gap_ns| gap_ns != 0)
    }

    /// The latest time of all; 0 before the first frame.
    pub fn latest_ns(&self) -> i64 {
        self.left_ns.max(self.now_ns)
    }

    /// Time goes back, or jumps; unless it only comes to the first frame.
    #[cold]
    fn leave(&mut self, jump: ClockJump) {
        self.left_ns = self.latest_ns();
        if jump.frame > 0 && jump.by_ns.abs() > DAY_NS {
            self.add(jump);
        }
    }

    fn add(&mut self, jump: ClockJump) {
        self.count += 1;
        if self.told.len() < TOLD {
            self.told.push(jump);
        }
    }

    /// Adds the part of the capture that follows `frames_before` frames: it is not empty, and begins at `first_ns`.
    pub fn follow(&mut self, more: &Self, first_ns: i64, frames_before: u64) {
        self.see(first_ns, frames_before);
        let beyond = more.count - more.told.len() as u64;
        for jump in &more.told {
            self.add(ClockJump { frame: jump.frame + frames_before, ..*jump });
        }
        self.count += beyond;
        self.left_ns = self.left_ns.max(more.left_ns);
        self.now_ns = more.now_ns;
        match more.gap_ns {
            _ if self.is_uneven => {}
            Some(gap_ns) => self.compare(gap_ns),
            None if more.is_uneven => (self.is_uneven, self.gap_ns) = (true, None),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(times_ns: &[i64]) -> ClockJumps {
        let mut jumps = ClockJumps::default();
        (0..).zip(times_ns).for_each(|(at, &time_ns)| jumps.see(time_ns, at));
        jumps
    }

    #[test]
    fn only_neighbours_more_than_a_day_apart_count() {
        let times_ns = [5, 5 + DAY_NS, 0, 7, 9 + 2 * DAY_NS, 9];
        let jumps = seen(&times_ns);
        let told: Vec<_> = jumps.told.iter().map(|jump| (jump.frame, jump.by_ns)).collect();
        assert_eq!(told, [(2, -5 - DAY_NS), (4, 2 + 2 * DAY_NS), (5, -2 * DAY_NS)]);
        assert_eq!(seen(&[]), ClockJumps::default());
    }

    #[test]
    fn the_latest_time_need_not_be_that_of_the_last_frame() {
        for (times_ns, latest_ns) in
            [(&[][..], 0), (&[3], 3), (&[3, 9, 7, 8], 9), (&[9, 3, 4, 10], 10), (&[7, 9, 8, 2], 9)]
        {
            assert_eq!(seen(times_ns).latest_ns(), latest_ns, "{times_ns:?}");
        }
    }

    #[test]
    fn times_that_no_clock_made_are_equally_far_apart() {
        let are_made_up = |times_ns: &[i64]| seen(times_ns).are_made_up(times_ns.len() as u64);
        let every =
            |gap_ns: i64, frames: i64| (1..=frames).map(|at| at * gap_ns).collect::<Vec<_>>();
        assert!(
            [1_000, -10_000].map(|gap_ns| are_made_up(&every(gap_ns, 16))).iter().all(|&it| it)
        );
        assert!(!are_made_up(&every(1_000, 15)));
        // A clock that stands still is a coarse one.
        assert!(!are_made_up(&every(0, 16)));
        assert!(!are_made_up(&[every(1_000, 16), vec![17_001]].concat()));
    }

    #[test]
    fn parts_tell_what_the_whole_tells() {
        parts_tell_all(&(0..40).map(|at| at * 1_000).collect::<Vec<i64>>());
        let times_ns: Vec<i64> = (0..40).map(|at| at * at % 11 * DAY_NS).collect();
        assert!(seen(&times_ns).count > TOLD as u64);
        parts_tell_all(&times_ns);
    }

    fn parts_tell_all(times_ns: &[i64]) {
        let whole = seen(times_ns);
        for cut in 1..times_ns.len() {
            let (first, second) = times_ns.split_at(cut);
            let mut jumps = ClockJumps::default();
            jumps.follow(&seen(first), first[0], 0);
            jumps.follow(&seen(second), second[0], cut as u64);
            assert_eq!(jumps, whole, "{cut}");
        }
    }
}
