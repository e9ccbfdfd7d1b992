//! How long was a segment held? The wire bounds it from above. Where the program pauses for about as long after writes
//! of this length when an ACK comes early, it wrote later than the bound says: the ACK's timer and the program race.

use crate::track::wait::{Wait, fact};
use crate::track::{Half, Pause};
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// Pauses this close to each other are as long, in ns: programs wake up at ticks.
const ALIKE_NS: i64 = 2_000_000;
/// By what part a pause may be longer or shorter than the wait, and still be one of its kind.
const LIKE_ONE_OF: i64 = 2;
/// How often a program of which nothing is known yet is taken to have written at once.
const AT_ONCE: f64 = 0.5;

/// How long the program of a direction pauses, where nothing is held: by the length of the write before, in bytes.
#[derive(Debug, Default)]
pub struct OwnPauses(HashMap<u32, Kind, RandomState>);

#[derive(Debug, Default)]
struct Kind {
    pauses: Vec<Pause>,
    /// Holds that were shorter than any of these pauses: the program had written at once.
    shorter: u32,
}

impl OwnPauses {
    /// Of a sender, from what was kept of its pauses, and from its candidates; with each the probability that it was
    /// held. Where an ACK came late, it may have ended the pause after all.
    pub fn of(half: &Half, candidates: &[(&Wait, f64)]) -> Self {
        let mut all = Self::default();
        let is_pause = |wait: &Wait| wait.has_early_ack() && !wait.is(fact::OWN_PAUSE);
        let seen = candidates.iter().filter(|(wait, held)| *held < 0.5 && is_pause(wait));
        let seen = seen.map(|(wait, _)| Pause::new(wait));
        for pause in half.pauses().iter().copied().chain(seen) {
            all.0.entry(pause.unacked_len).or_default().pauses.push(pause);
        }
        if all.0.is_empty() {
            return all;
        }
        for (wait, _) in candidates.iter().filter(|(_, held)| *held >= 0.5) {
            if let Some(kind) = all.0.get_mut(&wait.unacked_len) {
                let shortest_ns = kind.pauses.iter().map(|pause| pause.min_ns).min();
                let is_shorter = shortest_ns.is_some_and(|ns| wait.span_ns() < ns - ALIKE_NS);
                kind.shorter += u32::from(is_shorter);
            }
        }
        all
    }

    /// How long a held segment was expected to be held, in ns: the wait less what the program itself takes.
    pub fn hold_ns(&self, wait: &Wait) -> i64 {
        wait.wait_ns().min(wait.span_ns() - self.expected_ns(wait)).max(0)
    }

    /// How long after **A** the program is expected to have written **B**: for as long as it pauses elsewhere, but
    /// before the ACK came. At once, where it mostly wrote sooner than that.
    fn expected_ns(&self, wait: &Wait) -> i64 {
        let Some(kind) = self.0.get(&wait.unacked_len) else { return 0 };
        let most_ns = wait.span_ns();
        let is_like = |pause: &&Pause| (pause.min_ns - most_ns).abs() <= most_ns / LIKE_ONE_OF;
        let (mut count, mut sum_ns) = (0.0, 0.0);
        for pause in kind.pauses.iter().filter(is_like) {
            let usual_ns = i64::midpoint(pause.min_ns, pause.max_ns).min(most_ns);
            count += f64::from(pause.count);
            sum_ns += f64::from(pause.count) * usual_ns as f64;
        }
        let at_once = f64::from(kind.shorter) + AT_ONCE;
        if count < at_once { 0 } else { (sum_ns / (count + at_once)) as i64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::{Mark, Side};

    const MS: i64 = 1_000_000;

    /// Its ACK came so long before its end.
    fn wait(ms: i64, release_us: i64) -> Wait {
        let at = |time_ns, frame| Mark { time_ns, frame };
        Wait {
            to: at(ms * MS, 3),
            ack: at(ms * MS - release_us * 1000, 2),
            unacked_ns: 0,
            len: 50,
            unacked_len: 100,
            ..Wait::unknown(0, Side::Server)
        }
    }

    /// What the first of `held` is expected to have been held for, in ms, beside others that were not.
    fn hold_ms(held: &[Wait], not_held: &[Wait]) -> i64 {
        let held_or_not = held.iter().map(|wait| (wait, 1.0));
        let all: Vec<(&Wait, f64)> =
            held_or_not.chain(not_held.iter().map(|wait| (wait, 0.0))).collect();
        OwnPauses::of(&Half::new(), &all).hold_ns(&held[0]) / MS
    }

    #[test]
    fn without_pauses_of_its_own_the_program_had_written_at_once() {
        assert_eq!(hold_ms(&[wait(44, 20)], &[]), 44);
        assert_eq!(hold_ms(&[wait(44, 20)], &[wait(400, 399_000); 30]), 44);
    }

    #[test]
    fn a_program_that_always_pauses_was_held_for_the_rest() {
        assert_eq!(hold_ms(&[wait(44, 20); 3], &[wait(40, 39_000); 30]), 4);
        // Whoever once wrote much sooner does not always pause.
        let mixed = [[wait(44, 20); 6], [wait(20, 20); 6]].concat();
        assert!(hold_ms(&mixed, &[wait(40, 39_000); 3]) > 30);
    }
}
