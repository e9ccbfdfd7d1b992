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

/// So many segments that connections opened with are kept for those that come back late: 200 MB in all
/// shards, as of four million half-open connections. Then the oldest are forgotten.
const MOST_SEGMENTS: usize = (1 << 23) / SHARDS;

/// The connections of one shard. A place is an index into them, from 0 in order of opening, and their
/// `id` until all shards are put together.
#[derive(Debug)]
pub struct Connections {
    /// A block that is folded is empty.
    blocks: Vec<Vec<Connection>>,
    /// By the index of their block.
    folded: BTreeMap<usize, Folded>,
    /// What the folded ones keep, and up to which block it was forgotten.
    segments: usize,
    forgotten: usize,
    most_segments: usize,
}

impl Default for Connections {
    fn default() -> Self {
        Self::keeping(MOST_SEGMENTS)
    }
}

impl Connections {
    fn keeping(most_segments: usize) -> Self {
        let (blocks, folded) = (Vec::new(), BTreeMap::new());
        Self { blocks, folded, segments: 0, forgotten: 0, most_segments }
    }

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
            let folded = Folded::new(connections);
            self.segments += folded.segments();
            self.folded.insert(block, folded);
            self.forget();
        }
    }

    /// Forgets what the oldest opened with, until there is room.
    fn forget(&mut self) {
        for (&block, oldest) in self.folded.range_mut(self.forgotten..) {
            if self.segments <= self.most_segments {
                break;
            }
            self.segments -= oldest.segments();
            oldest.forget();
            self.forgotten = block + 1;
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
    use crate::decode::{ACK, Options, SYN};
    use crate::track::waits::Waits;
    use crate::track::{Endpoint, Exchanged, Lengths, Mark, Recorder, Side};

    impl Connections {
        /// `count` connections without any state.
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

    /// So many connections of one SYN each, which a shard with so much room was shown.
    fn half_open(count: usize, most_segments: usize) -> Connections {
        let mut connections = Connections::keeping(most_segments);
        for place in 0..count {
            connections.open(ends());
            take(&mut connections, place, SYN, 0);
        }
        connections
    }

    /// Shows a connection a segment of its client; is it there?
    fn take(connections: &mut Connections, place: usize, flags: u8, len: u16) -> bool {
        let options = Options::default();
        let header =
            Header { seq: 7, ack: 0, len: len.into(), window: 9, ip_id: 0, options, flags };
        let mark = Mark { time_ns: place as i64, frame: place as u64 + 1 };
        let Some(connection) = connections.get_mut(place, &header, ends) else { return false };
        let (waits, exchanged) = (&mut Waits::default(), &mut Exchanged::default());
        let mut recorder = Recorder { waits, exchanged, lengths: Lengths::NONE, clock_ns: 0 };
        connection.take(Side::Client, &header, mark, &mut recorder);
        true
    }

    #[test]
    fn of_very_many_half_open_connections_the_oldest_are_only_counted() {
        let blocks = FOLDED_AFTER + 4;
        let count = blocks * BLOCK_LEN;
        let mut all = half_open(count, usize::MAX);
        let mut few = half_open(count, 2 * BLOCK_LEN);
        assert_eq!((few.len(), few.segments), (all.len(), 2 * BLOCK_LEN));
        let forgotten = blocks - FOLDED_AFTER - 2;
        for block in 0..blocks {
            let place = block * BLOCK_LEN + 3;
            assert!(take(&mut all, place, ACK, 0));
            assert_eq!(take(&mut few, place, ACK, 0), block >= forgotten);
            // With data it is looked at again, if only from there on.
            assert!(take(&mut few, place, ACK, 1));
        }
        all.end();
        few.end();
        assert_eq!(all.iter_mut().count(), few.iter_mut().count());
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
