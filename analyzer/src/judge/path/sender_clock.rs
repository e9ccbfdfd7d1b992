//! The sender's own clock, in its TCP timestamps (RFC 7323), which the way to the capture does not blur.
//!
//! Of each wait it tells how long the sender paused between **A** and **B**; and how long after A, and
//! before B, the ACK **K** passed the capture. What an ACK let go pauses for as long as the ACK took, and
//! what is left after it is the way of the ACK. A program that pauses does so whenever the ACK comes.

use crate::judge::statistics;
use crate::judge::thresholds::{
    CLOCK_DRIFT, CLOCK_EVENTS, CLOCK_SPREADS, FOLLOWS_ACK, STEADIER, TICK_OFF_ONE_OF, TICKS_NS,
};
use crate::track::wait::{Wait, fact};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// How the clock of a sender runs, by that of the capture.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SenderClock {
    tick_ns: f64,
    /// A segment's time and timestamp.
    origin: (i64, u32),
    /// In the middle, its segments leave so long after the ACK passed the capture.
    release_ns: i64,
}

/// A wait by that clock, in ns.
struct Intervals {
    /// From A to B.
    pause: i64,
    /// From A to K.
    ack: i64,
    /// From K to B.
    release: i64,
}

impl SenderClock {
    /// Of `candidates` of one direction, if their pauses follow the ACK; and how far their releases spread.
    pub fn following_acks<'a>(
        candidates: impl Iterator<Item = &'a Wait> + Clone,
    ) -> Option<(Self, i64)> {
        let clock = Self::of(candidates.clone())?;
        let saw_ack = candidates.filter(|wait| wait.is(fact::ECHOES_ACK));
        let waits: Vec<Intervals> = saw_ack.filter_map(|wait| clock.intervals(wait)).collect();
        let each = |of: fn(&Intervals) -> i64| waits.iter().map(of).collect::<Vec<i64>>();
        let [pauses, acks, mut releases] =
            [each(|wait| wait.pause), each(|wait| wait.ack), each(|wait| wait.release)];
        let spread_ns = |values: &[i64]| statistics::deviation(&mut values.to_vec()).unwrap_or(0);
        let fine = (spread_ns(&acks) as f64) >= clock.tick_ns;
        let tolerance_ns = CLOCK_SPREADS * spread_ns(&releases) + clock.tick_ns as i64;
        let follows = statistics::correlation(&acks, &pauses) >= FOLLOWS_ACK
            && statistics::standard_deviation(&releases) < statistics::standard_deviation(&pauses);
        let steadier = spread_ns(&releases) as f64 <= STEADIER * spread_ns(&pauses) as f64;
        let release_ns = statistics::upper(&mut releases)?;
        (waits.len() >= CLOCK_EVENTS && fine && (follows || steadier))
            .then_some((Self { release_ns, ..clock }, tolerance_ns))
    }

    /// If its timestamps tick evenly.
    fn of<'a>(waits: impl Iterator<Item = &'a Wait> + Clone) -> Option<Self> {
        let mut stamped = waits.filter(|wait| wait.tsval != 0);
        let first = stamped.next()?;
        let origin = (first.to.time_ns, first.tsval);
        let ran: Vec<(f64, f64)> = stamped
            .map(|wait| {
                let ticks = wait.tsval.wrapping_sub(origin.1).cast_signed();
                (f64::from(ticks), (wait.to.time_ns - origin.0) as f64)
            })
            .collect();
        let &(ticks, elapsed_ns) = ran.last()?;
        let off = 1.0 / TICK_OFF_ONE_OF;
        let step_ns = step_ns(elapsed_ns, ticks, &(1.0 / (1.0 + off)..=1.0 / (1.0 - off)))?;
        let fitted_ns = statistics::slope(&ran);
        let is_drift = (fitted_ns / step_ns - 1.0).abs() <= CLOCK_DRIFT;
        // Else the path varies by more than clocks run apart.
        let tick_ns = if is_drift { fitted_ns } else { step_ns };
        Some(Self { tick_ns, origin, release_ns: 0 })
    }

    /// How much later than in the middle a segment left after its ACK.
    pub fn off_ns(&self, wait: &Wait) -> Option<i64> {
        (wait.tsval != 0).then(|| self.released_ns(wait) - self.release_ns)
    }

    fn released_ns(&self, wait: &Wait) -> i64 {
        let ticks = wait.tsval.wrapping_sub(self.origin.1).cast_signed();
        self.origin.0 + (f64::from(ticks) * self.tick_ns) as i64 - wait.ack.time_ns
    }

    fn intervals(&self, wait: &Wait) -> Option<Intervals> {
        let ticks = wait.tsval.wrapping_sub(wait.from_tsval).cast_signed();
        let pause_ns = (f64::from(ticks) * self.tick_ns) as i64;
        let release_ns = self.released_ns(wait);
        let is_known = wait.tsval != 0 && wait.from_tsval != 0 && !wait.is(fact::RESENT);
        is_known.then(|| Intervals {
            pause: pause_ns,
            ack: pause_ns - release_ns,
            release: release_ns,
        })
    }
}

