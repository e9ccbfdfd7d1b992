//! The ends of waits, in the order of time.

use crate::judge::pooled::MOST_NEAR;
use crate::judge::thresholds::{ONE_HOST_RTT_NS, PASS_ON_NS, WAKE_NS};
use crate::track::tracked::Block;
use crate::track::wait::{End, Wait};
use crate::track::{Connection, Endpoint, Side};
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

/// May there be relays? Only if something looks like a hold, and with two servers: a relay is one, and calls
/// another.
pub fn may_be_of_relays(blocks: &[Block]) -> bool {
    let looks_held =
        |wait: &Wait| wait.has_pure_ack() && (0..PASS_ON_NS).contains(&wait.release_ns());
    let mut servers =
        blocks.iter().flat_map(|block| &block.connections).map(|one| one.ends().server);
    let first = servers.next();
    blocks.iter().flat_map(|block| &block.waits).any(looks_held)
        && servers.any(|server| Some(server) != first)
}

/// The ends of all waits.
pub fn ends(blocks: &[Block]) -> Vec<WaitEnd> {
    let ends_in_data = |wait: &Wait| matches!(wait.end, End::Data | End::Syn);
    let placed = (0..).zip(blocks).flat_map(|(number, block)| {
        let own = block.placed(ends_in_data);
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
