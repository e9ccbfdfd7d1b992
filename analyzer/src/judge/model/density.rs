//! Where an ACK would release data, and when a program writes: densities known before anything is learnt.
//! All times in ms, all densities per ms.

use crate::judge::path::Path;
use crate::judge::statistics::{exponential, log_normal};
use crate::judge::thresholds::{
    BEYOND_BOUND_MS, IMPOSSIBLE, KERNEL_LATE, KERNEL_MS, LONG_RTT_MS, NEAR_SENDER_MS, PATH_BASE_MS,
    PATH_BASE_ONE_OF, PATH_LATE, PATH_SIDES, PATH_SPREAD, PATH_WIDTHS, PAUSES, QUEUE_ONE_OF,
    REACTION_MS, SHORTEST_PAUSE_MS, UNKNOWN_PATH,
};
use crate::rules;
use crate::track::reactions::Reactions;
use crate::track::thresholds::{MAX_TOLERANCE_NS, NETWORK_RTT_NS};

impl Path {
    /// Density of a release this long after its ACK.
    pub fn release(&self, release_ms: f64) -> f64 {
        let known = self.known();
        // Directions stamped apart by up to that are like a clock with steps of twice as much.
        let release_ms = release_ms + self.behind_ms;
        let at_sender = kernel(release_ms, self.step_ms + 2.0 * self.behind_ms);
        let long = (LONG_RTT_MS / release_ms.max(LONG_RTT_MS)).powi(3);
        let reach_ms = self.bound_ms() + BEYOND_BOUND_MS[2] + self.step_ms;
        let within = long * self.within(release_ms) / reach_ms;
        let [(here, across), (kernel_here, late)] = UNKNOWN_PATH;
        let unknown = if self.far {
            let is_local = release_ms < NETWORK_RTT_NS as f64 / 1e6;
            here * if is_local { at_sender } else { 0.0 } + across * within
        } else {
            kernel_here * at_sender + late * exponential(release_ms, NEAR_SENDER_MS)
        };
        let path = match (self.far, self.rtt_ms) {
            (true, Some(rtt_ms)) => self.across(release_ms - rtt_ms, rtt_ms),
            _ => at_sender,
        };
        known * path + (1.0 - known) * unknown
    }

    /// Across a network, `off_ms` after the round trip.
    pub fn across(&self, off_ms: f64, rtt_ms: f64) -> f64 {
        let (step_ms, jitter_ms) = (self.step_ms, self.jitter_ms);
        let base_ms = (PATH_BASE_MS.0 + rtt_ms / PATH_BASE_ONE_OF).min(PATH_BASE_MS.1);
        let [wide, late, very_late] = PATH_LATE;
        let core = 1.0 - wide - late - very_late;
        let [of_core, of_wide, of_late, of_very_late] = PATH_WIDTHS;
        let around = |least_ms: f64, (bases, jitters): (f64, f64)| {
            laplace(off_ms, least_ms + bases * base_ms + step_ms + jitters * jitter_ms)
        };
        let queue_ms = rtt_ms / QUEUE_ONE_OF;
        let density = core * around(PATH_SPREAD.0, of_core)
            + wide * around(0.0, of_wide)
            + late * around(0.0, of_late)
            + very_late * laplace(off_ms, of_very_late.0 * base_ms + queue_ms);
        density
            * match off_ms {
                0.0.. => PATH_SIDES.0,
                _ if off_ms >= -self.early_ms() => PATH_SIDES.1,
                _ => IMPOSSIBLE.0,
            }
    }

    /// Is it no longer than what bounds the round trip? The fastest reply does, but for the path's jitter.
    fn within(&self, release_ms: f64) -> f64 {
        let [margin_ms, tail_ms, _] = BEYOND_BOUND_MS;
        let over_ms = release_ms - self.bound_ms() - margin_ms - self.step_ms;
        let tail_ms = self.bound_ms() / QUEUE_ONE_OF + tail_ms;
        (-over_ms.max(0.0) / tail_ms).exp().max(IMPOSSIBLE.1)
    }

