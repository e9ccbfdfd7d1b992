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

use crate::cores;
use crate::judge::pooled::MOST_NEAR;
use crate::judge::statistics;
use crate::judge::thresholds::{FEW_RELEASES, PASS_ON_NS, PEAK_OVER_CHANCE, WAKE_NS};
use crate::rules;
use crate::track::tracked::Block;
use crate::track::wait::{Wait, fact};
use crate::track::{Connection, Endpoint, Side};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::mem;
use std::net::IpAddr;
use std::ops::RangeInclusive;

/// Where the broker with this endpoint is among all.
type Places = HashMap<Endpoint, usize, RandomState>;

/// A server that may be a broker.
#[derive(Default)]
struct Broker {
    /// When data arrived, and on which connection; in the order of time.
    arrivals: Vec<(i64, u32)>,
    /// Its shortest round trip from the capture point, on the way from each client, in ns, where it was
    /// measured.
    rtts_ns: HashMap<IpAddr, i64, RandomState>,
    sends: Vec<Sends>,
}

/// Segments that a broker sent after ACKs, on one connection.
struct Sends {
    /// The block of the connection.
    block: usize,
    /// The way from the capture point to the broker and back.
    rtt_ns: i64,
    after_arrivals: Vec<BrokerSend>,
    /// How many others arrived up to [`PASS_ON_NS`] before and after all that it sent.
    others: u32,
}

/// A send shortly after something arrived on another connection, the last that its program may have woken up
/// for.
struct BrokerSend {
    /// Where the wait that it ended is in its block.
    wait: u32,
    /// How long before it that arrived.
    ahead_ns: u32,
    /// Did that arrive after the ACK?
    is_after_ack: bool,
}

/// How long a broker takes to pass something on, in ns.
type Forwarding = RangeInclusive<i64>;

/// Marks the waits of servers that ended because something arrived on another connection, with
/// [`fact::PASSED_ON`].
pub fn mark(blocks: &mut [Block], threads: usize) {
    let (servers, mut brokers) = brokers(blocks, threads);
    if rules::off("fan_out") || brokers.is_empty() {
        for block in blocks {
            block.arrivals = Vec::new();
        }
        return;
    }
    for block in &mut *blocks {
        take_arrivals(&servers, &mut brokers, block);
    }
    for broker in &mut brokers {
        // Each block has them in order: a stable sort merges those.
        broker.arrivals.sort_by_key(|&(time_ns, _)| time_ns);
    }
    let numbered: Vec<(usize, &Block)> = blocks.iter().enumerate().collect();
    let sends = cores::of_blocks(threads, &numbered, |blocks| {
        let each = blocks.iter().map(|&(number, block)| sends(&servers, &brokers, number, block));
        each.flatten().collect::<Vec<(usize, Sends)>>()
    });
    for (broker, sends) in sends.into_iter().flatten() {
        brokers[broker].sends.push(sends);
    }
    for broker in brokers {
        for (block, wait) in broker.passed_on(blocks) {
            blocks[block].waits[wait as usize].facts |= fact::PASSED_ON;
        }
    }
}

/// The servers that may be brokers, and where each is.
fn brokers(blocks: &[Block], threads: usize) -> (Places, Vec<Broker>) {
    let mut servers: HashMap<Endpoint, SentAfterAcks, RandomState> = HashMap::default();
    let senders = cores::of_blocks(threads, blocks, |blocks| {
        blocks.iter().flat_map(senders).collect::<Vec<(Endpoint, SentAfterAcks)>>()
    });
    for (server, sent) in senders.into_iter().flatten() {
        let all = servers.entry(server).or_default();
        all.looks_held |= sent.looks_held;
        all.is_unasked |= sent.is_unasked;
    }
    servers.retain(|_, sent| sent.looks_held && sent.is_unasked);
    let placed = servers.into_keys().enumerate();
    placed.map(|(place, server)| ((server, place), Broker::default())).unzip()
}

/// Segments that a server sent after ACKs.
#[derive(Clone, Copy, Default)]
struct SentAfterAcks {
    looks_held: bool,
    /// Was it, on one connection at least, often, and more often than that client asked?
    is_unasked: bool,
}

