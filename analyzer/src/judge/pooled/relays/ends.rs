//! The ends of waits, in the order of time.

use crate::judge::pooled::MOST_NEAR;
use crate::judge::thresholds::{ONE_HOST_RTT_NS, PASS_ON_NS, WAKE_NS};
use crate::track::tracked::Block;
use crate::track::wait::{End, Wait};
use crate::track::{Connection, Endpoint, Side};
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use std::net::IpAddr;

/// Where a wait is: its block, and its place among the waits there.
#[derive(Debug, Clone, Copy)]
pub struct WaitIndex(u32, u32);

impl WaitIndex {
    pub fn wait(self, blocks: &[Block]) -> &Wait {
        &blocks[self.0 as usize].waits[self.1 as usize]
    }

    pub fn wait_mut(self, blocks: &mut [Block]) -> &mut Wait {
        &mut blocks[self.0 as usize].waits[self.1 as usize]
    }
}

/// The data that ended a wait.
#[derive(Debug, Clone, Copy)]
pub struct WaitEnd {
    pub at: WaitIndex,
    pub time_ns: i64,
    frame: u32,
    /// The number of its connection.
    pub connection: u32,
    pub by: Side,
    pub server: Endpoint,
    pub sender: HostAddress,
    pub receiver: HostAddress,
}

/// An address of a host.
#[derive(Debug, Clone, Copy)]
pub struct HostAddress {
    addr: IpAddr,
    /// Is it as close to the capture point as the host itself?
    is_near: bool,
}

impl HostAddress {
    fn of(connection: &Connection, side: Side) -> Self {
        let rtt_ns = connection.half(side).measured_rtt_ns();
        let is_near = rtt_ns.is_some_and(|rtt_ns| rtt_ns < ONE_HOST_RTT_NS);
        Self { addr: connection.endpoint(side).addr, is_near }
    }

    /// Are they one? What a host calls itself is any of its addresses.
    pub fn is(self, other: Self) -> bool {
        self.addr == other.addr
            || self.addr.is_loopback() && other.is_near
            || other.addr.is_loopback() && self.is_near
    }
}

/// The waits that may have been passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passable {
    Nothing,
    /// Nothing looks like a hold: who else is not asked was not late.
    Replies,
    Anything,
}

/// May there be relays? Only with two servers: a relay is one, and calls another from the same address, or
/// passes on as many bytes each way; or something looks like a hold.
pub fn passable(blocks: &[Block]) -> Passable {
    let looks_held =
        |wait: &Wait| wait.has_pure_ack() && (0..PASS_ON_NS).contains(&wait.release_ns());
    let connections = || blocks.iter().flat_map(|block| &block.connections);
    let server = |one: &Connection| one.endpoint(Side::Server);
    let mut servers = connections().map(server);
    let first = servers.next();
    if !servers.any(|server| Some(server) != first) {
        return Passable::Nothing;
    }
    if blocks.iter().flat_map(|block| &block.waits).any(looks_held) {
        return Passable::Anything;
    }
    let called: HashSet<IpAddr, RandomState> = connections().map(|one| server(one).addr).collect();
    let calls = |one: &Connection| called.contains(&one.endpoint(Side::Client).addr);
    let mut servers_of: HashMap<[u64; 2], Endpoint, RandomState> = HashMap::default();
    let passes_all_on = |one: &Connection| {
        let bytes = Side::BOTH.map(|side| one.half(side).bytes());
        let known = servers_of.insert(bytes, server(one));
        bytes.iter().all(|&sent| sent > 0) && known.is_some_and(|other| other != server(one))
    };
    match connections().any(calls) || connections().any(passes_all_on) {
        true => Passable::Replies,
        false => Passable::Nothing,
    }
}

/// The length of a slice of the time, in [`PASS_ON_NS`].
const SLICE: i64 = 50;

impl Passable {
    /// The slices of the time of which one is examined: some ends reveal whether there are relays.
    pub fn one_of(self, blocks: &[Block]) -> i64 {
        let enough = if self == Self::Anything { 1 << 14 } else { 1 << 12 };
        let waits: usize = blocks.iter().map(|block| block.waits.len()).sum();
        (waits / enough) as i64 + 1
    }

    /// The ends of these waits in one of this many slices. A relay that gathers a reply does not pass its first
    /// data on at once.
    pub fn ends(self, blocks: &[Block], one_of: i64) -> Vec<WaitEnd> {
        let slice = |wait: &Wait| wait.to.time_ns / (SLICE * PASS_ON_NS);
        let is_one = |wait: &Wait| {
            matches!(wait.end, End::Data | End::Syn)
                && (self == Self::Anything || wait.is_reply())
                && slice(wait).rem_euclid(one_of) == 0
        };
        ends(blocks, is_one)
    }
}

fn ends(blocks: &[Block], is_one: impl Fn(&Wait) -> bool) -> Vec<WaitEnd> {
    let placed = (0..).zip(blocks).flat_map(|(number, block)| {
        let own = block.placed(&is_one);
        own.map(move |(at, place, wait)| (WaitIndex(number, at as u32), block, place, wait))
    });
    let end = |(at, block, place, wait): (WaitIndex, &Block, usize, &Wait)| {
        let connection = &block.connections[place];
        WaitEnd {
            at,
            time_ns: wait.to.time_ns,
            frame: wait.to.frame,
            connection: block.numbers[wait.connection as usize],
            by: wait.by,
            server: connection.ends().server,
            sender: HostAddress::of(connection, wait.by),
            receiver: HostAddress::of(connection, wait.by.other()),
        }
    };
    let mut ends: Vec<WaitEnd> = placed.map(end).collect();
    ends.sort_by_key(|end| end.frame);
    ends
}

/// Ends shortly before one, for which its program may have woken up, the last one first.
pub fn before(ends: &[WaitEnd], at: usize) -> impl Iterator<Item = &WaitEnd> {
    let now_ns = ends[at].time_ns;
    earlier(ends, at, PASS_ON_NS).filter(move |end| now_ns - end.time_ns >= WAKE_NS)
}

/// Ends at the same time or just after: no program wakes up so fast, or backwards.
pub fn beside(ends: &[WaitEnd], at: usize) -> impl Iterator<Item = &WaitEnd> {
    let now_ns = ends[at].time_ns;
    let later = ends[at + 1..].iter().take(MOST_NEAR);
    let later = later.take_while(move |end| end.time_ns - now_ns < PASS_ON_NS);
    let same = earlier(ends, at, PASS_ON_NS).filter(move |end| now_ns - end.time_ns < WAKE_NS);
    later.chain(same)
}

/// Ends that were too early to be passed on: what comes by chance comes then, too.
pub fn long_before(ends: &[WaitEnd], at: usize) -> impl Iterator<Item = &WaitEnd> {
    let now_ns = ends[at].time_ns;
    earlier(ends, at, 2 * PASS_ON_NS).filter(move |end| now_ns - end.time_ns > PASS_ON_NS)
}

fn earlier(ends: &[WaitEnd], at: usize, within_ns: i64) -> impl Iterator<Item = &WaitEnd> {
    let now_ns = ends[at].time_ns;
    let earlier = ends[..at].iter().rev().take(MOST_NEAR);
    earlier.take_while(move |end| now_ns - end.time_ns <= within_ns)
}
