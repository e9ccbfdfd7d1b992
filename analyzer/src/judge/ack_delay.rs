//! Was an ACK delayed by its receiver's timer, or by the path? The one answer: the excess over the
//! round trip is a mixture of the path's jitter and of timers, whose share and spread follow from
//! all ACKs of the direction.

use crate::judge::path::Path;
use crate::judge::statistics::{exponential, log_normal};
use crate::judge::thresholds::{
    ACK_SPREAD_KNOWN, ACK_SPREAD_MS, DELAY_KNOWN_MS, DELAY_SHORTEST_MS, DELAY_TIMER,
    DELAY_TIMER_SHARES, QUEUE_MS, QUEUE_ONE_OF, QUEUED,
};
use crate::judge::ticks;
use crate::rules;
use crate::track::Side;
use crate::track::thresholds::{LONGEST_DELAYED_ACK_NS, NETWORK_RTT_NS, SHORTEST_DELAYED_ACK_NS};
use crate::track::wait::{Wait, fact};

/// ACKs from which the mixture is fitted, and rounds in which it is.
const MOST: usize = 64;
const ROUNDS: usize = 12;
/// A share that moves by less has settled.
const SETTLED: f64 = 1e-3;

/// How the ACKs of a receiver come.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AckDelay {
    /// Nothing bounds the round trip to it where there is none.
    mixture: Option<Mixture>,
    /// No round trip to it was measured, and its ACKs leave on the ticks of a timer.
    is_on_ticks: bool,
    /// How long it took to answer the SYN, if that was long: no timer delays that.
    pub syn_took_ns: Option<i64>,
}

/// The mixture, fitted. Times in ms.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Mixture {
    rtt_ms: f64,
    /// Share of prompt ACKs that a queue delayed, and by how much on average.
    queue: f64,
    queue_ms: f64,
    /// Share of ACKs that a timer delayed.
    timer: f64,
    /// Mean excess of the others.
    spread_ms: f64,
}

impl AckDelay {
    /// Delays of the ACKs that `side` got from the `receiver` of its data, by all `waits` of both.
    pub fn of(side: Side, waits: &[Wait], receiver: &Path) -> Self {
        // A retransmission cuts the delay short.
        let is_own = |wait: &&Wait| {
            wait.by == side && wait.has_pure_ack() && wait.is_evidence() && !wait.is(fact::RESENT)
        };
        let acks = waits.iter().filter(is_own);
        let times = acks.clone().map(|wait| (wait.ack.time_ns, wait.ack_ns()));
        let is_on_ticks = !receiver.is_measured() && ticks::show(times, receiver.step_ms);
        let Some(rtt_ms) = receiver.longest_ms else {
            return Self { is_on_ticks, ..Self::default() };
        };
        let late_ms = acks.map(|wait| wait.ack_ns() as f64 / 1e6);
        let late =
            |wait: &&Wait| wait.by != side && wait.is_connecting() && !wait.is(fact::RETRANSMITTED);
        Self {
            mixture: Some(Mixture::of(&late_ms.collect::<Vec<f64>>(), rtt_ms, receiver)),
            is_on_ticks,
            syn_took_ns: waits.iter().find(late).map(Wait::span_ns),
        }
    }

    #[cfg(test)]
    pub fn of_round_trip(rtt_ms: f64) -> Self {
        let path = Path { jitter_ms: 0.1, samples: 20, step_ms: 0.001, ..Path::default() };
        Self { mixture: Some(Mixture::of(&[rtt_ms + 42.0], rtt_ms, &path)), ..Self::default() }
    }

    /// Do its ACKs leave on the ticks of a timer, where nothing else tells how late they are?
    pub fn are_on_ticks(&self) -> bool {
        self.is_on_ticks
    }

    /// Did the receiver's timer delay the ACK of this wait, beyond what the path explains?
    #[inline]
    pub fn is_delayed(&self, wait: &Wait) -> bool {
        wait.is(fact::PURE_ACK) && self.is_pure_ack_delayed(wait)
    }

