//! How soon a host reacted of late: what a release near by in time is compared with, where the path
//! varies.

use crate::track::Mark;
use crate::track::half::Half;
use crate::track::half::state;
use crate::track::thresholds::MOST_UNKNOWN;
use crate::track::wait::{Reaction, Wait};

/// Reactions that are remembered. Every second ACK may be a delayed one: of two in a row one is
/// prompt, mostly.
const MOST: usize = 2;

/// An answer to data: from the data to what acknowledged it first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Answer {
    took_ns: i64,
    at_ns: i64,
}

/// The last ones of a direction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reactions {
    last: [Answer; MOST],
    late: u8,
}

impl Reactions {
    pub const NONE: Self = Self { last: [Answer { took_ns: 0, at_ns: 0 }; MOST], late: 0 };

    fn seen(&self) -> impl Iterator<Item = &Answer> {
        self.last.iter().filter(|answer| answer.at_ns != 0)
    }
}

impl Half {
    /// This host reacted to data after `took_ns`.
    #[inline]
    pub fn react(&mut self, took_ns: i64, now: Mark) {
        if self.state.is(state::REACTIONS) {
            self.note_reaction(took_ns, now.time_ns);
        }
    }

    #[cold]
    fn note_reaction(&mut self, took_ns: i64, at_ns: i64) {
        let last = &mut self.frozen_mut().reactions.last;
        last.rotate_left(1);
        last[MOST - 1] = Answer { took_ns, at_ns };
    }

    /// A wait of this host may have been a hold: from now on its reactions count.
    pub fn watch_reactions(&mut self) {
        self.state.set(state::REACTIONS);
    }

    /// Its promptest reaction of late, for a wait that ends `at_ns`.
    pub fn reaction(&self, at_ns: i64) -> Reaction {
        if !self.state.is(state::REACTIONS) {
            return Reaction::NONE;
        }
        let earlier = self.frozen().reactions.seen().filter(|answer| answer.at_ns < at_ns);
        let prompt = earlier.min_by_key(|answer| answer.took_ns);
        prompt.map_or(Reaction::NONE, |answer| Reaction {
            took_us: (answer.took_ns / 1000).clamp(0, i64::from(u32::MAX) - 1) as u32,
            since_us: i32::try_from((at_ns - answer.at_ns) / 1000).unwrap_or(i32::MAX),
        })
    }

    /// Did this host react as late as that just before? Then the wait may be a hold on a bad path.
    pub fn reacts_as_late(&mut self, wait: &Wait, beyond: impl Fn(i64) -> bool) -> bool {
        let longest_ns = self.frozen().reactions.seen().map(|answer| answer.took_ns).max();
        let late = longest_ns.is_some_and(|took_ns| !beyond(took_ns)) && wait.is_evidence();
        if !late || self.frozen().reactions.late >= MOST_UNKNOWN {
            return false;
        }
        self.frozen_mut().reactions.late += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::track::story::{Story, client, server};
    use crate::track::wait::Reaction;

    fn held(story: Story, reaction_ms: f64) -> Story {
        story
            .after_ms(5.0, client(100))
            .after_ms(reaction_ms, server(100))
            .after_ms(40.0, client(0))
            .after_ms(30.0, server(50))
            .after_ms(0.0, client(0))
    }

    #[test]
    fn a_wait_knows_the_promptest_of_the_last_reactions() {
        let story = held(held(held(Story::new().handshake(0.02, 30.0), 30.0), 70.0), 32.0);
        let waits = story.end().waits;
        let took_us: Vec<u32> = waits.iter().map(|wait| wait.reaction.took_us).collect();
        assert_eq!(took_us, [u32::MAX, u32::MAX, 70_000, 32_000]);
        assert_eq!(waits[3].reaction.since_us, 70_000);
    }

    #[test]
    fn within_a_host_nothing_is_noted() {
        let story = held(held(Story::new().handshake(0.02, 0.02), 30.0), 30.0);
        let waits = story.end().waits;
        assert!(waits.iter().all(|wait| wait.reaction == Reaction::NONE));
    }
}
