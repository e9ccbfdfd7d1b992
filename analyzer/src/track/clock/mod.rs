//! The clock of each capture: how coarse it is, where it jumps, and whether any clock stamped the frames.
//!
//! The reader shows every frame to [`stamps`]: the step in which all times lie is what they have in common
//! ([`step`]), and from frame to frame time goes on by equal gaps, unevenly, or jumps. [`Clocks`] has the
//! step and the end of each capture, and gives one with few frames the step that all share. A connection
//! compares the gaps of its own segments, and once it is known the lengths of its waits, with what scripts
//! write ([`made_up`]); whether its segments are in order it counts itself (`connection::order`). The tracker
//! asks for the step while it reads, and for the end; the judge for both, behind the waits of a connection,
//! and whether anybody measured its times. Reports show how coarse the clocks are, and where they jump.

pub mod made_up;
pub mod stamps;
pub mod step;

use crate::track::clock::stamps::Stamps;
use crate::track::clock::step::ClockStep;
use crate::track::thresholds::{COARSEST_CLOCK_NS, FINE_CLOCK_NS, TICKING_CLOCK_NS};
use crate::track::wait::{End, Wait};

/// The clock of each capture.
#[derive(Debug, Clone, Default)]
pub struct Clocks {
    captures: Vec<Clock>,
    /// No clock stamped any of their frames. Files that follow one another are as one.
    pub is_made_up: bool,
    /// A text shows that rows of it were left out.
    pub is_elided: bool,
}

#[derive(Debug, Clone, Copy)]
struct Clock {
    frames_before: u32,
    step_ns: i64,
    /// Time of the last frame of the last capture that goes on with its connections.
    until_ns: i64,
}

impl Clocks {
    /// The clocks of captures with these `stamps`, in the order of their frames. One of few frames
    /// does not show its clock: it gets the step that all share, if together they have enough.
    pub fn of(stamps: &[&Stamps], is_elided: bool) -> Self {
        let mut all = Stamps::default();
        for next in stamps {
            all.add(next);
        }
        let common_ns = all.step_ns().unwrap_or(FINE_CLOCK_NS);
        let mut frames_before = all.frames;
        let mut captures: Vec<Clock> = Vec::new();
        for (at, own) in stamps.iter().enumerate().rev() {
            let continued =
                stamps.get(at + 1).is_some_and(|next| next.frames == 0 || !own.overlap(next));
            let next_ns =
                captures.last().filter(|_| continued).map_or(i64::MIN, |next| next.until_ns);
            let until_ns = own.last_ns().max(next_ns);
            frames_before -= own.frames;
            let step_ns = own.step_ns().unwrap_or(common_ns);
            captures.push(Clock { frames_before, step_ns, until_ns });
        }
        captures.reverse();
        Self { captures, is_made_up: all.are_made_up(), is_elided }
    }

    /// Step in ns of the coarsest clock.
    pub fn coarsest_ns(&self) -> i64 {
        self.captures.iter().map(|clock| clock.step_ns).max().unwrap_or(FINE_CLOCK_NS)
    }

    /// Are some finer than others?
    pub fn differ(&self) -> bool {
        self.captures.windows(2).any(|pair| pair[0].step_ns != pair[1].step_ns)
    }

    /// Step in ns of the coarsest clock behind these `waits` of a connection; of all where there are none.
    pub fn behind_ns(&self, waits: &[Wait]) -> i64 {
        let captures = waits.iter().filter_map(|wait| self.behind(wait));
        match captures.map(|clock| clock.step_ns).max() {
            None => self.coarsest_ns(),
            Some(FINE_CLOCK_NS) => own_ns(waits),
            Some(step_ns) => step_ns,
        }
    }

    /// Did no clock that ticks stamp these `waits`, so that no two are as long by accident? Such
    /// clocks do so in milliseconds.
    pub fn are_free(&self, waits: &[Wait]) -> bool {
        let last = waits.last().and_then(|wait| self.behind(wait));
        last.is_some_and(|clock| !(TICKING_CLOCK_NS..COARSEST_CLOCK_NS).contains(&clock.step_ns))
    }

    /// When the capture ends that has this frame: the last of files that follow one another.
    pub fn end_ns(&self, frame: u32) -> i64 {
        self.stamped(frame).map_or(i64::MAX, |clock| clock.until_ns)
    }

    /// Until when the connections would have been captured that have this frame.
    pub fn until_ns(&self, frame: u32) -> i64 {
        self.stamped(frame).map_or(i64::MIN, |clock| clock.until_ns)
    }

