//! The ends of waits, in the order of time.

use crate::judge::thresholds::{ONE_HOST_RTT_NS, PASS_ON_NS, WAKE_NS};
use crate::track::tracked::Block;
use crate::track::wait::{Wait, fact};
use crate::track::{Connection, Endpoint, Side};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::net::IpAddr;

/// So many ends tell whether there are relays; of more, those in slices of the time are looked at first.
const SAMPLE: usize = 1 << 14;
/// However many lie in these slices, no more are looked at first.
const MOST_SAMPLED: usize = 4 * SAMPLE;
/// The length of a slice, in [`PASS_ON_NS`]: so long that few pairs lie on both sides of its edge.
const SLICE: i64 = 50;
/// Ends looked at on either side of one: on a busy host they say little anyway.
const MOST_NEAR: usize = 64;

/// The data that ended a wait.
#[derive(Debug, Clone, Copy)]
pub struct End {
    pub time_ns: i64,
    frame: u64,
    block: u32,
    /// Index among the waits of the block, and of the connection there.
    wait: u32,
    place: u32,
    /// Its number.
    pub connection: u32,
    pub by: Side,
    /// Number of its server among all.
    pub server: u32,
    pub sender: Host,
    pub receiver: Host,
}

/// A host, as far as an end shows.
#[derive(Debug, Clone, Copy)]
pub struct Host {
    /// Number of its address among all.
    addr: u32,
    /// Is it what hosts call themselves?
    is_loopback: bool,
    /// Is it as close to the capture point as the host itself?
    is_near: bool,
}

impl Host {
    /// Are they one? What a host calls itself is any of its addresses.
    pub fn is(self, other: Self) -> bool {
        self.addr == other.addr
            || self.is_loopback && other.is_near
            || other.is_loopback && self.is_near
    }
}

/// Numbers for what is compared often.
#[derive(Default)]
struct Numbers {
    servers: HashMap<Endpoint, u32, RandomState>,
    addrs: HashMap<IpAddr, u32, RandomState>,
}

impl Numbers {
    fn server(&mut self, server: Endpoint) -> u32 {
        let next = self.servers.len() as u32;
        *self.servers.entry(server).or_insert(next)
    }

    fn host(&mut self, connection: &Connection, side: Side) -> Host {
        let addr = connection.endpoint(side).addr;
        let rtt_ns = connection.half(side).measured_rtt_ns();
        let next = self.addrs.len() as u32;
        Host {
            addr: *self.addrs.entry(addr).or_insert(next),
            is_loopback: addr.is_loopback(),
            is_near: rtt_ns.is_some_and(|rtt_ns| rtt_ns < ONE_HOST_RTT_NS),
        }
    }
}

/// Ends in the order of their frames.
pub struct Sample {
    pub ends: Vec<End>,
    /// Are all there?
    pub is_whole: bool,
}

impl End {
    pub fn wait<'a>(&self, blocks: &'a [Block]) -> &'a Wait {
        &blocks[self.block as usize].waits[self.wait as usize]
    }

    pub fn wait_mut<'a>(&self, blocks: &'a mut [Block]) -> &'a mut Wait {
        &mut blocks[self.block as usize].waits[self.wait as usize]
    }

    pub fn connection<'a>(&self, blocks: &'a [Block]) -> &'a Connection {
        &blocks[self.block as usize].connections[self.place as usize]
    }
}

/// Enough ends to tell whether there are relays; `None` if nothing looks like a hold at all, or if there is
/// one server only: a relay is one, and has another.
pub fn sample(blocks: &[Block]) -> Option<Sample> {
    let count: usize = blocks.iter().map(|block| block.waits.len()).sum();
    let one_of = (count / SAMPLE) as i64 + 1;
    let is_whole = one_of == 1;
    let in_slice =
        |wait: &Wait| is_whole || (wait.to.time_ns / (SLICE * PASS_ON_NS)).rem_euclid(one_of) == 0;
    let looks_held =
        |wait: &Wait| wait.has_pure_ack() && (0..PASS_ON_NS).contains(&wait.release_ns());
    let has_holds = || blocks.iter().flat_map(|block| &block.waits).any(looks_held);
    let has_servers = |server: Endpoint| {
        let mut connections = blocks.iter().flat_map(|block| &block.connections);
        connections.any(|connection| connection.ends.server != server)
    };
    let mut connections = blocks.iter().flat_map(|block| &block.connections);
    let first = connections.next()?.ends.server;
    (has_holds() && has_servers(first))
        .then(|| Sample { ends: collect(blocks, MOST_SAMPLED, in_slice, |_| true), is_whole })
}

/// All ends that `keeps` accepts.
pub fn all(blocks: &[Block], keeps: impl Fn(&End) -> bool) -> Vec<End> {
    collect(blocks, usize::MAX, |_| true, keeps)
}

/// Up to `most` ends of the waits that it `picks` and `keeps`.
fn collect(
    blocks: &[Block],
    most: usize,
    picks: impl Fn(&Wait) -> bool,
    keeps: impl Fn(&End) -> bool,
) -> Vec<End> {
    let mut ends = Vec::new();
    let mut numbers = Numbers::default();
    for (number, block) in blocks.iter().enumerate() {
        for (index, wait) in block.waits.iter().enumerate() {
            if wait.is(fact::ACK_ONLY) || ends.len() == most || !picks(wait) {
                continue;
            }
            let Some(place) = block.place_of(wait) else { continue };
            let connection = &block.connections[place];
            let end = End {
                time_ns: wait.to.time_ns,
                frame: wait.to.frame,
                block: number as u32,
                wait: index as u32,
                place: place as u32,
                connection: block.numbers[wait.connection as usize],
                by: wait.by,
                server: numbers.server(connection.ends.server),
                sender: numbers.host(connection, wait.by),
                receiver: numbers.host(connection, wait.by.other()),
            };
            if keeps(&end) {
                ends.push(end);
            }
        }
    }
    ends.sort_unstable_by_key(|end| (end.frame, end.wait));
    ends
}

/// Ends so shortly before one that its program may have woken up for them, the last one first.
pub fn before(ends: &[End], at: usize) -> impl Iterator<Item = &End> {
    let now_ns = ends[at].time_ns;
    earlier(ends, at, PASS_ON_NS).filter(move |end| now_ns - end.time_ns >= WAKE_NS)
}

/// Ends at the same time or just after: no program wakes up so fast, or backwards.
pub fn beside(ends: &[End], at: usize) -> impl Iterator<Item = &End> {
    let now_ns = ends[at].time_ns;
    let later = ends[at + 1..].iter().take(MOST_NEAR);
    let later = later.take_while(move |end| end.time_ns - now_ns < PASS_ON_NS);
    let same = earlier(ends, at, PASS_ON_NS).filter(move |end| now_ns - end.time_ns < WAKE_NS);
    later.chain(same)
}

/// Ends that were too early to be passed on: what comes by chance comes then, too.
pub fn long_before(ends: &[End], at: usize) -> impl Iterator<Item = &End> {
    let now_ns = ends[at].time_ns;
    earlier(ends, at, 2 * PASS_ON_NS).filter(move |end| now_ns - end.time_ns > PASS_ON_NS)
}

fn earlier(ends: &[End], at: usize, within_ns: i64) -> impl Iterator<Item = &End> {
    let now_ns = ends[at].time_ns;
    let earlier = ends[..at].iter().rev().take(MOST_NEAR);
    earlier.take_while(move |end| now_ns - end.time_ns <= within_ns)
}
