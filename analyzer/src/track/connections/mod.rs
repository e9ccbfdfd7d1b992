//! The connections of a shard, in blocks that never move.

mod folded;
mod packed;

use crate::decode::Header;
use crate::track::BLOCK_LEN;
use crate::track::Ends;
use crate::track::connection::Connection;
use crate::track::connections::folded::Folded;
use crate::track::reader::range::SHARDS;
use std::collections::BTreeMap;

/// A block of which most connections carried no data is folded once so many newer blocks of its shard exist:
/// some 131,072 connections of all shards later, data is rare.
const FOLDED_AFTER: usize = 128 / SHARDS;

/// The connections of one shard. A place is an index into them, from 0 in order of opening, and their
/// `id` until all shards are put together.
#[derive(Debug, Default)]
pub struct Connections {
    /// A block that is folded is empty.
    blocks: Vec<Vec<Connection>>,
    /// By the index of their block.
    folded: BTreeMap<usize, Folded>,
}

impl Connections {
    /// Will the next connection begin a block? Then an older one may be folded, so all earlier segments
    /// go first.
    pub fn may_fold(&self) -> bool {
        self.len().is_multiple_of(BLOCK_LEN)
    }

    /// Adds the next connection.
    pub fn open(&mut self, ends: Ends) {
        let place = self.len();
        if place.is_multiple_of(BLOCK_LEN) {
            self.fold();
            self.blocks.push(Vec::with_capacity(BLOCK_LEN));
        }
        if let Some(block) = self.blocks.last_mut() {
            block.push(Connection::new(place as u32, ends));
        }
    }

    /// How many were opened.
    pub fn len(&self) -> usize {
        // The last block is never folded.
        let last_len = self.blocks.last().map_or(0, Vec::len);
        self.blocks.len().saturating_sub(1) * BLOCK_LEN + last_len
    }

    /// Folds the block that has just become old enough, if most of its connections carried no data.
    fn fold(&mut self) {
        let Some(block) = self.blocks.len().checked_sub(FOLDED_AFTER) else {
            return;
        };
        if Folded::pays(&self.blocks[block]) {
            let connections = std::mem::take(&mut self.blocks[block]);
            self.folded.insert(block, Folded::new(connections));
        }
    }

    /// `None` for a connection that is folded.
    #[inline]
    pub fn get_whole(&self, place: usize) -> Option<&Connection> {
        let (block, at) = (place / BLOCK_LEN, place % BLOCK_LEN);
        self.blocks[block].get(at).or_else(|| self.folded.get(&block)?.get_whole(at))
    }

    /// The connection that takes this segment, between these `ends`. `None` for one that was refused and
    /// folded.
    #[inline]
    pub fn get_mut(
        &mut self,
        place: usize,
        segment: &Header,
        ends: impl FnOnce() -> Ends,
    ) -> Option<&mut Connection> {
        let (block, at) = (place / BLOCK_LEN, place % BLOCK_LEN);
        match self.blocks[block].get_mut(at) {
            Some(connection) => Some(connection),
            None => self.folded.get_mut(&block)?.get_mut(at, place as u32, segment, ends),
        }
    }

    /// The capture has ended: those that are folded are only counted.
    pub fn end(&mut self) {
        for (block, folded) in std::mem::take(&mut self.folded) {
            self.blocks[block] = folded.into_connections();
        }
    }

    /// All that are whole, in the order of their numbers.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Connection> {
        self.blocks.iter_mut().flatten()
    }

    /// As `iter_mut`, block by block.
    pub fn into_blocks(self) -> Vec<Vec<Connection>> {
        self.blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::Endpoint;

    impl Connections {
        /// So many of which nothing is known.
        pub fn unknown(count: usize) -> Self {
            let mut connections = Self::default();
            (0..count).for_each(|_| connections.open(ends()));
            connections
        }
    }

    fn ends() -> Ends {
        let endpoint = Endpoint { addr: [10, 0, 0, 1].into(), port: 80 };
        Ends { client: endpoint, server: endpoint }
    }

    #[test]
    fn every_connection_is_found_where_it_was_opened() {
        let connections = Connections::unknown(5 * BLOCK_LEN + 7);
        assert_eq!(connections.len(), 5 * BLOCK_LEN + 7);
        for place in 0..connections.len() {
            assert_eq!(connections.get_whole(place).unwrap().id as usize, place);
        }
    }
}
