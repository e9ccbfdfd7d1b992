//! The connections of a shard, in blocks that never move.

use crate::decode::Header;
use crate::track::by_block::BLOCK_LEN;
use crate::track::connection::Connection;
use crate::track::early::Followed;
use crate::track::ends::Ends;
use crate::track::table::key::SHARDS;
use std::collections::HashMap;
use std::mem;

/// A block of which most connections did not open (a port scan, a SYN flood) is thinned once so many newer
/// blocks of its shard exist: some 131,072 connections of all shards later, hardly any of them does.
const THINNED_AFTER: usize = 128 / SHARDS;

/// The connections of one shard. A place is an index into them, from 0 in order of opening, and their
/// `id` until all shards are put together.
#[derive(Debug, Default)]
pub struct Connections {
    /// One that is thinned is empty.
    blocks: Vec<Vec<Connection>>,
    /// Connections that opened, in the order of their places, by the index of their block.
    thinned: HashMap<usize, Vec<Connection>>,
}

impl Connections {
    /// Will the next connection begin a block? Then an older one may be thinned, so all earlier segments
    /// go first.
    pub fn may_thin(&self) -> bool {
        self.len().is_multiple_of(BLOCK_LEN)
    }

    /// Adds the next connection.
    pub fn open(&mut self, ends: Ends) {
        let place = self.len();
        if place.is_multiple_of(BLOCK_LEN) {
            self.thin();
            self.blocks.push(Vec::with_capacity(BLOCK_LEN));
        }
        if let Some(block) = self.blocks.last_mut() {
            block.push(Connection::new(place as u32, ends));
        }
    }

    /// How many were opened.
    pub fn len(&self) -> usize {
        // The last block is never thinned.
        let last_len = self.blocks.last().map_or(0, Vec::len);
        self.blocks.len().saturating_sub(1) * BLOCK_LEN + last_len
    }

    /// Thins the block that has just become old enough: connections that did not open are counted, no more.
    fn thin(&mut self) {
        let Some(at) = self.blocks.len().checked_sub(THINNED_AFTER) else { return };
        let block = &mut self.blocks[at];
        let unopened = block.iter().filter(|connection| connection.is_unopened()).count();
        if unopened > BLOCK_LEN / 4 * 3 {
            let mut rest = mem::take(block);
            rest.retain(|connection| !connection.is_unopened());
            rest.shrink_to_fit();
            self.thinned.insert(at, rest);
        }
    }

    /// `None` for a connection of a block that is thinned.
    #[inline]
    pub fn get_whole(&self, place: usize) -> Option<&Connection> {
        self.blocks[place / BLOCK_LEN].get(place % BLOCK_LEN)
    }

    /// The connection that takes this segment, between these `ends`. `None` for one that is only counted.
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
            None => rest(self.thinned.get_mut(&block)?, place as u32, segment, ends),
        }
    }

    /// The capture has ended.
    pub fn end(&mut self) {
        for (block, rest) in self.thinned.drain() {
            self.blocks[block] = rest;
        }
    }

    /// All that are there, in the order of their numbers.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Connection> {
        self.blocks.iter_mut().flatten()
    }

    /// Like `iter_mut`, block by block.
    pub fn into_blocks(self) -> Vec<Vec<Connection>> {
        self.blocks
    }
}

impl Followed for Connections {
    fn known(&mut self, connection: u32) -> Option<&mut Connection> {
        let place = connection as usize;
        let (block, at) = (place / BLOCK_LEN, place % BLOCK_LEN);
        if let Some(rest) = self.thinned.get_mut(&block) {
            let at = rest.binary_search_by_key(&connection, |connection| connection.id).ok()?;
            return rest.get_mut(at);
        }
        self.blocks.get_mut(block)?.get_mut(at)
    }
}

/// The connection at a place of a block that is thinned. One that was only counted begins anew with data.
#[cold]
fn rest<'a>(
    block: &'a mut Vec<Connection>,
    place: u32,
    segment: &Header,
    ends: impl FnOnce() -> Ends,
) -> Option<&'a mut Connection> {
    let at = match block.binary_search_by_key(&place, |connection| connection.id) {
        Err(_) if segment.len == 0 => return None,
        Err(at) => {
            block.insert(at, Connection::new(place, ends()));
            at
        }
        Ok(at) => at,
    };
    block.get_mut(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{ACK, Options, SYN};
    use crate::track::connection::{Lengths, Recorder};
    use crate::track::exchange::exchanged::Exchanged;
    use crate::track::{Endpoint, Mark, Side};

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

    /// Shows a connection a segment of its client; is it there?
    fn take(connections: &mut Connections, place: usize, flags: u8, len: u16) -> bool {
        let options = Options::default();
        let header =
            Header { seq: 7, ack: 0, len: len.into(), window: 9, ip_id: 0, options, flags };
        let mark = Mark { time_ns: place as i64, frame: place as u32 + 1 };
        let Some(connection) = connections.get_mut(place, &header, ends) else { return false };
        let mut recorder = Recorder::new(Lengths::NONE, Exchanged::default());
        connection.take(Side::Client, &header, mark, &mut recorder);
        true
    }

    #[test]
    fn of_very_many_connections_those_that_did_not_open_are_counted_until_they_carry_data() {
        let mut connections = Connections::default();
        for place in 0..(THINNED_AFTER + 1) * BLOCK_LEN {
            connections.open(ends());
            take(&mut connections, place, SYN, 0);
            if place % 5 == 3 {
                take(&mut connections, place, ACK, 1);
            }
        }
        let [unopened, asked] = [5, 8];
        assert!(connections.get_whole(asked).is_none());
        assert!(take(&mut connections, asked, ACK, 0));
        assert!(!take(&mut connections, unopened, ACK, 0));
        assert!(take(&mut connections, unopened, ACK, 1));
        assert!(take(&mut connections, unopened, ACK, 0));
        connections.end();
        let ids: Vec<u32> = connections.iter_mut().map(|connection| connection.id).collect();
        assert!(ids.starts_with(&[3, 5, 8, 13]) && ids.is_sorted());
        assert_eq!(ids.len(), THINNED_AFTER * BLOCK_LEN + BLOCK_LEN.div_ceil(5) + 1);
    }
}
