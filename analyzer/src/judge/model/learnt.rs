//! Densities that are learnt from events: histograms of several widths, read between their bins.

use crate::judge::thresholds::WIDTHS_KNOWN;

/// Widths of one density, in ms, and the weight of each: what is narrow counts as narrow, and a
/// spread one is not lost.
pub type Widths = [(f64, f64); 3];

/// A weight that adds nothing.
const NOTHING: f64 = 1e-4;
/// Bins on either side of zero that a histogram has at most.
const MOST_BINS: f64 = (1 << 16) as f64;

/// Events along a line, in ms. Adding one and reading the density take constant time.
#[derive(Debug, Default)]
pub struct Learnt {
    bins: [Bins; 3],
    /// The sum of all weights.
    pub mass: f64,
}

/// One histogram; an event counts in the two bins beside it, by how near it is to each.
#[derive(Debug, Default)]
struct Bins {
    /// Bins per ms.
    per_ms: f64,
    weight: f64,
    weights: Vec<f32>,
    /// Bins that are not empty.
    used: Vec<u32>,
}

impl Learnt {
    /// Forgets all events.
    pub fn clear(&mut self, widths: Widths) {
        self.mass = 0.0;
        for (bins, (width_ms, weight)) in self.bins.iter_mut().zip(widths) {
            for at in bins.used.drain(..) {
                bins.weights[at as usize] = 0.0;
            }
            // A density of two bins is about as wide as an exponential one of half the width.
            bins.per_ms = 0.5 / width_ms;
            bins.weight = weight;
        }
    }

    pub fn add(&mut self, at_ms: f64, weight: f64) {
        self.mass += weight;
        if weight < NOTHING {
            return;
        }
        for bins in self.bins.iter_mut().filter(|bins| bins.weight > 0.0) {
            bins.add(at_ms, weight);
        }
    }

    /// Weighs its widths by how well each foretells every event from all others: even releases are
    /// narrow, those on a path with jitter are not.
    pub fn weigh_widths(&mut self, events: impl Iterator<Item = (f64, f64)>) {
        let mut weights = self.bins.each_ref().map(|bins| WIDTHS_KNOWN * bins.weight);
        for (at_ms, weight) in events.filter(|(_, weight)| *weight >= NOTHING) {
            let parts = self.bins.each_ref().map(|bins| bins.weight * bins.beside(at_ms, weight));
            let all: f64 = parts.iter().sum();
            if all > 0.0 {
                weights.iter_mut().zip(parts).for_each(|(sum, part)| *sum += weight * part / all);
            }
        }
        let all: f64 = weights.iter().sum();
        self.bins.iter_mut().zip(weights).for_each(|(bins, weight)| bins.weight = weight / all);
    }

    /// Weights of all events by their density at `at_ms`, per ms. Divided by `mass` it is the density of one.
    pub fn at(&self, at_ms: f64) -> f64 {
        let used = self.bins.iter().filter(|bins| bins.weight > 0.0);
        used.map(|bins| bins.weight * bins.at(at_ms)).sum()
    }

    /// The density that one event of weight 1 adds at its own place.
    pub fn own(&self, at_ms: f64) -> f64 {
        let used = self.bins.iter().filter(|bins| bins.weight > 0.0);
        used.map(|bins| bins.weight * bins.own(at_ms)).sum()
    }
}

impl Bins {
    /// The bin below, and how far beyond its middle this is.
    #[inline]
    fn place(&self, at_ms: f64) -> Option<(usize, f64)> {
        let place = at_ms * self.per_ms + MOST_BINS / 64.0;
        // Not `floor`: a call takes longer than all the rest.
        (0.0..MOST_BINS).contains(&place).then(|| {
            let below = place as usize;
            (below, place - below as f64)
        })
    }

    fn add(&mut self, at_ms: f64, weight: f64) {
        let Some((below, beyond)) = self.place(at_ms) else { return };
        if self.weights.len() < below + 2 {
            self.weights.resize(below + 2, 0.0);
        }
        for (at, share) in [(below, 1.0 - beyond), (below + 1, beyond)] {
            if self.weights[at] == 0.0 {
                self.used.push(at as u32);
            }
            self.weights[at] += (weight * share) as f32;
        }
    }

    fn at(&self, at_ms: f64) -> f64 {
        let Some((below, beyond)) = self.place(at_ms) else { return 0.0 };
        let weight = |at: usize| f64::from(self.weights.get(at).copied().unwrap_or(0.0));
        (weight(below) * (1.0 - beyond) + weight(below + 1) * beyond) * self.per_ms
    }

    /// The density of all others than an event of this weight.
    fn beside(&self, at_ms: f64, weight: f64) -> f64 {
        if self.weight > 0.0 { (self.at(at_ms) - weight * self.own(at_ms)).max(0.0) } else { 0.0 }
    }

    fn own(&self, at_ms: f64) -> f64 {
        let Some((_, beyond)) = self.place(at_ms) else { return 0.0 };
        (beyond * beyond + (1.0 - beyond) * (1.0 - beyond)) * self.per_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTHS: Widths = [(0.1, 0.4), (0.8, 0.3), (4.0, 0.3)];

    fn learnt(events_ms: &[f64]) -> Learnt {
        let mut learnt = Learnt::default();
        learnt.clear(WIDTHS);
        for &at_ms in events_ms {
            learnt.add(at_ms, 1.0);
        }
        learnt
    }

    #[test]
    fn the_density_of_all_events_sums_up_to_their_number() {
        let all = learnt(&[-3.0, 0.02, 40.0, 40.3, 200.0]);
        let sum: f64 = (-4000..40_000).map(|step| all.at(f64::from(step) * 0.01) * 0.01).sum();
        assert!((sum - all.mass).abs() < 0.01, "{sum}");
    }

    #[test]
    fn an_event_without_itself_is_forgotten() {
        let one = learnt(&[40.3]);
        assert!((one.at(40.3) - one.own(40.3)).abs() < 1e-6);
        let mut none = one;
        none.clear(WIDTHS);
        assert!(none.at(40.3) + none.mass < f64::EPSILON);
    }

    /// Hostile clocks: nothing is kept of what lies beyond all bins.
    #[test]
    fn events_out_of_reach_take_no_memory() {
        let far = learnt(&[f64::MAX, -1e12, f64::NAN]);
        assert!(far.bins.iter().all(|bins| bins.weights.is_empty()));
        assert!(far.at(1e12).abs() < f64::EPSILON);
    }
}
