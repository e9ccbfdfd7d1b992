//! Latencies: few as they are, many as a histogram, so that memory follows neither the packets nor
//! the servers.

use std::mem;

/// A histogram takes some 10 kB, so up to here it pays to keep the latencies as they are.
const FEW: usize = 128;

/// Latencies in ns, none of them negative.
#[derive(Debug, Clone)]
pub enum Latency {
    Few(Vec<u64>),
    Many(Histogram),
}

/// How many latencies lie in each step: up to 2^8 ns a step for each, then 2^7 from each power of two to
/// the next. So a step is within 1 %, and its middle within half of that.
#[derive(Debug, Clone, Default)]
pub struct Histogram {
    steps: Vec<u32>,
    /// The longest of all that were recorded: people look for it in the capture.
    longest: u64,
}

const STEPS: usize = 1 << 7;

impl Histogram {
    fn of(values: &[u64]) -> Self {
        let mut many = Self::default();
        for &value in values {
            many.record(value);
        }
        many
    }

    fn record(&mut self, value: u64) {
        let step = Self::step(value);
        if step >= self.steps.len() {
            self.steps.resize(step + 1, 0);
        }
        self.steps[step] = self.steps[step].saturating_add(1);
        self.longest = self.longest.max(value);
    }

    fn step(value: u64) -> usize {
        let shift = (value | 0xff).ilog2() as usize - 7;
        shift * STEPS + (value >> shift) as usize
    }

    fn add(&mut self, more: &Self) {
        self.steps.resize(self.steps.len().max(more.steps.len()), 0);
        self.longest = self.longest.max(more.longest);
        self.change(more, u32::saturating_add);
    }

    fn change(&mut self, by: &Self, change: fn(u32, u32) -> u32) {
        self.steps.iter_mut().zip(&by.steps).for_each(|(count, &by)| *count = change(*count, by));
    }

    fn len(&self) -> u64 {
        self.steps.iter().map(|&count| u64::from(count)).sum()
    }

    /// The middle of the first step up to which at least this share lies; of the last step, which all do not
    /// exceed, the longest.
    fn quantile(&self, share: f64) -> u64 {
        let rank = ((share * self.len() as f64).ceil() as u64).max(1);
        let mut below = 0;
        let reaches = |count: &u32| {
            below += u64::from(*count);
            below >= rank
        };
        let Some(step) = self.steps.iter().position(reaches) else { return 0 };
        if share >= 1.0 && step == Self::step(self.longest) {
            return self.longest;
        }
        let shift = (step / STEPS).saturating_sub(1);
        (((step - shift * STEPS) as u64) << shift) + (1 << shift >> 1)
    }
}

impl Default for Latency {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl Latency {
    pub fn record(&mut self, latency_ns: u64) {
        match self {
            Self::Few(values) if values.len() < FEW => values.push(latency_ns),
            Self::Few(values) => {
                let mut many = Histogram::of(values);
                many.record(latency_ns);
                *self = Self::Many(many);
            }
            Self::Many(many) => many.record(latency_ns),
        }
    }

    /// Adds those of `more`.
    pub fn add(&mut self, more: &Self) {
        match (&mut *self, more) {
            (_, Self::Few(values)) => values.iter().for_each(|&value| self.record(value)),
            (Self::Many(many), Self::Many(more)) => many.add(more),
            (Self::Few(_), Self::Many(_)) => {
                let few = mem::replace(self, more.clone());
                self.add(&few);
            }
        }
    }

    pub fn len(&self) -> u64 {
        match self {
            Self::Few(values) => values.len() as u64,
            Self::Many(many) => many.len(),
        }
    }

    /// The least latencies that at least these shares, between 0 and 1, do not exceed; 0 where
    /// there are none.
    pub fn quantiles<const N: usize>(&self, shares: [f64; N]) -> [u64; N] {
        match self {
            Self::Few(values) => {
                let mut sorted = values.clone();
                sorted.sort_unstable();
                shares.map(|share| {
                    let rank = (share * sorted.len() as f64).ceil() as usize;
                    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
                })
            }
            Self::Many(many) => shares.map(|share| many.quantile(share)),
        }
    }

    /// The latencies as they would be if `from`, which are among them, were `to`.
    pub fn moved(&self, from: &Self, to: &Self) -> Self {
        let (Self::Few(values), Self::Few(from), Self::Few(to)) = (self, from, to) else {
            let mut many = self.histogram();
            many.change(&from.histogram(), u32::saturating_sub);
            many.add(&to.histogram());
            return Self::Many(many);
        };
        let mut moved = values.clone();
        for (from, to) in from.iter().zip(to) {
            if let Some(value) = moved.iter_mut().find(|value| *value == from) {
                *value = *to;
            }
        }
        Self::Few(moved)
    }

    fn histogram(&self) -> Histogram {
        match self {
            Self::Few(values) => Histogram::of(values),
            Self::Many(many) => many.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn latency(values_ms: impl IntoIterator<Item = u64>) -> Latency {
        let mut latency = Latency::default();
        values_ms.into_iter().for_each(|value_ms| latency.record(value_ms * MS));
        latency
    }

    #[test]
    fn few_latencies_keep_all_their_digits() {
        let latency = latency([41, 3, 7, 5]);
        assert_eq!(
            latency.quantiles([0.0, 0.5, 0.75, 0.76, 1.0]),
            [3, 5, 7, 41, 41].map(|ms| ms * MS)
        );
        assert_eq!(Latency::default().quantiles([0.5]), [0]);
    }

    #[test]
    fn many_latencies_are_within_half_a_percent() {
        let latency = latency(1..=1000);
        assert_eq!(latency.len(), 1000);
        for (found, right) in latency.quantiles([0.5, 0.99]).into_iter().zip([500, 990]) {
            assert!(
                found.abs_diff(right * MS) <= right * MS / 200,
                "{found} instead of {right} ms"
            );
        }
    }

    #[test]
    fn the_longest_of_many_keeps_all_its_digits() {
        let mut latency = latency(1..=1000);
        latency.record(1_234_567_891);
        assert_eq!(latency.quantiles([1.0]), [1_234_567_891]);
        let moved = latency.moved(&self::latency(500..=500), &self::latency(2..=2));
        assert_eq!(moved.quantiles([1.0]), [1_234_567_891]);
    }

    /// Parts of a scan are judged apart: put together they must be what one would have recorded.
    #[test]
    fn added_latencies_are_those_of_both() {
        for (first, second) in [(3, 5), (100, 100), (500, 3), (3, 500), (300, 400)] {
            let mut sum = latency(1..=first);
            sum.add(&latency(1000..1000 + second));
            let whole = latency((1..=first).chain(1000..1000 + second));
            assert_eq!(sum.len(), first + second);
            let shares = [0.0, 0.2, 0.5, 0.8, 1.0];
            assert_eq!(sum.quantiles(shares), whole.quantiles(shares));
        }
    }

    #[test]
    fn moved_latencies_are_those_that_would_have_been() {
        let few = latency([41, 1, 41]).moved(&latency([41]), &latency([2]));
        assert_eq!(few.quantiles([0.3, 0.6, 1.0]), [1, 2, 41].map(|ms| ms * MS));
        let many = latency((0..500).map(|_| 41)).moved(&latency([41; 300]), &latency([2; 300]));
        assert_eq!(many.len(), 500);
        assert!(many.quantiles([0.6])[0] < 3 * MS && many.quantiles([0.61])[0] > 40 * MS);
    }
}
