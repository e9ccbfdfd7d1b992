//! Was Nagle's algorithm on at each wait of a direction? A chain of two states, with a small chance of a
//! switch, over likelihood ratios and contradictions (forward-backward: Rabiner 1989).

use crate::judge::thresholds::{
    BURST_CONTRADICTIONS, COARSE_CLOCK_MS, CONTRADICTION, ROUNDED, SESSIONS_SET_LATER, SET_LATER,
    SHARES, SWITCH, SWITCHERS, TOGGLED,
};
use crate::rules;

/// A share of holds that is less likely than this changes nothing.
const NEGLIGIBLE: f64 = 1e-4;

/// Evidence of a direction other than the ratios of its waits.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// Small segments sent unheld, before each wait and behind the last.
    pub contradictions: &'a [u32],
    /// Would each wait have ended unheld had the option been set? Not what awaits a window or answers data.
    pub shows: &'a [bool],
    /// May late ACKs be missing that released those, as other frames are?
    pub late: bool,
    /// May the capture hide segments that left unheld?
    pub is_hidden: bool,
    /// Step of the clock.
    pub step_ms: f64,
    /// Does its protocol set the option once the session has begun?
    pub sets_later: bool,
}

/// The chain of a direction.
#[derive(Debug, Clone, Default)]
pub struct Chain {
    /// Probability that the algorithm was on, at each wait.
    pub on: Vec<f32>,
    /// How likely each of the shares is.
    pub shares: [f64; 5],
    /// Logarithm of how much likelier all waits are with it on than off.
    pub evidence: f64,
}

impl Chain {
    /// By likelihood `ratios`, from log-odds that the algorithm is on.
    pub fn of(ratios: &[f32], evidence: Evidence<'_>, log_odds: f64) -> Self {
        let contradiction = if evidence.late { CONTRADICTION.1 } else { CONTRADICTION.0 };
        let cost: Vec<f64> = evidence
            .contradictions
            .iter()
            .map(|&count| contradiction.powi(count.min(BURST_CONTRADICTIONS) as i32))
            .collect();
        let weight = independence(ratios.len(), evidence.step_ms);
        let both = ratios.iter().zip(evidence.shows);
        let shows: Vec<bool> = both.map(|(&ratio, &shows)| shows && is_known(ratio)).collect();
        let count = shows.iter().filter(|shows| **shows).count() as f64;
        let mut all = Self { on: vec![0.0; ratios.len()], ..Self::default() };
        let after = cost[ratios.len()];
        // Where nothing contradicts, a switch explains nothing.
        let contradicted = evidence.contradictions.iter().any(|&count| count > 0);
        let (later, sets_later) = match evidence.sets_later {
            true => (SESSIONS_SET_LATER.0, (SESSIONS_SET_LATER.1, SET_LATER.1)),
            false => (SWITCHERS.0, SET_LATER),
        };
        let switches = [
            ((SWITCH, SWITCH), 1.0 - later - SWITCHERS.1),
            (sets_later, later),
            ((TOGGLED, TOGGLED), SWITCHERS.1),
        ];
        let is_asked = contradicted && !rules::off("switches");
        let switches = &switches[..if is_asked { switches.len() } else { 1 }];
        // With the option set the same share would have left unheld: the likelihood that none did.
        let is_silent = !contradicted && !evidence.is_hidden;
        let unheld = SHARES.map(|share| if is_silent { 1.0 - share } else { 1.0 });
        let mut passes = Vec::with_capacity(SHARES.len() * switches.len());
        for (at, (share, unheld)) in SHARES.into_iter().zip(unheld).enumerate() {
            let power = |ratio: f32, shows: bool| {
                let off = if shows { unheld } else { 1.0 };
                let mixed = (1.0 - share + share * f64::from(ratio)) / off;
                if weight < 1.0 { mixed.powf(weight) } else { mixed }
            };
            for &(switch, chance) in switches {
                // Many ratios are at their bound.
                let mut last = (1.0_f32, true, power(1.0, true));
                let emits = |((&ratio, &shows), &cost): ((&f32, &bool), &f64)| {
                    if ratio.to_bits() != last.0.to_bits() || shows != last.1 {
                        last = (ratio, shows, power(ratio, shows));
                    }
                    // It may have been cleared since what contradicts.
                    (cost + (1.0 - cost) * switch.1) * last.2
                };
                let emitted = ratios.iter().zip(&shows).zip(&cost).map(emits);
                passes.push((at, chance, Forward::of(emitted, after, log_odds, switch)));
            }
        }
        let silence = unheld.map(|unheld| weight * count * unheld.ln());
        let log = |(at, _, pass): &(usize, f64, Forward)| silence[*at] + pass.log;
        let best = passes.iter().map(log).fold(f64::NEG_INFINITY, f64::max);
        let likelihood = |pass: &(usize, f64, Forward)| pass.1 * (log(pass) - best).exp();
        let sum: f64 = passes.iter().map(likelihood).sum();
        // The last share is the least, so that its logarithm is the largest.
        let most = silence[SHARES.len() - 1];
        let off: f64 = silence.iter().map(|log| (log - most).exp()).sum();
        all.evidence = best - most + (sum / off).ln();
        for pass in &passes {
            let part = likelihood(pass) / sum;
            all.shares[pass.0] += part;
            if part > NEGLIGIBLE {
                pass.2.add_backward(after, part, &mut all.on);
            }
        }
        all
    }

