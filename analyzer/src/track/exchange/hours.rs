//! Exchanges counted by server, hour and latency.

use crate::track::exchange::Exchange;
use hashbrown::HashMap;

const HOUR_NS: i64 = 3_600_000_000_000;
/// Steps of latencies between a number of microseconds and its double.
const STEPS: f64 = 8.0;

/// The key by which exchanges are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hour {
    /// Place of the server among all.
    pub server: u32,
    /// Begin of the hour in which the exchanges end.
    pub begin_ns: i64,
    /// They take from 2^(bucket/8) microseconds to less than 2^((bucket+1)/8); in the first one, less too.
    pub bucket: u16,
}

/// How many exchanges there are of each.
pub type Hours = HashMap<Hour, u64, foldhash::fast::RandomState>;

impl Hour {
    pub fn of(exchange: &Exchange, server: u32) -> Self {
        let end_ns = exchange.end.time_ns;
        let us = exchange.latency_ns() as f64 / 1e3;
        Self {
            server,
            begin_ns: end_ns - end_ns.rem_euclid(HOUR_NS),
            bucket: (STEPS * us.max(1.0).log2()) as u16,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::Mark;

    #[test]
    fn an_exchange_counts_in_the_hour_of_its_end_and_by_its_latency() {
        let hour = |from_ns: i64, latency_ns: i64| {
            let (begin, end) = (from_ns, from_ns + latency_ns);
            let [begin, end] = [begin, end].map(|time_ns| Mark { time_ns, frame: 1 });
            let exchange = Exchange::between(0, begin, end);
            let Hour { begin_ns, bucket, .. } = Hour::of(&exchange, 0);
            (begin_ns / HOUR_NS, bucket)
        };
        assert_eq!(hour(0, 0), (0, 0));
        assert_eq!(hour(5 * HOUR_NS - 1, 1), (5, 0));
        assert_eq!(hour(5 * HOUR_NS - 1, 0), (4, 0));
        let buckets = [1_000, 1_090, 1_091, 1_999, 2_000, 1_024_000, i64::MAX / 2]
            .map(|latency_ns| hour(0, latency_ns).1);
        assert_eq!(buckets, [0, 0, 1, 7, 8, 80, 416]);
    }
}
