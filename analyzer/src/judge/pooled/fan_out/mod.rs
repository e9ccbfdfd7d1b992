//! Fan-out: servers that pass on to some clients what arrives from others, as brokers do.
//!
//! A subscriber's ACK and the publisher's next message take the same round trip, so that a broker sends
//! just after an ACK what Nagle's algorithm never held, over any network. The other connection tells the two
//! apart: data for the server arrived there after the ACK, or as long before the release as this program
//! takes to pass something on, release after release and more often than chance.
//!
//! All times are those at the server: what arrives passes the capture point one half of the round trip
//! before, what leaves the other half after.

#[cfg(test)]
mod tests;

use crate::judge::pooled::MOST_NEAR;
use crate::judge::pooled::listed::{self, WaitIndex};
use crate::judge::statistics;
use crate::judge::thresholds::{FEW_RELEASES, PASS_ON_NS, PEAK_OVER_CHANCE, WAKE_NS};
use crate::track::tracked::Block;
use crate::track::wait::{Wait, fact};
use crate::track::{Connection, Endpoint, Side};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::net::IpAddr;
use std::ops::RangeInclusive;

/// Where the broker with this endpoint is among all.
type Places = HashMap<Endpoint, usize, RandomState>;

/// A server that may be a broker.
#[derive(Default)]
struct Broker {
    /// How often it sent something after an ACK, and then what, by the number of the connection.
    counts: HashMap<u32, usize, RandomState>,
    sends: HashMap<u32, Vec<BrokerSend>, RandomState>,
    looks_held: bool,
    /// When data arrived, and on which connection.
    arrivals: Vec<(i64, u32)>,
    /// Its shortest round trip from the capture point, on the way from each client that it sent something
    /// to; `None` where it was not measured.
    rtts_ns: HashMap<IpAddr, Option<i64>, RandomState>,
}

/// A send, and what came shortly before it.
struct BrokerSend {
    at: WaitIndex,
    /// How long before it the ACK came.
    acked_ns: i64,
    /// How long before it something arrived on another connection, the last that its program may have
    /// woken up for; `None` for nothing.
    ahead_ns: Option<i64>,
    /// How many others arrived up to [`PASS_ON_NS`] before and after.
    others: u32,
}

/// How long a broker takes to pass something on, in ns.
type Forwarding = RangeInclusive<i64>;

/// Marks the waits of servers that ended because something arrived on another connection, with
/// [`fact::PASSED_ON`].
pub fn mark(blocks: &mut [Block]) {
    let (servers, mut brokers) = brokers(blocks);
    if brokers.is_empty() {
        return;
    }
    for block in blocks.iter() {
        add_arrivals(&servers, &mut brokers, block);
    }
    for broker in &mut brokers {
        // Each block has them in order: a stable sort merges those.
        broker.arrivals.sort_by_key(|&(time_ns, _)| time_ns);
    }
    for (number, block) in blocks.iter().enumerate() {
        add_sends(&servers, &mut brokers, number, block);
    }
    for broker in brokers {
        for at in broker.passed_on() {
            at.wait_mut(blocks).facts |= fact::PASSED_ON;
        }
    }
}

/// The servers that may have held something, and sent often enough to be judged; and where each is.
fn brokers(blocks: &[Block]) -> (Places, Vec<Broker>) {
    let mut brokers: HashMap<Endpoint, Broker, RandomState> = HashMap::default();
    for row in listed::waits(blocks, may_pass_on) {
        let broker = brokers.entry(row.connection.ends.server).or_default();
        *broker.counts.entry(row.number).or_default() += 1;
        broker.looks_held |= row.wait.is_freed();
        broker.rtts_ns.entry(row.connection.ends.client.addr).or_default();
    }
    let often = |&count: &usize| count >= FEW_RELEASES as usize;
    brokers.retain(|_, broker| broker.looks_held && broker.counts.values().any(often));
    let placed = brokers.into_iter().enumerate();
    placed.map(|(place, (server, broker))| ((server, place), broker)).unzip()
}

/// Did a server wait for an ACK, or for something else, since its own last data?
fn may_pass_on(wait: &Wait) -> bool {
    wait.by == Side::Server && wait.has_pure_ack() && !wait.is(fact::ACK_ONLY)
}

fn add_arrivals(servers: &Places, brokers: &mut [Broker], block: &Block) {
    let place = |connection: &Connection| servers.get(&connection.ends.server).copied();
    let places: Vec<Option<usize>> = block.connections.iter().map(place).collect();
    for (connection, place) in block.connections.iter().zip(&places) {
        let rtt_ns = connection.half(Side::Server).measured_rtt_ns();
        if let (&Some(place), Some(rtt_ns)) = (place, rtt_ns) {
            let known = brokers[place].rtts_ns.get_mut(&connection.ends.client.addr);
            if let Some(shortest_ns) = known {
                *shortest_ns = Some(shortest_ns.map_or(rtt_ns, |ns| ns.min(rtt_ns)));
            }
        }
    }
    for arrival in &block.arrivals {
        if let Some(place) = block.place(arrival.connection).and_then(|at| places[at]) {
            let number = block.numbers[arrival.connection as usize];
            brokers[place].arrivals.push((arrival.time_ns, number));
        }
    }
}