/// The servers that sent something after ACKs, connection by connection of a block.
fn senders(block: &Block) -> impl Iterator<Item = (Endpoint, SentAfterAcks)> {
    let mut all = vec![(0, false); block.connections.len()];
    for (_, place, wait) in block.placed(may_pass_on) {
        let (count, looks_held) = &mut all[place];
        *count += 1;
        *looks_held |= wait.is_freed();
    }
    let senders = block.connections.iter().zip(all).filter(|&(_, (count, _))| count > 0);
    senders.map(|(connection, (count, looks_held))| {
        let is_unasked = count >= FEW_RELEASES && count > connection.exchanges.count;
        (connection.ends().server, SentAfterAcks { looks_held, is_unasked })
    })
}

/// Did a server wait for an ACK, or for something else, since its own last data?
fn may_pass_on(wait: &Wait) -> bool {
    wait.by == Side::Server && wait.has_pure_ack()
}

fn take_arrivals(servers: &Places, brokers: &mut [Broker], block: &mut Block) {
    let place = |connection: &Connection| servers.get(&connection.ends().server).copied();
    let places: Vec<Option<usize>> = block.connections.iter().map(place).collect();
    for (connection, place) in block.connections.iter().zip(&places) {
        let rtt_ns = connection.half(Side::Server).measured_rtt_ns();
        if let (&Some(place), Some(rtt_ns)) = (place, rtt_ns) {
            let shortest_ns = brokers[place].rtts_ns.entry(connection.ends().client.addr);
            let shortest_ns = shortest_ns.or_insert(rtt_ns);
            *shortest_ns = rtt_ns.min(*shortest_ns);
        }
    }
    for arrival in mem::take(&mut block.arrivals) {
        if let Some(place) = block.place(arrival.connection).and_then(|at| places[at]) {
            let number = block.numbers[arrival.connection as usize];
            brokers[place].arrivals.push((arrival.time_ns, number));
        }
    }
}

/// Sends of the brokers in a block, with the place of each, by connection. Looked at in time order: the
/// arrivals before one send are near those before the last.
fn sends(
    servers: &Places,
    brokers: &[Broker],
    number: usize,
    block: &Block,
) -> impl Iterator<Item = (usize, Sends)> {
    let none = |connection: &Connection| {
        let place = *servers.get(&connection.ends().server)?;
        let rtt_ns = brokers[place].rtts_ns.get(&connection.ends().client.addr);
        let rtt_ns = rtt_ns.copied().unwrap_or(0);
        Some((place, Sends { block: number, rtt_ns, after_arrivals: Vec::new(), others: 0 }))
    };
    let mut all: Vec<Option<(usize, Sends)>> = block.connections.iter().map(none).collect();
    let mut begin = 0;
    for (at, place, wait) in block.placed(may_pass_on) {
        if let Some((broker, sends)) = &mut all[place] {
            let number = block.numbers[wait.connection as usize];
            begin = brokers[*broker].add_send(sends, (at as u32, wait), number, begin);
        }
    }
    all.into_iter().flatten().filter(|(_, sends)| !sends.after_arrivals.is_empty())
}

impl Broker {
    /// The waits that ended because something arrived, by their blocks and their places there.
    fn passed_on(&self, blocks: &[Block]) -> Vec<(usize, u32)> {
        let all = self.sends.iter().flat_map(|sends| &sends.after_arrivals);
        let Some(forwarding) = forwarding(all) else { return Vec::new() };
        let follow = self.sends.iter().filter(|sends| sends.follow_arrivals(blocks, &forwarding));
        follow.flat_map(|sends| sends.passed_on(blocks, &forwarding)).collect()
    }

