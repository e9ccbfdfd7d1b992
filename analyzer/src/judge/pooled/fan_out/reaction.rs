//! How soon a server passes on what arrives, and which of its sends that explains.

use crate::judge::pooled::fan_out::Place;
use crate::judge::pooled::fan_out::arrivals::Before;
use crate::judge::statistics;
use crate::judge::thresholds::{PASS_ON_NS, PASSED_ON_TIMES, PEAK_OVER_CHANCE};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::ops::RangeInclusive;

/// What a server sent, by the numbers of the connections.
#[derive(Debug, Default)]
pub struct Service(HashMap<u32, Sends, RandomState>);

/// What it sent on one connection, each after an ACK.
#[derive(Debug, Default)]
pub struct Sends(Vec<(Place, Before)>);

/// How long it takes to pass something on, in ns.
type Reaction = RangeInclusive<i64>;

impl Service {
    pub fn add(&mut self, connection: u32, place: Place, before: Before) {
        self.0.entry(connection).or_default().0.push((place, before));
    }

    /// Where the waits are that ended because something arrived.
    pub fn passed_on(&self) -> Vec<Place> {
        let Some(reaction) = self.reaction() else { return Vec::new() };
        let brokers = self.0.values().filter(|sends| sends.follow_arrivals(&reaction));
        let all = brokers.flat_map(|sends| &sends.0);
        all.filter(|(_, before)| before.explains(&reaction)).map(|(place, _)| *place).collect()
    }

    /// Half to twice the median, by what arrived after the ACK, when nothing was held.
    fn reaction(&self) -> Option<Reaction> {
        let sends = self.0.values().flat_map(|sends| &sends.0);
        let after_ack = |(_, before): &(Place, Before)| {
            before.ahead_ns.filter(|&ahead_ns| ahead_ns < before.acked_ns)
        };
        let mut ahead_ns: Vec<i64> = sends.filter_map(after_ack).collect();
        let often = ahead_ns.len() >= PASSED_ON_TIMES as usize;
        let median_ns = statistics::upper(&mut ahead_ns).filter(|_| often)?;
        Some(median_ns / 2..=PASS_ON_NS.min(2 * median_ns))
    }
}

impl Sends {
    /// Do they follow arrivals so soon more often than chance, and more closely than they follow ACKs?
    fn follow_arrivals(&self, reaction: &Reaction) -> bool {
        let soon: Vec<&Before> =
            self.0.iter().map(|(_, before)| before).filter(|b| b.follows(reaction)).collect();
        let others: u32 = self.0.iter().map(|(_, before)| before.others).sum();
        let share = *reaction.end() as f64 / (2 * PASS_ON_NS) as f64;
        let often = soon.len() >= PASSED_ON_TIMES as usize
            && soon.len() as f64 >= PEAK_OVER_CHANCE * share * f64::from(others);
        let mut ahead_ns: Vec<i64> = soon.iter().filter_map(|before| before.ahead_ns).collect();
        let mut acked_ns: Vec<i64> = soon.iter().map(|before| before.acked_ns).collect();
        often && statistics::deviation(&mut ahead_ns) < statistics::deviation(&mut acked_ns)
    }
}

impl Before {
    /// Did something arrive as long before as it takes to pass it on, or sooner, if after the ACK?
    fn follows(&self, reaction: &Reaction) -> bool {
        self.ahead_ns.is_some_and(|ns| {
            ns <= *reaction.end() && (ns >= *reaction.start() || ns < self.acked_ns)
        })
    }

    /// Is it passed on, as soon as usual, or later, when the ACK had freed nothing for as long?
    fn explains(&self, reaction: &Reaction) -> bool {
        self.follows(reaction) || (self.ahead_ns.is_some() && self.acked_ns > *reaction.end())
    }
}
