//! What arrived for each server, and when.

use crate::judge::thresholds::{PASS_ON_NS, WAKE_NS};
use crate::track::tracked::Block;
use crate::track::wait::Wait;
use crate::track::{Endpoint, Side};
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// Looked at near one time: on a busy server they say little anyway.
const MOST_NEAR: usize = 64;

/// Data for one server: when it arrived, and the number of its connection.
type Arrivals = Vec<(i64, u32)>;

/// Of each server that may hold something.
pub struct Arrived(HashMap<Endpoint, Arrivals, RandomState>);

/// What arrived on other connections near the time when something was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Near {
    /// How long before, the last that its program may have woken up for; `None` for nothing.
    pub ahead_ns: Option<i64>,
    /// How many others arrived up to [`PASS_ON_NS`] before and after.
    pub others: u32,
}

impl Arrived {
    pub fn of(blocks: &[Block]) -> Self {
        let mut servers: HashMap<Endpoint, Arrivals, RandomState> = HashMap::default();
        let looks_held = |wait: &&Wait| wait.by == Side::Server && wait.is_freed();
        for block in blocks {
            for place in block.waits.iter().filter(looks_held).filter_map(|w| block.place_of(w)) {
                servers.entry(block.connections[place].ends.server).or_default();
            }
        }
        for block in blocks {
            for arrival in &block.arrivals {
                let Some(place) = block.place(arrival.connection) else { continue };
                if let Some(all) = servers.get_mut(&block.connections[place].ends.server) {
                    all.push((arrival.time_ns, block.numbers[arrival.connection as usize]));
                }
            }
        }
        servers.values_mut().for_each(|all| all.sort_unstable());
        Self(servers)
    }
}

impl Arrived {
    /// What arrived for `server` near `sent_ns`, but not on this connection; `None` if nothing can.
    pub fn near(&self, server: Endpoint, connection: u32, sent_ns: i64) -> Option<Near> {
        let all = self.0.get(&server)?;
        let first = all.partition_point(|&(time_ns, _)| time_ns < sent_ns - PASS_ON_NS);
        let mut near = Near { ahead_ns: None, others: 0 };
        for &(time_ns, by) in all[first..].iter().take(MOST_NEAR) {
            if time_ns > sent_ns + PASS_ON_NS {
                break;
            }
            let ahead_ns = sent_ns - time_ns;
            if by == connection {
                continue;
            }
            // One after the other, each is nearer than the last one.
            let is_nearer = ahead_ns >= WAKE_NS;
            near.others += u32::from(!is_nearer || near.ahead_ns.is_some());
            near.ahead_ns = if is_nearer { Some(ahead_ns) } else { near.ahead_ns };
        }
        Some(near)
    }
}