    /// How possible a place of releases is, whatever others show: not before the round trip, nor beyond what
    /// bounds it.
    pub fn allows(&self, release_ms: f64) -> f64 {
        if rules::off("allows") {
            return 1.0;
        }
        match (self.yardstick_ms(), self.far) {
            (Some(rtt_ms), _) if release_ms - rtt_ms < -self.early_ms() => {
                (1.0 - self.known()).max(IMPOSSIBLE.0)
            }
            (Some(rtt_ms), _) => {
                let late_ms =
                    (release_ms - rtt_ms).max(0.0) / (MAX_TOLERANCE_NS as f64 / 1e6 + rtt_ms);
                1.0 / (1.0 + late_ms * late_ms)
            }
            (None, true) => self.within(release_ms),
            (None, false) => {
                let late_ms = (release_ms - self.step_ms).max(0.0) / NEAR_SENDER_MS;
                1.0 / (1.0 + late_ms * late_ms)
            }
        }
    }
}

/// Density of a program's pause: each octave from 1 ms to 10 s is equally likely.
pub fn pause(pause_ms: f64) -> f64 {
    1.0 / (PAUSES * pause_ms.max(SHORTEST_PAUSE_MS))
}

/// Density of a program's answer this long after data, by its reactions with nothing outstanding.
pub fn answer(reactions: &Reactions, after_ms: f64, step_ms: f64) -> f64 {
    // In the middle of a clock's step.
    let after_ms = after_ms + step_ms / 2.0;
    let about = reactions.about((after_ms * 1e6) as i64) / (Reactions::WIDTH * after_ms);
    let usual = log_normal(after_ms, REACTION_MS.0, REACTION_MS.1);
    (about + usual) / f64::from(reactions.count() + 1)
}

/// At the sender's own host: the kernel's reaction, scheduling, and a jiffy now and then. The clock
/// has steps of `step_ms`.
pub fn kernel(release_ms: f64, step_ms: f64) -> f64 {
    let [(softirq, softirq_ms), (jiffy, jiffy_ms)] = KERNEL_LATE;
    let core = 1.0 - softirq - jiffy;
    core * log_normal(release_ms + step_ms / 2.0, KERNEL_MS.0 + step_ms / 2.0, KERNEL_MS.1)
        + softirq * exponential(release_ms, softirq_ms + step_ms)
        + jiffy * exponential(release_ms, jiffy_ms)
}

pub fn laplace(x: f64, width: f64) -> f64 {
    (-x.abs() / width).exp() / (2.0 * width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::path::Basis;

    fn path(rtt_ms: f64) -> Path {
        Path {
            rtt_ms: Some(rtt_ms),
            jitter_ms: 0.2,
            longest_ms: Some(rtt_ms),
            samples: 20,
            basis: Basis::Handshake,
            step_ms: 0.001,
            far: rtt_ms > 1.0,
            ..Path::default()
        }
    }

    fn mass(density: impl Fn(f64) -> f64) -> f64 {
        (0..200_000).map(|step| density(f64::from(step) * 2e-3 + 1e-3) * 2e-3).sum()
    }

    #[test]
    fn densities_sum_up_to_about_one() {
        for rtt_ms in [0.02, 26.0, 100.0] {
            let sum = mass(|release_ms| path(rtt_ms).release(release_ms));
            assert!((0.85..1.15).contains(&sum), "{rtt_ms} ms: {sum}");
        }
    }

    /// One release that is 0.7 ms late costs less than the claim that the program wrote there.
    #[test]
    fn a_late_release_speaks_less_for_a_hold_and_not_against_others() {
        let ratio = |release_ms: f64| path(0.02).release(release_ms) / pause(40.0 + release_ms);
        assert!(ratio(0.02) > 100.0);
        assert!((0.1..10.0).contains(&ratio(0.7)), "{}", ratio(0.7));
        assert!(ratio(9.0) < 0.1);
    }
}