    /// Adds what came before the end of a wait, of the connection of this number. Returns where that begins:
    /// it is found quickly near `guess`.
    fn add_send(
        &self,
        sends: &mut Sends,
        (at, wait): (u32, &Wait),
        number: u32,
        guess: usize,
    ) -> usize {
        let sent_ns = wait.to.time_ns - sends.rtt_ns;
        let begin = self.first_from(sent_ns - PASS_ON_NS, guess);
        let near = &self.arrivals[begin..self.arrivals.len().min(begin + MOST_NEAR)];
        let near = &near[..near.partition_point(|near| near.0 <= sent_ns + PASS_ON_NS)];
        let others = near.iter().filter(|(_, on)| *on != number).count();
        sends.others = sends.others.saturating_add(others as u32);
        let woken = near.partition_point(|near| sent_ns - near.0 >= WAKE_NS);
        if let Some((time_ns, _)) = near[..woken].iter().rfind(|(_, on)| *on != number) {
            sends.others -= 1;
            let ahead_ns = sent_ns - time_ns;
            let is_after_ack = ahead_ns < sends.acked_ns(wait);
            let ahead_ns = ahead_ns as u32;
            sends.after_arrivals.push(BrokerSend { wait: at, ahead_ns, is_after_ack });
        }
        begin
    }

    /// The first arrival that was not before `from_ns`.
    fn first_from(&self, from_ns: i64, guess: usize) -> usize {
        let all = &self.arrivals;
        let end = all.len().min(guess + MOST_NEAR);
        let begin = guess.saturating_sub(MOST_NEAR).min(end);
        let near = &all[begin..end];
        let is_near = near.first().is_some_and(|first| first.0 < from_ns)
            && near.last().is_some_and(|last| from_ns <= last.0);
        let (begin, rest) = if is_near { (begin, near) } else { (0, all.as_slice()) };
        begin + rest.partition_point(|arrival| arrival.0 < from_ns)
    }
}

/// Half to twice the median, by what arrived after the ACK, when nothing was held.
fn forwarding<'a>(sends: impl Iterator<Item = &'a BrokerSend>) -> Option<Forwarding> {
    let after_ack = sends.filter(|send| send.is_after_ack);
    let mut ahead_ns: Vec<i64> = after_ack.map(|send| send.ahead_ns.into()).collect();
    let often = ahead_ns.len() >= FEW_RELEASES as usize;
    let median_ns = statistics::upper(&mut ahead_ns).filter(|_| often)?;
    Some(median_ns / 2..=PASS_ON_NS.min(2 * median_ns))
}

impl Sends {
    /// How long before the end of a wait its ACK reached the broker.
    fn acked_ns(&self, wait: &Wait) -> i64 {
        wait.release_ns() - self.rtt_ns
    }

    fn acked_before_ns(&self, blocks: &[Block], send: &BrokerSend) -> i64 {
        self.acked_ns(&blocks[self.block].waits[send.wait as usize])
    }

    /// Do they follow arrivals so soon more often than chance, and more closely than they follow ACKs?
    fn follow_arrivals(&self, blocks: &[Block], forwarding: &Forwarding) -> bool {
        let soon = self.after_arrivals.iter().filter(|send| send.follows(forwarding));
        let (mut ahead_ns, mut acked_ns): (Vec<i64>, Vec<i64>) =
            soon.map(|send| (i64::from(send.ahead_ns), self.acked_before_ns(blocks, send))).unzip();
        let share = *forwarding.end() as f64 / (2 * PASS_ON_NS) as f64;
        ahead_ns.len() >= FEW_RELEASES as usize
            && ahead_ns.len() as f64 >= PEAK_OVER_CHANCE * share * f64::from(self.others)
            && statistics::deviation(&mut ahead_ns) < statistics::deviation(&mut acked_ns)
    }

    /// A segment passed on as soon as usual, or later, when the ACK had freed nothing for as long.
    fn passed_on(
        &self,
        blocks: &[Block],
        forwarding: &Forwarding,
    ) -> impl Iterator<Item = (usize, u32)> {
        let late = |send| self.acked_before_ns(blocks, send) > *forwarding.end();
        let all = self.after_arrivals.iter();
        let passed_on = all.filter(move |send| send.follows(forwarding) || late(send));
        passed_on.map(|send| (self.block, send.wait))
    }
}

impl BrokerSend {
    /// Did something arrive as long before as it takes to pass it on, or sooner, if after the ACK?
    fn follows(&self, forwarding: &Forwarding) -> bool {
        let ahead_ns = i64::from(self.ahead_ns);
        ahead_ns <= *forwarding.end() && (ahead_ns >= *forwarding.start() || self.is_after_ack)
    }
}
