//! Which frames kept a host busy between an ACK and what it released.
//!
//! Where many delayed-ACK timers fire in one tick, a kernel handles the ACKs and the releases of all
//! connections one after the other. Other frames of the capture may be strangers', and count for nothing.

use crate::cores;
use crate::judge::pooled::listed::{self, ListedWait};
use crate::judge::thresholds::{ONE_HOST_RTT_NS, PASS_ON_NS};
use crate::track::tracked::Block;
use crate::track::wait::Wait;
use crate::track::{Connection, Half, Side};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::net::IpAddr;

/// The frames of ACKs and of what followed them soon, in order, by the host that sent the latter: of hosts
/// that may be relays.
#[derive(Debug, Default)]
pub struct HostFrames(HashMap<IpAddr, Vec<u64>, RandomState>);

impl HostFrames {
    pub fn of(blocks: &[Block], threads: usize) -> Self {
        let relays = cores::of_blocks(threads, blocks, |blocks| {
            blocks.iter().flat_map(relays).collect::<Vec<IpAddr>>()
        });
        let relays = relays.into_iter().flatten().map(|host| (host, Vec::new()));
        let mut hosts: HashMap<IpAddr, Vec<u64>, RandomState> = relays.collect();
        if hosts.is_empty() {
            return Self::default();
        }
        for ListedWait { wait, connection, .. } in listed::waits(blocks, is_soon) {
            if let Some(frames) = hosts.get_mut(&connection.endpoint(wait.by).addr) {
                frames.extend([wait.ack.frame, wait.to.frame]);
            }
        }
        for frames in hosts.values_mut() {
            frames.sort_unstable();
            frames.dedup();
        }
        Self(hosts)
    }

    /// How many of this host lie between the ACK and the end of its wait.
    pub fn between(&self, host: IpAddr, wait: &Wait) -> usize {
        let Some(frames) = self.0.get(&host) else { return 0 };
        let before = |frame: u64| frames.partition_point(|&other| other < frame);
        before(wait.to.frame).saturating_sub(before(wait.ack.frame + 1))
    }
}

/// May `side`, which seems to hold so often, pass on what it seems to hold?
pub fn may_be_relay(connection: &Connection, side: Side, holds: usize) -> bool {
    let is_asked = side == Side::Client || connection.exchanges.count as usize >= holds;
    !is_asked || is_one_host(connection)
}

/// Round trip between both ends, in ns.
pub fn path_ns(connection: &Connection) -> Option<i64> {
    connection.halves.iter().map(Half::measured_rtt_ns).sum()
}

/// May both ends be on one host?
fn is_one_host(connection: &Connection) -> bool {
    connection.is_loopback() || path_ns(connection).is_some_and(|rtt_ns| rtt_ns < ONE_HOST_RTT_NS)
}

fn is_soon(wait: &Wait) -> bool {
    wait.is_freed() && wait.release_ns() <= PASS_ON_NS
}

/// The hosts that may be relays on connections of a block: others need no excuse.
fn relays(block: &Block) -> impl Iterator<Item = IpAddr> {
    let mut freed = vec![[0; 2]; block.connections.len()];
    for (_, place, wait) in block.placed(Wait::is_freed) {
        freed[place][wait.by as usize] += 1;
    }
    block.connections.iter().zip(freed).flat_map(|(connection, freed)| {
        let relays = Side::BOTH.into_iter().filter(move |&side| {
            let most = freed[side as usize];
            most > 0 && may_be_relay(connection, side, most)
        });
        relays.map(|side| connection.endpoint(side).addr)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::wait::fact;
    use crate::track::{Endpoint, Ends, Mark};

    impl HostFrames {
        /// Of one host.
        pub fn with(host: IpAddr, frames: Vec<u64>) -> Self {
            Self([(host, frames)].into_iter().collect())
        }
    }

    /// Ten connections whose timers fire in one tick: ten ACKs, then ten releases, and SYNs of strangers
    /// in every second frame.
    #[test]
    fn frames_of_strangers_do_not_keep_a_host_busy() {
        let mut block = Block { numbers: (0..10).collect(), ..Block::default() };
        for id in 0..10 {
            let [client, server] =
                [1, 2].map(|host| Endpoint { addr: [10, 0, 0, host].into(), port: 80 });
            block.connections.push(Connection::new(id, Ends { client, server }));
            let at = |frame: u32| Mark { time_ns: frame.into(), frame: frame.into() };
            block.waits.push(Wait {
                facts: fact::OWN_DATA_BEFORE | fact::PURE_ACK,
                ack: at(2 + 2 * id),
                to: at(22 + 2 * id),
                ..Wait::unknown(id, Side::Server)
            });
        }
        let blocks = [block];
        let frames = HostFrames::of(&blocks, 1);
        let wait = &blocks[0].waits[4];
        assert_eq!(frames.between([10, 0, 0, 2].into(), wait), 9);
        assert_eq!(frames.between([10, 0, 0, 7].into(), wait), 0);
    }
}
