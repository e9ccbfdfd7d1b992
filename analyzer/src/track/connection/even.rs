//! Times that were made up: a script or a converter gives every frame the same distance from the one before.

use crate::rules;
use crate::track::Mark;
use crate::track::connection::Connection;
use crate::track::thresholds::{EVEN_NS, EVEN_SEGMENTS};

/// The largest difference as a part of the steps: quick hosts send in steps of some microseconds.
const EVEN_ONE_OF: i64 = 16;

/// How even the times of a connection's segments are, as far as that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    /// They have been equally far apart so far.
    Even,
    /// They vary: nobody made them up.
    Uneven,
    /// The times of the whole capture are made up.
    MadeUp,
}

impl Connection {
    /// Compares the time since the last segment with that between those before it; notes the first one's.
    #[inline]
    pub(super) fn compare_gap(&mut self, now: Mark) {
        if self.times == Times::Even {
            self.compare_even_gap(now);
        }
    }

    #[inline(never)]
    fn compare_even_gap(&mut self, now: Mark) {
        if self.first_ns == 0 {
            self.first_ns = now.time_ns;
        }
        let gaps = i64::from(self.captured().saturating_sub(1));
        if gaps == 0 {
            return;
        }
        let last_ns = self.last_ns();
        let mean_ns = last_ns.saturating_sub(self.first_ns) / gaps;
        let off_ns = now.time_ns.saturating_sub(last_ns).saturating_sub(mean_ns);
        if mean_ns <= 0 || off_ns.saturating_abs() > EVEN_NS.min(mean_ns / EVEN_ONE_OF) {
            self.times = Times::Uneven;
        }
    }

    pub(super) fn captured(&self) -> u32 {
        let [client, server] = self.halves.each_ref().map(|half| half.segments);
        client.saturating_add(server)
    }

    /// Nobody stamped the frames of its capture.
    pub fn mark_made_up(&mut self) {
        self.times = Times::MadeUp;
    }

    /// Are all segments equally far apart, or all frames of the capture? Then their times tell nothing.
    pub fn is_even(&self) -> bool {
        match self.times {
            _ if rules::off("even") => false,
            Times::Even => self.captured() >= EVEN_SEGMENTS,
            Times::Uneven => false,
            Times::MadeUp => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::track::story::{Story, StorySegment, client, server};

    fn is_even(times_ms: &[f64]) -> bool {
        let [syn, syn_ack] = [client(0).syn(), server(0).syn()];
        let told: [StorySegment; 6] = [syn, syn_ack, client(0), client(10), server(0), client(20)];
        let all = times_ms.iter().zip(told);
        all.fold(Story::new(), |story, (&ms, segment)| story.after_ms(ms, segment))
            .end()
            .connection
            .is_even()
    }

    #[test]
    fn a_quick_host_makes_no_times_up() {
        assert!(!is_even(&[0.0, 0.003, 0.002, 0.004, 0.003, 0.002]));
        assert!(is_even(&[0.0, 0.003, 0.003, 0.003, 0.003, 0.003]));
    }

    #[test]
    fn equal_steps_are_made_up() {
        assert!(is_even(&[0.0, 50.0, 50.0, 50.0, 49.999, 50.0]));
        assert!(!is_even(&[0.0, 50.0, 50.0, 50.0, 50.01, 50.0]));
        assert!(!is_even(&[0.0, 50.0, 50.0, 50.0]));
    }

    /// In the middle of a path a host sends its request right behind its ACK.
    #[test]
    fn equal_round_trips_are_not() {
        assert!(!is_even(&[0.0, 13.0, 13.0, 0.0, 13.0, 13.0]));
        assert!(!is_even(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0]));
    }
}
