//! Times that were made up: a script or a converter gives every frame the same distance from the one before.

use crate::track::Mark;
use crate::track::connection::Connection;
use crate::track::thresholds::{EVEN_NS, EVEN_SEGMENTS};

impl Connection {
    /// Compares the time since the last segment with that between those before it; notes the first one's.
    #[inline]
    pub(super) fn compare_gap(&mut self, now: Mark) {
        if !self.is_uneven {
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
        if mean_ns <= 0 || off_ns.saturating_abs() > EVEN_NS {
            self.is_uneven = true;
        }
    }

    fn captured(&self) -> u32 {
        let [client, server] = self.halves.each_ref().map(|half| half.segments);
        client.saturating_add(server)
    }

    /// Are all segments equally far apart? Then their times tell nothing.
    pub fn is_even(&self) -> bool {
        !self.is_uneven && self.captured() >= EVEN_SEGMENTS
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
