//! The times of all frames of a capture. Neighbours more than a day apart are jumps: someone set
//! the clock, files were put one behind the other, or nothing came for days, and waits span it.

use crate::capture::times::DAY_NS;
use crate::track::clock::step::ClockStep;
use crate::track::thresholds::{QUEUES_NS, TIMES_FOR_A_CLOCK};

/// The first jumps are listed one by one.
const FIRST: usize = 3;

/// From a frame to the next; negative if that is earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockJump {
    /// The number of the frame before it in its capture, from 1.
    pub frame: u32,
    pub by_ns: i64,
}

/// The times of a capture's frames, or of a part of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stamps {
    /// The number of frames.
    pub frames: u32,
    pub step: ClockStep,
    pub first_jumps: Vec<ClockJump>,
    /// The number of all jumps.
    pub jumps: usize,
    /// Time of the last frame, and the latest one from which time went back or jumped.
    now_ns: i64,
    left_ns: i64,
    /// From each frame to the next, while that is the same for all; 0 where it is not.
    gap_ns: Option<i64>,
}

impl Stamps {
    /// Takes the time of the next frame.
    #[inline]
    pub fn see(&mut self, time_ns: i64) {
        self.follow(time_ns);
        self.step.see(time_ns);
        self.frames += 1;
    }

    #[inline]
    fn follow(&mut self, time_ns: i64) {
        let by_ns = time_ns - self.now_ns;
        if !(0..=DAY_NS).contains(&by_ns) {
            self.leave(ClockJump { frame: self.frames, by_ns });
        }
        if self.gap_ns != Some(0) && self.frames > 0 {
            self.compare(by_ns);
        }
        self.now_ns = time_ns;
    }

    /// Time goes back, or jumps; unless it only comes to the first frame.
    #[cold]
    fn leave(&mut self, jump: ClockJump) {
        self.left_ns = self.last_ns();
        if jump.frame > 0 && jump.by_ns.abs() > DAY_NS {
            self.jumps += 1;
            self.list(jump);
        }
    }

    fn list(&mut self, jump: ClockJump) {
        if self.first_jumps.len() < FIRST {
            self.first_jumps.push(jump);
        }
    }

    #[inline(never)]
    fn compare(&mut self, gap_ns: i64) {
        if *self.gap_ns.get_or_insert(gap_ns) != gap_ns {
            self.gap_ns = Some(0);
        }
    }

    /// Adds the frames that follow its own.
    pub fn add(&mut self, next: &Self) {
        if let Some(first_ns) = next.step.first_ns {
            self.follow(first_ns);
            self.left_ns = self.left_ns.max(next.left_ns);
            self.now_ns = next.now_ns;
        }
        for jump in &next.first_jumps {
            self.list(ClockJump { frame: jump.frame + self.frames, ..*jump });
        }
        self.jumps += next.jumps;
        next.gap_ns.into_iter().for_each(|gap_ns| self.compare(gap_ns));
        self.step = self.step.and(next.step);
        self.frames += next.frames;
    }

    /// Time of the first frame; 0 without one.
    pub fn first_ns(&self) -> i64 {
        self.step.first_ns.unwrap_or(0)
    }

    /// The latest time of all; 0 before the first frame.
    pub fn last_ns(&self) -> i64 {
        self.left_ns.max(self.now_ns)
    }

    /// Step of the clock in ns, if the times are enough to show it.
    pub fn step_ns(&self) -> Option<i64> {
        self.step.shown_ns(self.frames)
    }

    /// Are all frames equally far apart, backwards or forwards, or each at a round time of its own? No clock
    /// stamped them: a script or a converter did. One that stands still is a coarse one.
    pub fn are_made_up(&self) -> bool {
        let are_even = self.gap_ns.is_some_and(|gap_ns| gap_ns != 0);
        self.frames >= TIMES_FOR_A_CLOCK && (are_even || self.step.is_made_up())
    }

    /// Does a capture with the `next` times overlap with this one? Then they are two captures of
    /// their own and no rotated set.
    pub fn overlap(&self, next: &Self) -> bool {
        next.first_ns() < self.last_ns() - QUEUES_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(times_ns: &[i64]) -> Stamps {
        let mut stamps = Stamps::default();
        for &time_ns in times_ns {
            stamps.see(time_ns);
        }
        stamps
    }

    #[test]
    fn only_neighbours_more_than_a_day_apart_count() {
        let stamps = seen(&[5, 5 + DAY_NS, 0, 7, 9 + 2 * DAY_NS, 9]);
        let told: Vec<_> = stamps.first_jumps.iter().map(|jump| (jump.frame, jump.by_ns)).collect();
        assert_eq!(told, [(2, -5 - DAY_NS), (4, 2 + 2 * DAY_NS), (5, -2 * DAY_NS)]);
    }

    #[test]
    fn the_latest_time_need_not_be_that_of_the_last_frame() {
        for (times_ns, latest_ns) in
            [(&[][..], 0), (&[3], 3), (&[3, 9, 7, 8], 9), (&[9, 3, 4, 10], 10), (&[7, 9, 8, 2], 9)]
        {
            assert_eq!(seen(times_ns).last_ns(), latest_ns, "{times_ns:?}");
        }
    }

    #[test]
    fn times_that_no_clock_made_are_equally_far_apart() {
        let are_made_up = |times_ns: &[i64]| seen(times_ns).are_made_up();
        let every =
            |gap_ns: i64, frames: i64| (1..=frames).map(|at| at * gap_ns).collect::<Vec<_>>();
        assert!(
            [1_000, -10_000].map(|gap_ns| are_made_up(&every(gap_ns, 16))).iter().all(|&it| it)
        );
        assert!(!are_made_up(&every(1_000, 15)));
        assert!(!are_made_up(&every(0, 16)));
        assert!(!are_made_up(&[every(1_000, 16), vec![17_001]].concat()));
    }

    #[test]
    fn parts_tell_what_the_whole_tells() {
        parts_tell_all(&(0..40).map(|at| at * 1_000).collect::<Vec<i64>>());
        let times_ns: Vec<i64> = (0..40).map(|at| at * at % 11 * DAY_NS).collect();
        assert!(seen(&times_ns).jumps > FIRST);
        parts_tell_all(&times_ns);
    }

    fn parts_tell_all(times_ns: &[i64]) {
        let whole = seen(times_ns);
        for cut in 1..times_ns.len() {
            let (first, second) = times_ns.split_at(cut);
            let mut stamps = Stamps::default();
            stamps.add(&seen(first));
            stamps.add(&seen(second));
            assert_eq!(stamps, whole, "{cut}");
        }
    }
}