    fn is_pure_ack_delayed(&self, wait: &Wait) -> bool {
        let ack_ms = wait.ack_ns() as f64 / 1e6;
        let is_by_timer = match self.mixture {
            _ if self.is_on_ticks => ack_ms >= DELAY_SHORTEST_MS,
            Some(mixture) => mixture.delayed(ack_ms) > 0.5,
            None => false,
        };
        if rules::off("delay") {
            return wait.ack_ns() >= SHORTEST_DELAYED_ACK_NS;
        }
        is_by_timer && !self.is_path_slow(wait)
    }

    /// Is it the first data, and took the answer to the SYN before as long?
    fn is_path_slow(&self, wait: &Wait) -> bool {
        let is_first = wait.rel_seq == u64::from(wait.unacked_len);
        let took_ns = self.syn_took_ns.filter(|_| is_first);
        took_ns.is_some_and(|took_ns| wait.ack_ns() <= took_ns + SHORTEST_DELAYED_ACK_NS)
    }
}

/// Jitter is blamed on the path, except on a local network, where it must be the receiver's own delay.
fn path_jitter_ms(receiver: &Path) -> f64 {
    match receiver.is_across_network() {
        true => receiver.jitter_ms,
        false => receiver.jitter_ms.min(receiver.rtt_or_zero_ms()),
    }
}

impl Mixture {
    /// From the times of `acks_ms` after their data, over a path that takes `rtt_ms` at most.
    fn of(acks_ms: &[f64], rtt_ms: f64, path: &Path) -> Self {
        let step = acks_ms.len().div_ceil(MOST).max(1);
        let excess = acks_ms.iter().step_by(step).map(|ack_ms| (ack_ms - rtt_ms).max(0.0));
        let far = rtt_ms > NETWORK_RTT_NS as f64 / 1e6;
        // A path that few round trips show may have any queue, and a long one longer queues.
        let unseen = if far { QUEUED.1 / f64::from(1 + path.samples) } else { 0.0 };
        let queue = QUEUED.0 + unseen;
        let queue_ms = QUEUE_MS + if far { rtt_ms / QUEUE_ONE_OF } else { 0.0 };
        let excess: Vec<(f64, ExcessDensities)> =
            excess.map(|ms| (ms, ExcessDensities::of(ms, queue_ms))).collect();
        let (least_ms, most_ms) = ACK_SPREAD_MS[usize::from(far)];
        let most_ms = path.step_ms + most_ms;
        let usual_ms = path_jitter_ms(path).max(least_ms) + path.step_ms;
        let weight = f64::from(ACK_SPREAD_KNOWN.0 + path.samples.min(ACK_SPREAD_KNOWN.1));
        let mut fit = Self { rtt_ms, queue, queue_ms, timer: 0.5, spread_ms: usual_ms };
        for _ in 0..ROUNDS {
            let (mut late, mut prompt, mut prompt_ms) = (0.0, 0.0, 0.0);
            for (excess_ms, densities) in &excess {
                // An ACK that a queue delayed says nothing of the spread of the others.
                let [delayed, spread] = fit.shares_of(*excess_ms, *densities);
                late += delayed;
                prompt += spread;
                prompt_ms += spread * excess_ms;
            }
            let spread_ms = (prompt_ms + weight * usual_ms).max(0.3) / (prompt + weight);
            let timer = (late + 0.5) / (excess.len() as f64 + 1.0);
            let settled = (timer - fit.timer).abs() < SETTLED;
            fit = Self { timer, spread_ms: spread_ms.min(most_ms), ..fit };
            if settled {
                break;
            }
        }
        fit
    }

    /// Probability that a timer delayed an ACK that came this much later than its data.
    fn delayed(&self, ack_ms: f64) -> f64 {
        let excess_ms = (ack_ms - self.rtt_ms).max(0.0);
        self.shares_of(excess_ms, ExcessDensities::of(excess_ms, self.queue_ms))[0]
    }

