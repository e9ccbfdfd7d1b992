//! Neighbouring frames of a capture that lie more than a day apart: someone set the clock, files were put one
//! behind the other, or nothing came for days. The capture does not tell which, and waits span it.
//!
//! The latest time is kept here too: both look at the step from frame to frame.

use crate::capture::times::DAY_NS;

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
}

impl ClockJumps {
    /// The next frame, which so many came before, was stamped `time_ns`.
    #[inline]
    pub fn see(&mut self, time_ns: i64, frames_before: u64) {
        let by_ns = time_ns - self.now_ns;
        if !(0..=DAY_NS).contains(&by_ns) {
            self.leave(ClockJump { frame: frames_before, by_ns });
        }
        self.now_ns = time_ns;
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

    /// Another part follows, which is not empty and begins at `first_ns`, after so many frames.
    pub fn follow(&mut self, more: &Self, first_ns: i64, frames_before: u64) {
        self.see(first_ns, frames_before);
        let beyond = more.count - more.told.len() as u64;
        for jump in &more.told {
            self.add(ClockJump { frame: jump.frame + frames_before, ..*jump });
        }
        self.count += beyond;
        self.left_ns = self.left_ns.max(more.left_ns);
        self.now_ns = more.now_ns;
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
    fn parts_tell_what_the_whole_tells() {
        let times_ns: Vec<i64> = (0..40).map(|at| at * at % 11 * DAY_NS).collect();
        let whole = seen(&times_ns);
        assert!(whole.count > TOLD as u64);
        for cut in 1..times_ns.len() {
            let (first, second) = times_ns.split_at(cut);
            let mut jumps = ClockJumps::default();
            jumps.follow(&seen(first), first[0], 0);
            jumps.follow(&seen(second), second[0], cut as u64);
            assert_eq!(jumps, whole, "{cut}");
        }
    }
}