/// The step of timestamps of which `ticks` lie in a time that is so many `times` as long as they tell.
pub fn step_ns(elapsed_ns: f64, ticks: f64, times: &RangeInclusive<f64>) -> Option<f64> {
    let is_it = |step_ns: &f64| ticks > 0.0 && times.contains(&(elapsed_ns / (ticks * step_ns)));
    TICKS_NS.into_iter().find(is_it)
}

#[cfg(test)]
mod tests {
    use crate::judge::case::Confidence;
    use crate::judge::path::reference::Reference;
    use crate::track::story::{Story, client, server};

    /// What differs from exchange to exchange, in ms: the ways of both pieces and of the ACK, each beside 15.
    const WAYS_MS: [[u32; 3]; 5] = [[4, 0, 9], [13, 6, 0], [9, 3, 12], [0, 5, 7], [7, 8, 10]];

    /// The server, captured at its client, answers in two pieces; the second so long after the first as `pause`
    /// makes of the ways of the first one and of its ACK, and of the number of the exchange. How many are held,
    /// if the server's clock tells.
    fn stalls(exchanges: u32, tick_ms: u32, pause_ms: fn(u32, u32, u32) -> u32) -> Option<usize> {
        let mut now_ms = 0;
        let mut after = |story: Story, at_ms: u32, segment| {
            let passed_ms = f64::from(at_ms - now_ms);
            now_ms = at_ms;
            story.after_ms(passed_ms, segment)
        };
        let mut told = (0..exchanges)
            .fold(Story::new().handshake(0.02, 30.0), |story, at| {
                let [first_ms, ack_ms, second_ms] =
                    [0, 1, 2].map(|which| WAYS_MS[at as usize % 5][which] + 15);
                let asked_ms = 100_000 + at * 1000;
                let sent_ms = asked_ms + 15 + at * 7 % 60;
                let came_ms = sent_ms + first_ms;
                let left_ms = sent_ms + pause_ms(first_ms, ack_ms, at);
                let second = server(50).stamped(left_ms / tick_ms, came_ms + 41);
                let story = after(story, asked_ms, client(100).stamped(asked_ms, 1));
                let first = server(100).stamped(sent_ms / tick_ms, asked_ms);
                let story = after(story, came_ms, first);
                let story = after(story, came_ms + 41, client(0).stamped(came_ms + 41, 2));
                let story = after(story, left_ms + second_ms, second);
                story.after_ms(0.02, client(0).stamped(left_ms + second_ms, 3))
            })
            .end();
        let reference = told.reference();
        let (_, rulings) = told.judge();
        let held = rulings.iter().filter(|ruling| ruling.cause.is_stall());
        assert!(held.clone().all(|ruling| ruling.doubts.confidence() < Confidence::Certain));
        matches!(reference, Reference::Timestamps(_)).then(|| held.count())
    }

    fn held(first_ms: u32, ack_ms: u32, _: u32) -> u32 {
        first_ms + 41 + ack_ms
    }

    #[test]
    fn pauses_that_follow_the_ack_are_holds_whatever_the_path_does() {
        let found = stalls(20, 1, held);
        assert!(found >= Some(18), "{found:?}");
    }

    #[test]
    fn a_program_pauses_whenever_the_ack_comes() {
        assert_eq!(stalls(20, 1, |_, _, at| 120 + at * 3 % 5), None);
        assert_eq!(stalls(20, 1, |_, _, at| 120 + at * 37 % 100), None);
    }

    #[test]
    fn few_waits_or_coarse_ticks_tell_nothing() {
        assert_eq!(stalls(11, 1, held), None);
        assert_eq!(stalls(20, 10, held), None);
    }
}