    /// Probabilities that a timer delayed an ACK, and that neither a timer nor a queue did.
    fn shares_of(&self, excess_ms: f64, densities: ExcessDensities) -> [f64; 2] {
        let timer = self.timer * densities.timer;
        let prompt = 1.0 - self.timer;
        let spread = prompt * (1.0 - self.queue) * exponential(excess_ms, self.spread_ms);
        let all = timer + spread + prompt * self.queue * densities.queue + 1e-300;
        [timer, spread].map(|part| part / all)
    }
}

/// Densities of an excess that do not depend on the fit.
#[derive(Debug, Clone, Copy)]
struct ExcessDensities {
    timer: f64,
    queue: f64,
}

impl ExcessDensities {
    fn of(excess_ms: f64, queue_ms: f64) -> Self {
        Self { timer: timer(excess_ms), queue: exponential(excess_ms, queue_ms) }
    }
}

/// Density of the delays that timers make: around 40 ms mostly, else anything from 35 to 250 ms,
/// and rarely shorter or longer.
fn timer(excess_ms: f64) -> f64 {
    if excess_ms < DELAY_SHORTEST_MS {
        return 1e-6;
    }
    let even = |(from_ms, to_ms): (f64, f64)| {
        let within = (from_ms..to_ms).contains(&excess_ms);
        if within { 1.0 / (excess_ms * (to_ms / from_ms).ln()) } else { 0.0 }
    };
    let [usual, known, rare] = DELAY_TIMER_SHARES;
    usual * log_normal(excess_ms, DELAY_TIMER.0, DELAY_TIMER.1)
        + known * even(DELAY_KNOWN_MS)
        + rare * even((DELAY_SHORTEST_MS, LONGEST_DELAYED_ACK_NS as f64 / 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::story::{Story, client, server};

    fn delayed(acks_ms: &[f64], rtt_ms: f64, jitter_ms: f64) -> Vec<bool> {
        let shortest_ns = Some((rtt_ms * 1e6) as i64);
        let known = Path { rtt_ms: Some(rtt_ms), shortest_ns, jitter_ms, ..Path::default() };
        let path = Path { samples: 20, step_ms: 0.001, ..known };
        let mixture = Mixture::of(acks_ms, rtt_ms, &path);
        acks_ms.iter().map(|&ack_ms| mixture.delayed(ack_ms) > 0.5).collect()
    }

    #[test]
    fn timers_are_told_from_paths() {
        assert_eq!(delayed(&[40.1, 44.0, 43.2, 0.1], 0.05, 0.01), [true, true, true, false]);
        assert_eq!(delayed(&[26.1, 26.4, 66.3], 26.0, 0.3), [false, false, true]);
        // No timer may run for more than half a second, so that the way is as long.
        assert_eq!(delayed(&[486.0, 486.0], 60.0, 0.1), [true, true]);
        assert_eq!(delayed(&[686.0, 686.0], 60.0, 0.1), [false, false]);
        // A path with 8 ms of jitter is late by 12 and by 15 ms now and then.
        assert!(!delayed(&[108.0, 112.0, 100.5, 115.0, 103.0, 106.0], 100.0, 8.0).contains(&true));
    }

    /// By satellites: the ACKs come 43 ms later than the round trip of 1.2 s.
    #[test]
    fn a_round_trip_of_more_than_a_second_has_delays_too() {
        let sent = |story: Story, ack_ms: f64| {
            let held = story.after_ms(5.0, client(100)).after_ms(ack_ms, server(0));
            held.after_ms(0.02, client(50)).after_ms(1200.0, server(200))
        };
        let acks_ms = [1243.0, 1200.3, 1242.5];
        let told = acks_ms.into_iter().fold(Story::new().handshake(0.02, 1200.0), sent).end();
        let path = Path::of(told.half(Side::Server), 1000);
        let delay = AckDelay::of(Side::Client, &told.waits, &path);
        let own = told.waits.iter().filter(|wait| wait.by == Side::Client);
        let late: Vec<bool> = own.map(|wait| delay.is_delayed(wait)).collect();
        assert_eq!(late, [true, false, true]);
    }
}
