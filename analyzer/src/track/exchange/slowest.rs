//! The slowest exchanges, and some of all to compare them with: a capture may hold millions.

use crate::track::exchange::{Exchange, numbered};
use crate::track::table::key::SHARDS;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The slowest ones that a shard keeps, and of all again as many: 1,024 in all, more than any report shows.
const MOST: usize = 1024 / SHARDS;

/// The slowest exchanges, and a sample of all.
#[derive(Debug, Clone)]
pub struct Slowest {
    slow: Vec<Exchange>,
    /// Latency, last frame and place of each of them in a shard; the quickest comes first.
    order: BinaryHeap<Reverse<(i64, Reverse<u32>, u32)>>,
    /// No exchange that was left out is slower.
    floor_ns: i64,
    /// One of this many is picked, less one: a power of two is.
    skipped: u64,
    seen: u64,
    pub sample: Vec<Exchange>,
}

impl Default for Slowest {
    fn default() -> Self {
        let (slow, order, sample) = (Vec::new(), BinaryHeap::new(), Vec::new());
        Self { slow, order, floor_ns: -1, skipped: 0, seen: 0, sample }
    }
}

impl Slowest {
    #[inline]
    pub fn add(&mut self, exchange: &Exchange) {
        let latency_ns = exchange.latency_ns();
        if latency_ns > self.floor_ns {
            self.push(exchange, latency_ns);
        }
        if self.seen & self.skipped == 0 {
            self.pick(exchange);
        }
        self.seen += 1;
    }

    #[inline(never)]
    fn push(&mut self, exchange: &Exchange, latency_ns: i64) {
        let row = |place| Reverse((latency_ns, Reverse(exchange.end.frame), place));
        if self.slow.len() < MOST {
            self.order.push(row(self.slow.len() as u32));
            self.slow.push(*exchange);
        } else if let Some(mut quickest) = self.order.peek_mut() {
            let place = quickest.0.2;
            self.slow[place as usize] = *exchange;
            *quickest = row(place);
        }
        if self.slow.len() == MOST {
            self.floor_ns = self.order.peek().map_or(-1, |quickest| quickest.0.0);
        }
    }

    #[inline(never)]
    fn pick(&mut self, exchange: &Exchange) {
        if self.sample.len() == MOST {
            let mut at = 0;
            self.sample.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.skipped = 2 * self.skipped + 1;
        }
        self.sample.push(*exchange);
    }

    /// Adds those of a shard whose connections have these `numbers`.
    pub fn extend(&mut self, shard: Self, numbers: &[u32]) {
        self.floor_ns = self.floor_ns.max(shard.floor_ns);
        self.slow.extend(numbered(shard.slow, numbers));
        self.sample.extend(numbered(shard.sample, numbers));
    }

    /// Adds those of another capture.
    pub fn extend_by(&mut self, more: Self) {
        self.floor_ns = self.floor_ns.max(more.floor_ns);
        self.slow.extend(more.slow);
        self.sample.extend(more.sample);
    }

    /// Keeps the exchanges that `stays` accepts, and changes them.
    pub fn keep(&mut self, stays: impl Fn(&Exchange) -> bool, change: impl Fn(&mut Exchange)) {
        for rows in [&mut self.slow, &mut self.sample] {
            rows.retain(&stays);
            rows.iter_mut().for_each(&change);
        }
    }

    /// The slowest ones, the slowest first: any other one is as fast as all of them, or faster.
    pub fn slow(&self) -> Vec<&Exchange> {
        let mut slow: Vec<&Exchange> =
            self.slow.iter().filter(|row| row.latency_ns() >= self.floor_ns).collect();
        slow.sort_unstable_by_key(|row| (Reverse(row.latency_ns()), row.end.frame));
        slow
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::Mark;

    fn exchange(frame: u32, latency_ns: i64) -> Exchange {
        let [begin, end] = [0, latency_ns].map(|time_ns| Mark { time_ns, frame });
        Exchange::between(0, begin, end)
    }

    #[test]
    fn the_slowest_of_many_are_kept_and_a_sample_of_all() {
        let mut slowest = Slowest::default();
        // All latencies below 100,003 in some order.
        (0..100_003).for_each(|at| slowest.add(&exchange(at, i64::from(at) * 17 % 100_003)));
        let mut all = Slowest::default();
        all.extend(slowest, &[7]);
        let slow = all.slow();
        let kept = slow.iter().rev().map(|slow| slow.latency_ns());
        assert!(kept.eq(100_003 - MOST as i64..100_003));
        assert!(slow.iter().all(|slow| slow.connection == 7));
        let below = all.sample.iter().filter(|one| one.latency_ns() < 50_000).count();
        assert!((MOST / 2..=MOST).contains(&all.sample.len()));
        assert!((all.sample.len() * 2 / 5..=all.sample.len() * 3 / 5).contains(&below));
    }

    #[test]
    fn no_shard_of_quick_exchanges_puts_them_before_slower_ones_of_another() {
        let (mut quick, mut slow) = (Slowest::default(), Slowest::default());
        (0..300).for_each(|at| slow.add(&exchange(at, 1000 + i64::from(at))));
        quick.add(&exchange(301, 3));
        let mut all = Slowest::default();
        all.extend(slow, &[0]);
        all.extend(quick, &[1]);
        assert!(all.slow().iter().all(|slow| slow.latency_ns() >= 1000));
        assert_eq!(all.slow().len(), MOST);
    }
}
