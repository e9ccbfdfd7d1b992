//! Times that nobody measured: a script or a converter gives every segment the same distance from
//! the one before, or a connection takes a round time to come about, and its waits a few lengths
//! again and again, or round ones, to the microsecond.

use crate::rules;
use crate::track::thresholds::{
    EVEN_NS, EVEN_ONE_OF, EVEN_SEGMENTS, MADE_UP, MOSTLY, ROUND_NS, SHORTEST_DELAYED_ACK_NS,
};
use crate::track::wait::Wait;

/// How even the times of a connection's segments are, as far as that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    /// They have been equally far apart so far.
    Even,
    /// They vary: nobody made them up.
    Uneven,
    /// They are made up: those of the whole capture, or the lengths of waits.
    MadeUp,
}

impl Times {
    /// Takes the time since the last segment, where those before came every `mean_ns`.
    pub fn compare(&mut self, gap_ns: i64, mean_ns: i64) {
        let off_ns = gap_ns.saturating_sub(mean_ns).saturating_abs();
        if mean_ns <= 0 || off_ns > EVEN_NS.min(mean_ns / EVEN_ONE_OF) {
            *self = Self::Uneven;
        }
    }

    /// Are those of this number of segments made up? Then they show nothing.
    pub fn are_made_up(self, segments: u32) -> bool {
        match self {
            _ if rules::off("even") => false,
            Self::Even => segments >= EVEN_SEGMENTS,
            Self::Uneven => false,
            Self::MadeUp => true,
        }
    }
}

/// Have these waits a few lengths only, each for three waits or more on average, or are most of
/// them multiples of 10 ms, to the microsecond? No host keeps time so.
pub fn are_scripted(waits: &[Wait]) -> bool {
    let (least, most_lengths, of_each) = MADE_UP;
    let long = waits.iter().map(Wait::span_ns).filter(|&ns| ns >= SHORTEST_DELAYED_ACK_NS);
    let mut waits_ns: Vec<i64> = long.collect();
    waits_ns.sort_unstable();
    let mut first_ns = 0;
    let is_new = |ns: &&i64| {
        let is_new = **ns - first_ns > EVEN_NS;
        first_ns = if is_new { **ns } else { first_ns };
        is_new
    };
    let lengths = waits_ns.iter().filter(is_new).count();
    let round = waits_ns.iter().filter(|ns| is_round(**ns)).count();
    waits_ns.len() >= least
        && (lengths <= most_lengths.min(waits_ns.len() / of_each)
            || MOSTLY.1 * round >= MOSTLY.0 * waits_ns.len())
}

/// Is it a multiple of 10 ms, to the microsecond?
pub fn is_round(length_ns: i64) -> bool {
    let over = length_ns % ROUND_NS;
    length_ns > EVEN_NS && over.min(ROUND_NS - over) <= EVEN_NS
}

#[cfg(test)]
mod tests {
    use super::are_scripted;
    use crate::track::story::{Story, StorySegment, client, server};

    /// Each message waits for so long, and the next one for longer by `more_ms`.
    fn are_scripted_with(more_ms: f64) -> bool {
        let told = (0..20).fold(Story::new().handshake(0.02, 2.0), |story, at| {
            let off_ms = more_ms * f64::from(at);
            let asked = story.after_ms(100.0 + off_ms, client(8)).after_ms(0.1, server(0));
            asked.after_ms(80.0 + off_ms, server(20)).after_ms(0.1, client(0))
        });
        are_scripted(&told.end().waits)
    }

    /// A simulator writes its captures with delays from a table: a report would blame the clients in it.
    #[test]
    fn a_script_that_waits_for_a_few_lengths_only_made_its_times_up() {
        assert!(are_scripted_with(0.0));
        assert!(!are_scripted_with(0.01));
    }

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
