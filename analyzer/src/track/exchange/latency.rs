//! Latencies: few as they are, many as a histogram, so that memory follows neither the packets nor
//! the servers.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::mem;

/// A histogram takes some 10 kB, so up to here it pays to keep the latencies as they are.
const FEW: usize = 128;
/// Within 1 %; the middle of a histogram's step is within half of that.
const SIGNIFICANT_DIGITS: u8 = 2;

/// Latencies in ns, none of them negative.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Latency {
    Few(Vec<u64>),
    #[serde(with = "counts")]
    Many(Box<Histogram<u32>>),
}

/// A histogram is saved as its counts, one for each of its steps from 0 on.
mod counts {
    use super::{Histogram, SIGNIFICANT_DIGITS};
    use serde::{Deserialize, Deserializer, Serializer, de};

    /// More than a latency of a year needs, and fewer than 64 bits have.
    const MOST_STEPS: usize = 6000;

    pub fn serialize<S: Serializer>(many: &Histogram<u32>, to: S) -> Result<S::Ok, S::Error> {
        let end = many.highest_equivalent(many.max());
        let steps = many.iter_all().take_while(|step| step.value_iterated_to() <= end);
        to.collect_seq(steps.map(|step| step.count_at_value()).collect::<Vec<u32>>())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Box<Histogram<u32>>, D::Error> {
        let counts = Vec::<u32>::deserialize(from)?;
        let mut many = Histogram::new(SIGNIFICANT_DIGITS).map_err(de::Error::custom)?;
        let mut value = 0;
        for count in counts.into_iter().take(MOST_STEPS) {
            if count > 0 {
                many.record_n(value, count).map_err(de::Error::custom)?;
            }
            value = many.next_non_equivalent(value);
        }
        Ok(Box::new(many))
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
                let mut many = histogram(values);
                add(&mut many, latency_ns);
                *self = Self::Many(Box::new(many));
            }
            Self::Many(many) => add(many, latency_ns),
        }
    }

    /// Adds those of `more`.
    pub fn add(&mut self, more: &Self) {
        match (&mut *self, more) {
            (_, Self::Few(values)) => values.iter().for_each(|&value| self.record(value)),
            (Self::Many(many), Self::Many(more)) => {
                // A histogram that grows by itself refuses nothing.
                let _ = many.add(more.as_ref());
            }
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
            Self::Many(many) => {
                shares.map(|share| many.median_equivalent(many.value_at_quantile(share)))
            }
        }
    }

    /// As it would be if the latencies `from`, which are among these, were those of `to`.
    pub fn moved(&self, from: &Self, to: &Self) -> Self {
        let (Self::Few(values), Self::Few(from), Self::Few(to)) = (self, from, to) else {
            let mut many = self.histogram();
            // Those of `from` are in it, and it grows by itself: neither is refused.
            let _ = many.subtract(from.histogram());
            let _ = many.add(to.histogram());
            return Self::Many(Box::new(many));
        };
        let mut moved = values.clone();
        for (from, to) in from.iter().zip(to) {
            if let Some(value) = moved.iter_mut().find(|value| *value == from) {
                *value = *to;
            }
        }
        Self::Few(moved)
    }

    fn histogram(&self) -> Histogram<u32> {
        match self {
            Self::Few(values) => histogram(values),
            Self::Many(many) => Histogram::clone(many),
        }
    }
}

#[expect(clippy::expect_used, reason = "one to five digits are allowed")]
fn histogram(values: &[u64]) -> Histogram<u32> {
    let mut many = Histogram::new(SIGNIFICANT_DIGITS).expect("two significant digits");
    for &value in values {
        add(&mut many, value);
    }
    many
}

fn add(many: &mut Histogram<u32>, value: u64) {
    // A histogram that grows by itself refuses no value.
    let _ = many.record(value);
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

    #[test]
    fn saved_latencies_are_the_same() {
        for count in [3, 5000] {
            let values = latency((1..=count).map(|at| at * at % 977 + 1));
            let bytes = postcard::to_stdvec(&values).unwrap();
            let again: Latency = postcard::from_bytes(&bytes).unwrap();
            assert_eq!(again.len(), values.len());
            let shares = [0.0, 0.01, 0.5, 0.9, 0.999, 1.0];
            assert_eq!(again.quantiles(shares), values.quantiles(shares));
        }
        let endless = postcard::to_stdvec(&(1u32, vec![1u32; 20_000])).unwrap();
        assert!(postcard::from_bytes::<Latency>(&endless).is_ok());
    }
}
