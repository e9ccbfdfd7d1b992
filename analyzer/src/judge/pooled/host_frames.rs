//! Which frames kept a host busy between an ACK and what it released.
//!
//! Where many delayed-ACK timers fire in one tick, a kernel handles the ACKs and the releases of all
//! connections one after the other. Other frames of the capture may be strangers', and count for nothing.

use crate::judge::pooled::listed::{self, ListedWait};
use crate::judge::thresholds::PASS_ON_NS;
use crate::track::tracked::Block;
use crate::track::wait::Wait;
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::net::IpAddr;

/// The frames of ACKs and of what followed them soon, in order, by the host that sent the latter.
#[derive(Debug, Default)]
pub struct HostFrames(HashMap<IpAddr, Vec<u64>, RandomState>);

impl HostFrames {
    pub fn of(blocks: &[Block]) -> Self {
        let mut hosts: HashMap<IpAddr, Vec<u64>, RandomState> = HashMap::default();
        let is_soon = |wait: &Wait| wait.is_freed() && wait.release_ns() <= PASS_ON_NS;
        for ListedWait { wait, connection, .. } in listed::waits(blocks, is_soon) {
            let host = connection.endpoint(wait.by).addr;
            hosts.entry(host).or_default().extend([wait.ack.frame, wait.to.frame]);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::wait::fact;
    use crate::track::{Connection, Endpoint, Ends, Mark, Side};

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
        let frames = HostFrames::of(&blocks);
        let wait = &blocks[0].waits[4];
        assert_eq!(frames.between([10, 0, 0, 2].into(), wait), 9);
        assert_eq!(frames.between([10, 0, 0, 7].into(), wait), 0);
    }
}
