//! What arrived for each server, and when.

use crate::judge::thresholds::{PASS_ON_NS, WAKE_NS};
use crate::track::tracked::Block;
use crate::track::wait::Wait;
use crate::track::{Connection, Endpoint, Side};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::net::IpAddr;

/// Looked at near one time: on a busy server they say little anyway.
const MOST_NEAR: usize = 64;

/// Of each server that may hold something.
pub struct Arrived(HashMap<Endpoint, Server, RandomState>);

#[derive(Default)]
struct Server {
    /// When data arrived, and on which connection.
    data: Vec<(i64, u32)>,
    /// Its round trip from the capture point, on the way from each client.
    rtts_ns: HashMap<IpAddr, i64, RandomState>,
}

/// What came shortly before something was sent, in the server's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Before {
    /// How long before it the ACK came.
    pub acked_ns: i64,
    /// How long before it something arrived on another connection, the last that its program may have
    /// woken up for; `None` for nothing.
    pub ahead_ns: Option<i64>,
    /// How many others arrived up to [`PASS_ON_NS`] before and after.
    pub others: u32,
}

impl Arrived {
    pub fn of(blocks: &[Block]) -> Self {
        let mut servers = HashMap::default();
        let looks_held = |wait: &&Wait| wait.by == Side::Server && wait.is_freed();
        for block in blocks {
            let held = block.waits.iter().filter(looks_held);
            for place in held.filter_map(|wait| block.place_of(wait)) {
                servers.entry(block.connections[place].ends.server).or_default();
            }
        }
        let mut arrived = Self(servers);
        for block in blocks {
            arrived.add(block);
        }
        arrived.0.values_mut().for_each(|server| server.data.sort_unstable());
        arrived
    }

    fn add(&mut self, block: &Block) {
        if self.0.is_empty() {
            return;
        }
        for connection in &block.connections {
            let rtt_ns = connection.half(Side::Server).measured_rtt_ns();
            let server = self.0.get_mut(&connection.ends.server);
            if let (Some(server), Some(rtt_ns)) = (server, rtt_ns) {
                let shortest_ns = server.rtts_ns.entry(connection.ends.client.addr);
                shortest_ns.and_modify(|ns| *ns = rtt_ns.min(*ns)).or_insert(rtt_ns);
            }
        }
        for arrival in &block.arrivals {
            let Some(place) = block.place(arrival.connection) else { continue };
            if let Some(server) = self.0.get_mut(&block.connections[place].ends.server) {
                server.data.push((arrival.time_ns, block.numbers[arrival.connection as usize]));
            }
        }
    }

    /// What came before the end of a wait of the server of this connection, which has this `number`; `None`
    /// if nothing looks held there.
    pub fn before(&self, wait: &Wait, connection: &Connection, number: u32) -> Option<Before> {
        let server = self.0.get(&connection.ends.server)?;
        let rtt_ns = server.rtts_ns.get(&connection.ends.client.addr).copied().unwrap_or(0);
        let sent_ns = wait.to.time_ns - rtt_ns;
        let first = server.data.partition_point(|&(time_ns, _)| time_ns < sent_ns - PASS_ON_NS);
        let near = server.data[first..].iter().take(MOST_NEAR);
        let near = near.take_while(|&&(time_ns, _)| time_ns <= sent_ns + PASS_ON_NS);
        let elsewhere = near.filter(|&&(_, on)| on != number);
        let (mut ahead_ns, mut all) = (None, 0);
        for &(time_ns, _) in elsewhere {
            ahead_ns = Some(sent_ns - time_ns).filter(|&ns| ns >= WAKE_NS).or(ahead_ns);
            all += 1;
        }
        let others = all - u32::from(ahead_ns.is_some());
        Some(Before { acked_ns: wait.release_ns() - rtt_ns, ahead_ns, others })
    }
}
