//! Where data lies that an ACK released: one round trip after it, as exactly as the path allows.
//!
//! The tracker asks it early, with what is known by then, so that it need not keep what can never be a
//! hold; judging asks it again when all is known.

use crate::track::thresholds::{
    JITTERS, LOCAL_TOLERANCE_NS, MAX_TOLERANCE_NS, NEAR, NETWORK_RTT_NS, NETWORK_TOLERANCE_NS,
};

/// The releases that an ACK explains, in ns after it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Band {
    /// Round trip between the capture point and the sender, as far as known.
    pub center_ns: i64,
    pub tolerance_ns: i64,
}

impl Band {
    /// Around a round trip, on a path with such a jitter; the clock ticks every `clock_ns`.
    pub fn new(center_ns: i64, jitter_ns: i64, clock_ns: i64) -> Self {
        let tolerance_ns = match center_ns {
            ..NETWORK_RTT_NS => LOCAL_TOLERANCE_NS,
            _ => (NETWORK_TOLERANCE_NS + JITTERS * jitter_ns).min(MAX_TOLERANCE_NS),
        };
        Self { center_ns, tolerance_ns: tolerance_ns + clock_ns }
    }

    /// Whatever jitter is still to be seen.
    pub fn widest(center_ns: i64, clock_ns: i64) -> Self {
        Self::new(center_ns, MAX_TOLERANCE_NS, clock_ns)
    }

    /// How late a release is; negative before the round trip.
    fn off_ns(&self, release_ns: i64) -> i64 {
        release_ns - self.center_ns
    }

    pub fn has(&self, release_ns: i64) -> bool {
        self.off_ns(release_ns).abs() <= self.tolerance_ns
    }

    /// How far the band and the neighbourhood on either side of it reach.
    fn reach_ns(&self) -> i64 {
        (1 + NEAR) * self.tolerance_ns
    }

    /// Is this release in the band or in its neighbourhood?
    pub fn reaches(&self, release_ns: i64) -> bool {
        self.off_ns(release_ns).abs() <= self.reach_ns()
    }

    /// Do the band and its neighbourhood end before this release?
    pub fn is_before(&self, release_ns: i64) -> bool {
        self.off_ns(release_ns) > self.reach_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerance_follows_the_path_not_a_share_of_the_round_trip() {
        let tolerance_ns = |rtt_ns, jitter_ns| Band::new(rtt_ns, jitter_ns, 0).tolerance_ns;
        assert_eq!(tolerance_ns(20_000, 5_000_000), LOCAL_TOLERANCE_NS);
        assert_eq!(tolerance_ns(1_900_000, 0), 2_000_000);
        assert_eq!(tolerance_ns(88_000_000, 100_000), 2_300_000);
        assert_eq!(tolerance_ns(88_000_000, 1_500_000), 6_500_000);
        assert_eq!(tolerance_ns(88_000_000, 7_000_000), MAX_TOLERANCE_NS);
    }

    #[test]
    fn what_the_tracker_drops_is_near_no_band_that_judging_can_find() {
        let widest = Band::widest(26_000_000, 1_000);
        for jitter_ns in [0, 1_000_000, 9_000_000] {
            let later_known = Band::new(26_000_000, jitter_ns, 1_000);
            let beyond = (0..100_000_000).step_by(500_000).filter(|&ns| widest.is_before(ns));
            assert!(beyond.into_iter().all(|release_ns| !later_known.reaches(release_ns)));
        }
    }
}