/// Adds what the brokers sent in a block, in time order, so that the arrivals searched are in the cache.
fn add_sends(servers: &Places, brokers: &mut [Broker], number: usize, block: &Block) {
    let place = |connection: &Connection| {
        let place = *servers.get(&connection.ends.server)?;
        let rtt_ns = brokers[place].rtts_ns.get(&connection.ends.client.addr);
        Some((place, rtt_ns?.unwrap_or(0)))
    };
    let places: Vec<Option<(usize, i64)>> = block.connections.iter().map(place).collect();
    for row in listed::of_block(number, block, may_pass_on) {
        if let Some((place, rtt_ns)) = places[row.at.place()] {
            let send = brokers[place].send(row.at, row.wait, row.number, rtt_ns);
            brokers[place].sends.entry(row.number).or_default().push(send);
        }
    }
}

impl Broker {
    /// Where the waits are that ended because something arrived.
    fn passed_on(&self) -> Vec<WaitIndex> {
        let Some(forwarding) = forwarding(self.sends.values().flatten()) else { return Vec::new() };
        let brokers = self.sends.values().filter(|sends| follow_arrivals(sends, &forwarding));
        brokers
            .flatten()
            .filter(|send| send.is_passed_on(&forwarding))
            .map(|send| send.at)
            .collect()
    }

    /// What came before the end of this wait, of the connection of this number.
    fn send(&self, at: WaitIndex, wait: &Wait, number: u32, rtt_ns: i64) -> BrokerSend {
        let sent_ns = wait.to.time_ns - rtt_ns;
        let begin = self.arrivals.partition_point(|&(time_ns, _)| time_ns < sent_ns - PASS_ON_NS);
        let near = &self.arrivals[begin..self.arrivals.len().min(begin + MOST_NEAR)];
        let near = &near[..near.partition_point(|&(time_ns, _)| time_ns <= sent_ns + PASS_ON_NS)];
        let woken = near.partition_point(|&(time_ns, _)| sent_ns - time_ns >= WAKE_NS);
        let ahead = near[..woken].iter().rfind(|&&(_, on)| on != number);
        let ahead_ns = ahead.map(|&(time_ns, _)| sent_ns - time_ns);
        let own = near.iter().filter(|&&(_, on)| on == number).count();
        let others = (near.len() - own - usize::from(ahead_ns.is_some())) as u32;
        BrokerSend { at, acked_ns: wait.release_ns() - rtt_ns, ahead_ns, others }
    }
}

/// Half to twice the median, by what arrived after the ACK, when nothing was held.
fn forwarding<'a>(sends: impl Iterator<Item = &'a BrokerSend>) -> Option<Forwarding> {
    let after_ack = |send: &BrokerSend| send.ahead_ns.filter(|&ahead_ns| ahead_ns < send.acked_ns);
    let mut ahead_ns: Vec<i64> = sends.filter_map(after_ack).collect();
    let often = ahead_ns.len() >= FEW_RELEASES as usize;
    let median_ns = statistics::upper(&mut ahead_ns).filter(|_| often)?;
    Some(median_ns / 2..=PASS_ON_NS.min(2 * median_ns))
}

/// Do the sends of one connection follow arrivals so soon more often than chance, and more closely than they
/// follow ACKs?
fn follow_arrivals(sends: &[BrokerSend], forwarding: &Forwarding) -> bool {
    let soon = || sends.iter().filter(|send| send.follows(forwarding));
    let others: u32 = sends.iter().map(|send| send.others).sum();
    let share = *forwarding.end() as f64 / (2 * PASS_ON_NS) as f64;
    let mut ahead_ns: Vec<i64> = soon().filter_map(|send| send.ahead_ns).collect();
    let mut acked_ns: Vec<i64> = soon().map(|send| send.acked_ns).collect();
    ahead_ns.len() >= FEW_RELEASES as usize
        && ahead_ns.len() as f64 >= PEAK_OVER_CHANCE * share * f64::from(others)
        && statistics::deviation(&mut ahead_ns) < statistics::deviation(&mut acked_ns)
}

impl BrokerSend {
    /// Did something arrive as long before as it takes to pass it on, or sooner, if after the ACK?
    fn follows(&self, forwarding: &Forwarding) -> bool {
        self.ahead_ns.is_some_and(|ns| {
            ns <= *forwarding.end() && (ns >= *forwarding.start() || ns < self.acked_ns)
        })
    }

    /// Is it passed on, as soon as usual, or later, when the ACK had freed nothing for as long?
    fn is_passed_on(&self, forwarding: &Forwarding) -> bool {
        self.follows(forwarding) || (self.ahead_ns.is_some() && self.acked_ns > *forwarding.end())
    }
}
