//! How soon a server passes on what arrives, and which of its sends that explains.

use crate::judge::pooled::fan_out::Place;
use crate::judge::pooled::fan_out::arrivals::Near;
use crate::judge::statistics;
use crate::judge::thresholds::{PASS_ON_NS, PASSED_ON_TIMES, PEAK_OVER_CHANCE};
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// What a server sent, by the numbers of the connections.
#[derive(Debug, Default)]
pub struct Service(HashMap<u32, Sends, RandomState>);

/// What it sent on one connection, each after an ACK.
#[derive(Debug, Default)]
pub struct Sends(Vec<Send>);

#[derive(Debug)]
struct Send {
    place: Place,
    /// How long before, in the server's time, the ACK came.
    acked_ns: i64,
    near: Near,
}

impl Service {
    pub fn of(&mut self, connection: u32) -> &mut Sends {
        self.0.entry(connection).or_default()
    }

    /// Where the waits are that ended so.
    pub fn passed_on(&self) -> Vec<Place> {
        let Some(within_ns) = self.within_ns() else { return Vec::new() };
        let brokers = self.0.values().filter(|sends| sends.follow_arrivals(within_ns));
        let passed_on = brokers.flat_map(|sends| &sends.0);
        passed_on.filter(|send| send.is_passed_on(within_ns)).map(|send| send.place).collect()
    }

    /// The longest that it takes to pass something on: twice the median of what arrived between ACK and
    /// release, when nothing that was held had to be waited for.
    fn within_ns(&self) -> Option<i64> {
        let sends = self.0.values().flat_map(|sends| &sends.0);
        let mut ahead_ns: Vec<i64> = sends.filter_map(Send::ahead_of_late_ns).collect();
        let often = ahead_ns.len() >= PASSED_ON_TIMES as usize;
        statistics::upper(&mut ahead_ns).filter(|_| often).map(|ns| PASS_ON_NS.min(2 * ns))
    }
}

impl Sends {
    pub fn add(&mut self, place: Place, acked_ns: i64, near: Near) {
        self.0.push(Send { place, acked_ns, near });
    }

    /// Do they follow arrivals so closely more often than chance, and more closely than they follow ACKs?
    fn follow_arrivals(&self, within_ns: i64) -> bool {
        let others: u32 = self.0.iter().map(|send| send.near.others).sum();
        let by_chance = f64::from(others) * within_ns as f64 / (2 * PASS_ON_NS) as f64;
        let soon = || self.0.iter().filter(|send| send.follows(within_ns));
        let count = soon().count();
        let mut ahead_ns: Vec<i64> = soon().filter_map(|send| send.near.ahead_ns).collect();
        let mut acked_ns: Vec<i64> = soon().map(|send| send.acked_ns).collect();
        count >= PASSED_ON_TIMES as usize
            && count as f64 >= PEAK_OVER_CHANCE * by_chance
            && statistics::deviation(&mut ahead_ns) < statistics::deviation(&mut acked_ns)
    }
}

impl Send {
    /// Did something arrive so shortly before?
    fn follows(&self, within_ns: i64) -> bool {
        self.near.ahead_ns.is_some_and(|ns| ns <= within_ns)
    }

    /// How long before it something arrived, if that was after the ACK.
    fn ahead_of_late_ns(&self) -> Option<i64> {
        self.near.ahead_ns.filter(|&ns| ns < self.acked_ns)
    }

    /// So shortly before, or clearly after the ACK, which freed nothing then?
    fn is_passed_on(&self, within_ns: i64) -> bool {
        self.follows(within_ns)
            || self.ahead_of_late_ns().is_some_and(|ns| ns + within_ns < self.acked_ns)
    }
}
