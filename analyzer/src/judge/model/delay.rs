//! Was an ACK delayed by its receiver's timer, or by the path? The excess over the round trip, as a mixture of
//! the path's jitter and of timers, whose share and spread follow from all ACKs of the direction.

use crate::judge::model::density::{exponential, log_normal};
use crate::judge::thresholds::{DELAY_SHORTEST_MS, DELAY_TIMER, DELAY_TIMER_SHARE};

/// The longest delay by a timer, in ms (RFC 1122, section 4.2.3.2).
const LONGEST_MS: f64 = 500.0;
/// ACKs from which the mixture is fitted, and rounds in which it is.
const MOST: usize = 64;
const ROUNDS: usize = 12;
/// A share that moves by less has settled.
const SETTLED: f64 = 1e-3;
/// The spread of the path, in ms: within a host, and at most across a network.
const SPREAD_NEAR_MS: f64 = 0.5;
const SPREAD_FAR_MS: f64 = 12.0;

/// The path to a receiver, as far as it was measured, in ms.
#[derive(Debug, Clone, Copy)]
pub struct WayToReceiver {
    pub rtt_ms: f64,
    pub jitter_ms: f64,
    pub samples: u16,
    pub step_ms: f64,
}

/// The mixture, fitted.
#[derive(Debug, Clone, Copy)]
pub struct Delays {
    /// Share of ACKs that a timer delayed.
    timer: f64,
    /// Mean excess of the others.
    spread_ms: f64,
}

impl Delays {
    /// From the times of `acks_ms` after the data that they acknowledge.
    pub fn of(acks_ms: &[f64], way: WayToReceiver) -> Self {
        let step = acks_ms.len().div_ceil(MOST).max(1);
        let excess = acks_ms.iter().step_by(step).map(|ack_ms| (ack_ms - way.rtt_ms).max(0.0));
        let excess: Vec<(f64, Densities)> = excess.map(|ms| (ms, Densities::of(ms))).collect();
        let far = way.rtt_ms > 1.0;
        let least_ms = if far { 0.3 } else { 0.1 };
        let most_ms = way.step_ms + if far { SPREAD_FAR_MS } else { SPREAD_NEAR_MS };
        let usual_ms = way.jitter_ms.max(least_ms) + way.step_ms;
        let weight = 2.0 + f64::from(way.samples.min(40));
        let mut fit = Self { timer: 0.5, spread_ms: usual_ms };
        for _ in 0..ROUNDS {
            let (mut late, mut prompt, mut prompt_ms) = (0.0, 0.0, 0.0);
            for (excess_ms, densities) in &excess {
                let delayed = fit.delayed_by(*excess_ms, *densities);
                late += delayed;
                prompt += 1.0 - delayed;
                prompt_ms += (1.0 - delayed) * excess_ms;
            }
            let spread_ms = (prompt_ms + weight * usual_ms).max(0.3) / (prompt + weight);
            let timer = (late + 0.5) / (excess.len() as f64 + 1.0);
            let settled = (timer - fit.timer).abs() < SETTLED;
            fit = Self { timer, spread_ms: spread_ms.min(most_ms) };
            if settled {
                break;
            }
        }
        fit
    }

    /// Probability that a timer delayed an ACK that came this much later than the round trip.
    pub fn delayed(&self, excess_ms: f64) -> f64 {
        self.delayed_by(excess_ms, Densities::of(excess_ms))
    }

    fn delayed_by(&self, excess_ms: f64, densities: Densities) -> f64 {
        let timer = self.timer * densities.timer;
        let path = 0.98 * exponential(excess_ms, self.spread_ms) + 0.02 * densities.queue;
        timer / (timer + (1.0 - self.timer) * path + 1e-300)
    }
}

/// Densities of an excess that do not depend on the fit.
#[derive(Debug, Clone, Copy)]
struct Densities {
    timer: f64,
    queue: f64,
}

impl Densities {
    fn of(excess_ms: f64) -> Self {
        Self { timer: timer(excess_ms), queue: exponential(excess_ms, 2.0) }
    }
}

/// Density of the delays that timers make: around 40 ms mostly.
fn timer(excess_ms: f64) -> f64 {
    let broad = 1.0 / (excess_ms.max(1.0) * (LONGEST_MS / DELAY_SHORTEST_MS).ln());
    match excess_ms {
        ..DELAY_SHORTEST_MS => 1e-6,
        _ => {
            DELAY_TIMER_SHARE * log_normal(excess_ms, DELAY_TIMER.0, DELAY_TIMER.1)
                + (1.0 - DELAY_TIMER_SHARE) * broad
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delayed(acks_ms: &[f64], rtt_ms: f64, jitter_ms: f64) -> Vec<bool> {
        let way = WayToReceiver { rtt_ms, jitter_ms, samples: 20, step_ms: 0.001 };
        let delays = Delays::of(acks_ms, way);
        acks_ms.iter().map(|ack_ms| delays.delayed((ack_ms - rtt_ms).max(0.0)) > 0.5).collect()
    }

    #[test]
    fn timers_are_told_from_paths() {
        assert_eq!(delayed(&[40.1, 44.0, 43.2, 0.1], 0.05, 0.01), [true, true, true, false]);
        assert_eq!(delayed(&[26.1, 26.4, 66.3], 26.0, 0.3), [false, false, true]);
        // A path with 8 ms of jitter is late by 12 and by 15 ms now and then.
        assert!(!delayed(&[108.0, 112.0, 100.5, 115.0, 103.0, 106.0], 100.0, 8.0).contains(&true));
    }
}