    /// The clock of the capture in which a wait ended.
    fn behind(&self, wait: &Wait) -> Option<&Clock> {
        self.stamped(wait.to.frame)
    }

    fn stamped(&self, frame: u32) -> Option<&Clock> {
        let begun = self.captures.partition_point(|clock| clock.frames_before < frame);
        self.captures[..begun].last()
    }
}

/// Step in ns that the times of a connection show by themselves, in a capture with a fine clock: other
/// interfaces, with a clock each, may have stamped its frames, or those of one direction. In one with a
/// coarse clock the ticks of delayed ACKs would look like an even coarser one.
fn own_ns(waits: &[Wait]) -> i64 {
    let mut clocks = [(ClockStep::default(), 0); 2];
    // Another side ended a wait in vain, or the capture.
    for wait in waits.iter().filter(|wait| wait.ending().is_none()) {
        let ack = (wait.by.other(), wait.ack);
        let ack = Some(ack).filter(|_| wait.has_ack() && wait.end != End::Ack);
        for (side, mark) in [(wait.by, wait.to)].into_iter().chain(ack) {
            let (clock, times) = &mut clocks[side as usize];
            clock.see(mark.time_ns);
            *times += 1;
        }
    }
    let steps = clocks.into_iter().filter_map(|(clock, times)| clock.shown_by(times));
    steps.max().unwrap_or(FINE_CLOCK_NS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::{Mark, Side};

    impl Clocks {
        /// One capture with such a clock.
        pub fn ticking_every(step_ns: i64) -> Self {
            let clock = Clock { frames_before: 0, step_ns, until_ns: i64::MAX };
            Self { captures: vec![clock], is_made_up: false, is_elided: false }
        }
    }

    fn waits(frames: &[(u32, u32)]) -> Vec<Wait> {
        let mark = |frame| Mark { time_ns: 0, frame };
        let wait =
            |&(from, to)| Wait { from: mark(from), to: mark(to), ..Wait::unknown(0, Side::Client) };
        frames.iter().map(wait).collect()
    }

    #[test]
    fn the_coarsest_clock_behind_a_connection_counts() {
        let capture = |&(frames_before, step_ns)| Clock { frames_before, step_ns, until_ns: 0 };
        let captures = [(0, 1_000), (99, 10_000_000), (199, 100_000)].iter().map(capture);
        let clocks = Clocks { captures: captures.collect(), is_made_up: false, is_elided: false };
        let behind_ns = |frames| clocks.behind_ns(&waits(frames));
        assert_eq!(behind_ns(&[(1, 9), (20, 99)]), 1_000);
        assert_eq!(behind_ns(&[(100, 101)]), 10_000_000);
        assert_eq!(behind_ns(&[(200, 300)]), 100_000);
        assert_eq!(behind_ns(&[(1, 9), (20, 300)]), 100_000);
        assert_eq!(behind_ns(&[(150, 190), (210, 250)]), 10_000_000);
        assert_eq!((clocks.coarsest_ns(), behind_ns(&[])), (10_000_000, 10_000_000));
        assert!(clocks.differ());
        assert_eq!(Clocks::default().behind_ns(&waits(&[(1, 2)])), FINE_CLOCK_NS);
    }

    /// Two interfaces in one capture: the clock of this connection's ticks every millisecond, and those of
    /// others every microsecond.
    #[test]
    fn a_connection_shows_the_clock_of_its_own_interface() {
        let clocks = Clocks::ticking_every(FINE_CLOCK_NS);
        let held = |at: i64, ack_ns: i64| {
            let mark = |time_ns, frame| Mark { time_ns, frame };
            let to = mark(at * at * 37_000_000 + 40_000_000, 3 * at as u32 + 3);
            let ack = mark(to.time_ns - ack_ns, 3 * at as u32 + 2);
            Wait { to, ack, ..Wait::unknown(0, Side::Client) }
        };
        let behind_ns = |count, ack_ns: fn(i64) -> i64| {
            clocks.behind_ns(&(0..count).map(|at| held(at, ack_ns(at))).collect::<Vec<_>>())
        };
        assert_eq!([5, 6].map(|count| behind_ns(count, |_| 1_000_000)), [FINE_CLOCK_NS, 1_000_000]);
        // Its ACKs came through another interface.
        assert_eq!(behind_ns(6, |at| at * at * 1_237), 1_000_000);
    }
}