    /// Probability that the wait of this ratio was a hold, before others like it are asked.
    pub fn held(&self, at: usize, ratio: f64) -> f64 {
        let by_share = self.shares.iter().zip(SHARES);
        let held: f64 = by_share.map(|(weight, share)| weight * of_share(share, ratio)).sum();
        f64::from(self.on[at]) * held
    }
}

/// Does it tell anything? Where no path is known, it is one.
fn is_known(ratio: f32) -> bool {
    ratio.to_bits() != 1.0_f32.to_bits()
}

/// Probability of a hold while the algorithm is on.
pub fn of_share(share: f64, ratio: f64) -> f64 {
    share * ratio / (1.0 - share + share * ratio)
}

/// The exponent by which the evidence of `waits` counts: a clock with steps rounds many to the same
/// length.
fn independence(waits: usize, step_ms: f64) -> f64 {
    let coarse = rules::weight("coarse", (step_ms / COARSE_CLOCK_MS).min(1.0));
    let (exponent, by_clock) = ROUNDED;
    let counted = coarse * coarse * waits.max(1) as f64;
    counted.powf(-exponent - by_clock * coarse).min(1.0)
}

/// Chances that `TCP_NODELAY` is set, and cleared, between two waits.
type Switch = (f64, f64);

/// The way forward through the waits, for one share of holds.
struct Forward {
    /// Log-likelihood of all that the waits emitted.
    log: f64,
    switch: Switch,
    /// Per wait: its emission if the algorithm was on, and the filtered probabilities of on and off.
    steps: Vec<(f64, f64, f64)>,
}

impl Forward {
    fn of(
        emitted: impl ExactSizeIterator<Item = f64>,
        after: f64,
        log_odds: f64,
        switch: Switch,
    ) -> Self {
        let mut steps = Vec::with_capacity(emitted.len());
        let (mut on, mut off) = (logistic(log_odds), logistic(-log_odds));
        // Logarithms are dear: of a product, while it is neither too small nor too large.
        let (mut log, mut product) = (0.0, 1.0_f64);
        for emitted in emitted {
            if !steps.is_empty() {
                (on, off) = switched(on, off, switch);
            }
            on *= emitted;
            let sum = on + off;
            product *= sum;
            if !(1e-200..1e200).contains(&product) {
                log += product.ln();
                product = 1.0;
            }
            (on, off) = (on / sum, off / sum);
            steps.push((emitted, on, off));
        }
        let (back_on, back_off) = back(after, 1.0, switch);
        log += product.ln() + (on * back_on + off * back_off).ln();
        Self { log, switch, steps }
    }

    /// Goes back, and adds the probability of being on at each wait, by this weight.
    fn add_backward(&self, after: f64, weight: f64, to: &mut [f32]) {
        let (mut back_on, mut back_off) = back(after, 1.0, self.switch);
        for (&(emitted, on, off), to) in self.steps.iter().zip(to).rev() {
            *to += (weight * on * back_on / (on * back_on + off * back_off)) as f32;
            back_on *= emitted;
            let sum = back_on + back_off;
            (back_on, back_off) = back(back_on / sum, back_off / sum, self.switch);
        }
    }
}

/// On and off, one wait later.
fn switched(on: f64, off: f64, (sets, clears): Switch) -> (f64, f64) {
    (on + off * clears - on * sets, off + on * sets - off * clears)
}

/// How likely all that follows is, from on and from off, one wait earlier.
fn back(on: f64, off: f64, (sets, clears): Switch) -> (f64, f64) {
    (on + (off - on) * sets, off + (on - off) * clears)
}

pub fn logistic(log_odds: f64) -> f64 {
    1.0 / (1.0 + (-log_odds).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_that_a_clock_rounds_are_not_independent() {
        assert!((independence(400, 0.001) - 1.0).abs() < 1e-9);
        assert!(independence(400, 0.1) < 0.6);
        assert!(independence(50, 10.0) < independence(50, 0.1) / 2.0);
    }
}
