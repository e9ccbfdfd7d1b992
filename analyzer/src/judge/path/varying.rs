//! Paths that vary by more than a fixed tolerance: which frame explains the releases of a direction best?
//!
//! A wider tolerance takes more for a hold. What speaks for holds there is that the releases keep to how
//! the sender reacts while the waits do not keep to each other, and that nothing comes too soon.

use crate::judge::case::Line;
use crate::judge::path::reference::{self, Reference};
use crate::judge::path::releases::Releases;
use crate::judge::path::sender_clock::SenderClock;
use crate::judge::statistics;
use crate::judge::thresholds::{FEW_RELEASES, HOLDS_PER_CONTRADICTION, STEADIER};
use crate::track::band::Band;
use crate::track::thresholds::IN_TRANSIT_ONE_OF;
use crate::track::wait::Wait;

impl Releases {
    /// Compared with the reaction near by, if that explains more than `fixed`. `self` counts nothing yet; the
    /// sender contradicted Nagle's algorithm so often.
    pub fn on_varying_path<'a>(
        self,
        fixed: Self,
        contradictions: u32,
        freed: impl Iterator<Item = &'a Wait> + Clone,
    ) -> Self {
        let candidates = freed.clone().filter(|wait| self.is_candidate(wait));
        let Some(tolerance_ns) = reference::near_tolerance_ns(candidates.clone()) else {
            return fixed;
        };
        let band = Band { tolerance_ns: tolerance_ns.max(self.band.tolerance_ns), ..self.band };
        let counted = Self { band, reference: Reference::Reaction, ..self }.counting(freed);
        let too_soon = candidates.clone().filter(|wait| counted.is_too_soon(wait)).count() as u32;
        let explains = counted.show_holds()
            && counted.in_band >= FEW_RELEASES
            && too_soon + contradictions <= counted.in_band / HOLDS_PER_CONTRADICTION
            && counted.is_steadier_than_waits(candidates);
        if explains && counted.in_band > fixed.in_band { counted } else { fixed }
    }

    /// By the sender's own clock, if that shows that its segments wait for the ACK, and explains more than
    /// `other`. `self` counts nothing yet; the sender contradicted Nagle's algorithm so often.
    pub fn by_sender_clock<'a>(
        self,
        other: Self,
        contradictions: u32,
        own: impl Iterator<Item = &'a Wait> + Clone,
        freed: impl Iterator<Item = &'a Wait> + Clone,
    ) -> Self {
        // Its pauses count as well: of those alone that end soon after the ACK, any follow it.
        let candidates = own.filter(|wait| wait.has_pure_ack() && Self::may_hold(wait));
        let Some((clock, tolerance_ns)) = SenderClock::following_acks(candidates) else {
            return other;
        };
        let tolerance_ns = tolerance_ns.max(self.band.tolerance_ns);
        let band = Band { tolerance_ns, ..self.band };
        let early_ns = self.early_ns.max(self.band.center_ns / IN_TRANSIT_ONE_OF);
        let counted = Self { band, reference: Reference::Timestamps(clock), early_ns, ..self }
            .counting(freed);
        let explains = counted.in_band >= FEW_RELEASES
            && contradictions <= counted.in_band / HOLDS_PER_CONTRADICTION
            && !self.lines.has(Line::MadeUpTimes);
        if explains && counted.in_band > other.in_band { counted } else { other }
    }

    /// Do the waits vary, by more than the clock's step, where the time from ACK to release does not?
    pub fn follow_acks<'a>(&self, held: impl Iterator<Item = &'a Wait> + Clone) -> bool {
        let mut wait_ns: Vec<i64> = held.clone().map(Wait::span_ns).collect();
        statistics::deviation(&mut wait_ns).is_some_and(|spread_ns| spread_ns > self.clock_ns)
            && self.is_steadier_than_waits(held)
    }

    /// What an ACK releases keeps to the path, and the wait is as uneven as the ACK; a program that writes
    /// after a pause of its own is the reverse.
    pub fn is_steadier_than_waits<'a>(&self, candidates: impl Iterator<Item = &'a Wait>) -> bool {
        let (mut off_ns, mut wait_ns): (Vec<i64>, Vec<i64>) =
            candidates.map(|wait| (self.off_ns(wait), wait.span_ns())).unzip();
        let of_waits = statistics::deviation(&mut wait_ns).unwrap_or(0) as f64;
        statistics::deviation(&mut off_ns).unwrap_or(0) as f64 <= STEADIER * of_waits
    }
}

#[cfg(test)]
mod tests {
    use crate::judge::causes::Cause;
    use crate::judge::path::reference::Reference;
    use crate::track::story::{Story, client, server};

    /// Round trips of a second of a queue that fills and empties, in ms.
    const QUEUE: [f64; 10] = [21.0, 35.0, 52.0, 66.0, 84.0, 99.0, 80.0, 61.0, 45.0, 30.0];

    /// The server answers in two pieces over a path that takes `rtt_ms` now; the client's ACK of the first
    /// comes after `ack_ms`, and the second leaves after `release_ms`.
    fn exchange(story: Story, rtt_ms: f64, ack_ms: f64, release_ms: f64) -> Story {
        story
            .after_ms(5.0, client(100))
            .after_ms(rtt_ms, server(100))
            .after_ms(ack_ms, client(0))
            .after_ms(release_ms, server(50))
            .after_ms(0.02, client(0))
    }

    fn captured_at_client() -> Story {
        Story::new().handshake(0.02, 20.0)
    }

    fn stalls(story: Story) -> (usize, Reference) {
        let mut told = story.end();
        let reference = told.reference();
        let (_, rulings) = told.judge();
        (rulings.iter().filter(|ruling| ruling.cause == Cause::NagleDelack).count(), reference)
    }

    #[test]
    fn behind_a_full_queue_releases_are_as_late_as_replies() {
        let held = |story, rtt_ms: &f64| exchange(story, *rtt_ms, 41.0, rtt_ms + 1.0);
        let (found, reference) = stalls(QUEUE.iter().fold(captured_at_client(), held));
        assert_eq!(reference, Reference::Reaction);
        assert!(found >= 7, "{found}");
    }

    #[test]
    fn a_program_that_pauses_on_such_a_path_keeps_its_pause() {
        // 130 ms from its first write on, whatever the path does.
        let pausing = |story, (at, rtt_ms): (usize, &f64)| {
            let ack_ms = 41.0 + [0.0, 3.0, 1.0, 4.0, 2.0][at % 5];
            exchange(story, *rtt_ms, ack_ms, 130.0 - ack_ms)
        };
        let (found, reference) =
            stalls(QUEUE.iter().enumerate().fold(captured_at_client(), pausing));
        assert_eq!((found, reference), (0, Reference::RoundTrip));
    }

    /// Each exchange shows the round trip of 20 ms; its program writes 41 to 66 ms after its first piece.
    #[test]
    fn what_comes_before_the_round_trip_was_written_by_the_program() {
        let pausing = |least_ms: f64| {
            let one = |story: Story, at: usize| {
                exchange(story, 20.0, 38.0, least_ms + [0.0, 9.0, 4.0, 13.0, 7.0][at % 5])
                    .after_ms(50.0, client(100))
                    .after_ms(20.0, server(0))
            };
            stalls((0..20).fold(captured_at_client(), one)).0
        };
        assert_eq!(pausing(3.0), 0);
    }
}
