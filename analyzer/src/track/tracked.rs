//! What all shards saw, put together at the end of the capture.

use crate::track::numbers::{Place, number};
use crate::track::tracker::Tracker;
use crate::track::wait::Wait;
use crate::track::{Connection, Exchange, Exchanged, ServerLatency, Suspect};
use std::mem;
use std::sync::Arc;

/// The connections of a block of a shard, in the order of their places there, and what is to be judged of
/// them.
#[derive(Default)]
pub struct Block {
    pub connections: Vec<Connection>,
    pub waits: Vec<Wait>,
    pub suspects: Vec<Suspect>,
    /// Numbers of the connections of the shard, by their places.
    pub numbers: Arc<[u32]>,
    /// Where the servers that these connections name are among all.
    pub servers: Arc<[u32]>,
}

impl Block {
    /// Where the connection of a wait is among those of the block, if it is listed.
    pub fn place_of(&self, wait: &Wait) -> Option<usize> {
        let id = wait.connection;
        // Mostly none is missing.
        let place = id.wrapping_sub(self.connections.first()?.id) as usize;
        match self.connections.get(place).is_some_and(|connection| connection.id == id) {
            true => Some(place),
            false => self.connections.binary_search_by_key(&id, |connection| connection.id).ok(),
        }
    }
}

/// The results of all shards.
pub struct Tracked {
    /// All connections in the order of their numbers, those too that no block lists.
    pub connections: Vec<Place>,
    /// All blocks, shard by shard, and for each shard the index of its first one.
    pub blocks: Vec<Block>,
    pub first_blocks: Vec<usize>,
    pub servers: Vec<ServerLatency>,
    /// In the order of their ends, if they were to be kept.
    pub exchanges: Option<Vec<Exchange>>,
    /// Waits beyond what is kept: count and sum in ns.
    pub unlisted_waits: u64,
    pub unlisted_wait_ns: i64,
}

impl Tracked {
    /// Puts together what ended trackers saw.
    pub fn by(mut trackers: Vec<Tracker>) -> Self {
        let first_frames: Vec<Vec<u64>> =
            trackers.iter_mut().map(|tracker| mem::take(&mut tracker.first_frames)).collect();
        let (connections, numbers) = number(&first_frames);
        let unlisted_waits = trackers.iter().map(|tracker| tracker.waits.unlisted).sum();
        let unlisted_ns = trackers.iter().map(|tracker| tracker.waits.unlisted_ns);
        let unlisted_wait_ns = unlisted_ns.fold(0, i64::saturating_add);
        let mut all = Exchanged::default();
        let (mut blocks, mut first_blocks) = (Vec::new(), Vec::new());
        for (tracker, numbers) in trackers.into_iter().zip(numbers) {
            first_blocks.push(blocks.len());
            tracker.into_blocks(numbers, &mut all, &mut blocks);
        }
        let exchanges = all.all.map(|all| {
            let mut rows = all.rows;
            rows.sort_by_key(|row| row.end.frame);
            rows
        });
        let servers = all.servers;
        Self {
            connections,
            blocks,
            first_blocks,
            servers,
            exchanges,
            unlisted_waits,
            unlisted_wait_ns,
        }
    }
}

impl Tracker {
    /// Adds its blocks of connections, which have these `numbers`, and its exchanges.
    fn into_blocks(mut self, numbers: Vec<u32>, all: &mut Exchanged, blocks: &mut Vec<Block>) {
        let numbers: Arc<[u32]> = numbers.into();
        self.exchanged.number(&numbers);
        let suspects = mem::take(&mut self.exchanged.suspects).into_blocks();
        let servers: Arc<[u32]> = all.add_all(self.exchanged).into();
        let connections = self.connections.into_blocks();
        let rows = connections.into_iter().zip(self.waits.kept.into_blocks()).zip(suspects);
        blocks.extend(rows.map(|((connections, waits), suspects)| Block {
            connections,
            waits,
            suspects,
            numbers: Arc::clone(&numbers),
            servers: Arc::clone(&servers),
        }));
    }
}
