//! How likely a program writes as close to an ACK as its kernel would: by accident.

use crate::judge::path::reference::Reference;
use crate::judge::path::releases::Releases;
use crate::judge::thresholds::{
    CHANCE_ALONE, CHANCE_AMONG_OTHERS, CHANCE_LIKELY, COARSE_CLOCK_NS, INDEPENDENT_HOLDS,
    RESOLUTION_NS,
};
use crate::track::wait::Wait;

impl Releases {
    /// How likely a release this close to the ACK is for an application that knows nothing of it.
    pub fn chance(&self, wait: &Wait) -> f64 {
        chance_within(self.blurred_off_ns(wait), wait)
    }

    /// How far off a release is, as exactly as that can be told.
    pub fn blurred_off_ns(&self, wait: &Wait) -> i64 {
        let blur_ns = match self.reference {
            Reference::RoundTrip => RESOLUTION_NS + self.clock_ns,
            // A place that is looked for is never as exact as that.
            Reference::Reaction | Reference::Timestamps(_) => self.closest_ns(),
            Reference::Ack => self.followed_blur_ns(wait),
        };
        self.off_ns(wait).abs().max(blur_ns)
    }

    /// Half of the releases in the band are as close, as exactly as that can be told.
    pub fn closest_ns(&self) -> i64 {
        self.spread_ns.max(RESOLUTION_NS + self.clock_ns)
    }

    /// Is it no accident that it left this close to the ACK?
    pub fn is_rare(&self, wait: &Wait) -> bool {
        let others = self.in_band > 1 && self.are_close(wait);
        self.chance(wait) < if others { CHANCE_AMONG_OTHERS } else { CHANCE_ALONE }
    }

    /// Is it likely enough by accident, as often as it happened?
    pub fn is_likely_by_accident(&self, wait: &Wait) -> bool {
        // Steady pauses of a program fall into the same step of a coarse clock each time.
        let independent = self.clock_ns < COARSE_CLOCK_NS;
        let holds = if independent { self.in_band.clamp(1, INDEPENDENT_HOLDS) } else { 1 };
        self.chance(wait).powi(holds as i32) >= CHANCE_LIKELY
    }

    /// Are others like it unlikely by accident, too? Of many accidents the closest is always close.
    pub fn are_close(&self, wait: &Wait) -> bool {
        chance_within(self.spread_ns, wait) < CHANCE_LIKELY
    }
}

/// How likely an application writes so close to an ACK by accident.
fn chance_within(off_ns: i64, wait: &Wait) -> f64 {
    (2.0 * off_ns as f64 / wait.span_ns().max(1) as f64).min(1.0)
}
