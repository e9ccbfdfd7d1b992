//! When data came for a server after a silence of its sender: a broker passes it on, on other connections.

use crate::track::by_block::ByBlock;
use crate::track::table::key::SHARDS;

/// Most arrivals that a shard keeps, 16 bytes each.
const MOST: usize = (1 << 19) / SHARDS;

/// Data of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    pub connection: u32,
    pub time_ns: i64,
}

/// The first ones of a shard: memory does not grow with the packets.
#[derive(Debug, Default)]
pub struct Arrivals {
    pub kept: ByBlock<Arrival>,
    count: usize,
}

impl Arrivals {
    pub fn note(&mut self, connection: u32, time_ns: i64) {
        if self.count < MOST {
            self.count += 1;
            self.kept.push(connection, Arrival { connection, time_ns });
        }
    }
}
