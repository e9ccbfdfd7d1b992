//! Where prompt ACKs show that the sender waits for nothing else, a release may be as late as the path is.
//!
//! It takes more for a hold than a tolerance around the round trip, so that such a stall is likely at most,
//! unless it is as close as on a steady path.

use crate::judge::case::Line;
use crate::judge::path::reference::Reference;
use crate::judge::path::releases::Releases;
use crate::judge::thresholds::{FOLLOWING_ONE_OF, NEAR_PATH_ONE_OF};
use crate::track::Side;
use crate::track::thresholds::{IN_TRANSIT_ONE_OF, MAX_TOLERANCE_NS};
use crate::track::wait::{Wait, fact};

impl Releases {
    /// Of `side`, whose waits follow the ACK: any release that the path explains is in the band. `varying`
    /// if that explains as many, or if too many are longer than the path explains: then the program pauses
    /// as well. `self` counts nothing yet.
    pub fn following(self, varying: Self, contradictions: u32, side: Side, waits: &[Wait]) -> Self {
        let early_ns = self.early_ns.max(self.band.center_ns / IN_TRANSIT_ONE_OF);
        let freed = || waits.iter().filter(|wait| wait.by == side && wait.is_freed());
        let evident = freed().filter(|wait| !wait.is(fact::ACK_FIN));
        let counted =
            Self { reference: Reference::Ack, early_ns, ..self }.counting(evident.clone());
        let outside = |wait: &&Wait| self.is_candidate(wait) && !counted.follows_ack(wait);
        let paused = |wait: &&Wait| wait.by == side && wait.is(fact::OWN_PAUSE);
        let against = evident.filter(outside).count() + waits.iter().filter(paused).count();
        let against = against as u32 + contradictions;
        let explains =
            FOLLOWING_ONE_OF * against <= counted.in_band && !self.lines.has(Line::MadeUpTimes);
        match explains && counted.in_band > varying.in_band {
            true => Self { lines: counted.lines.with(Line::FollowsAcks, true), ..counted },
            false => varying,
        }
    }

    /// How late a release is: no later than the tolerance where the path may make it so late.
    pub fn followed_off_ns(&self, wait: &Wait, off_ns: i64) -> i64 {
        match (-self.early_ns..=self.latest_ns(wait)).contains(&off_ns) {
            true => off_ns.clamp(-self.band.tolerance_ns, self.band.tolerance_ns),
            false => off_ns,
        }
    }

    /// How close to the ACK a program would write by accident: anywhere the path allows.
    pub fn followed_blur_ns(&self, wait: &Wait) -> i64 {
        match self.off_ns(wait).abs() < self.band.tolerance_ns {
            true => self.closest_ns(),
            false => i64::midpoint(self.early_ns, self.latest_ns(wait)),
        }
    }

    /// How much later than the round trip a release may be, by how late the sender reacted near by.
    fn latest_ns(&self, wait: &Wait) -> i64 {
        let as_near = |took_ns: i64| took_ns - self.band.center_ns + took_ns / NEAR_PATH_ONE_OF;
        wait.reaction.took_ns().map_or(0, as_near).max(MAX_TOLERANCE_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::case::Confidence;
    use crate::judge::causes::Cause;
    use crate::track::story::{Story, client, server};

    /// Releases on a grid of a radio link, in ms after the ACK.
    const GRID: [f64; 8] = [21.0, 27.0, 24.0, 27.5, 23.0, 26.5, 25.0, 22.5];

    /// A request, and the answer in two pieces; the ACK of the first and the second come so much later.
    fn exchange(story: Story, ack_ms: f64, release_ms: f64) -> Story {
        story
            .after_ms(5.0, client(100))
            .after_ms(36.0, server(100))
            .after_ms(ack_ms, client(0))
            .after_ms(release_ms, server(50))
            .after_ms(0.02, client(0))
    }

    /// How many stalls there are, all of them no more than likely; the first ACK comes at once, and the
    /// segment after it so much later.
    fn stalls(first_release_ms: f64) -> (usize, Reference) {
        let begun = exchange(Story::new().handshake(0.02, 20.0), 0.02, first_release_ms);
        let late = GRID.iter().fold(begun, |story, release_ms| exchange(story, 41.0, *release_ms));
        let mut told = late.end();
        let reference = told.reference();
        let (_, rulings) = told.judge();
        let held = rulings.iter().filter(|ruling| ruling.cause == Cause::NagleDelack);
        assert!(held.clone().all(|ruling| ruling.doubts.confidence() < Confidence::Certain));
        (held.count(), reference)
    }

    #[test]
    fn after_a_prompt_ack_it_came_at_once_so_the_late_ones_were_held() {
        assert_eq!(stalls(20.5), (GRID.len(), Reference::Ack));
    }

    #[test]
    fn a_program_that_pauses_after_a_prompt_ack_does_so_after_a_late_one() {
        assert_eq!(stalls(66.0), (0, Reference::RoundTrip));
    }
}
