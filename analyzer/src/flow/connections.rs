//! All connections, in blocks that never move.

use super::connection::Connection;
use super::folded::Folded;
use super::table::Ends;
use std::collections::BTreeMap;

/// Connections of one block: 384 KiB, so that few of them take little memory, and many few blocks.
pub const BLOCK_LEN: usize = 1024;
/// So many blocks before the one that begins, a block is folded if it is one of a port scan: 131,072
/// connections later, answers to it are rare.
const FOLDED_AFTER: usize = 128;

/// Connections by their numbers, from 0.
#[derive(Debug, Default)]
pub struct Connections {
    /// A block that was folded is empty.
    blocks: Vec<Vec<Connection>>,
    /// By the place of their block.
    folded: BTreeMap<usize, Folded>,
}

impl Connections {
    /// Adds the next connection.
    pub fn open(&mut self, ends: Ends) {
        let id = self.len();
        if id.is_multiple_of(BLOCK_LEN) {
            self.fold();
            self.blocks.push(Vec::with_capacity(BLOCK_LEN));
        }
        if let Some(block) = self.blocks.last_mut() {
            block.push(Connection::new(id as u32, ends));
        }
    }

    /// How many were opened.
    pub fn len(&self) -> usize {
        // The last block is never folded.
        let last_len = self.blocks.last().map_or(0, Vec::len);
        self.blocks.len().saturating_sub(1) * BLOCK_LEN + last_len
    }

    /// Folds the block that is old enough now, if it is that of a port scan.
    fn fold(&mut self) {
        let Some(place) = self.blocks.len().checked_sub(FOLDED_AFTER) else {
            return;
        };
        if is_scan(&self.blocks[place]) {
            let connections = std::mem::take(&mut self.blocks[place]);
            self.folded.insert(place, Folded::new(connections));
        }
    }

    /// `None` for a connection that is not whole.
    #[inline]
    pub fn get_whole(&self, id: usize) -> Option<&Connection> {
        self.blocks[id / BLOCK_LEN].get(id % BLOCK_LEN)
    }

    /// `None` for a connection of a port scan that was refused.
    #[inline]
    pub fn get_mut(&mut self, id: usize) -> Option<&mut Connection> {
        match self.blocks[id / BLOCK_LEN].get_mut(id % BLOCK_LEN) {
            Some(connection) => Some(connection),
            None => self.folded.get_mut(&(id / BLOCK_LEN))?.get_mut(id as u32),
        }
    }

    /// All that are not folded away, in the order of their numbers.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Connection> {
        let mut folded = self.folded.iter_mut().peekable();
        self.blocks.iter_mut().enumerate().flat_map(move |(place, block)| {
            let others = folded.next_if(|(folded_place, _)| **folded_place == place);
            block.iter_mut().chain(others.into_iter().flat_map(|(_, others)| others.iter_mut()))
        })
    }

    /// As `iter_mut`, block by block.
    pub fn into_blocks(mut self) -> impl Iterator<Item = Vec<Connection>> {
        self.blocks.into_iter().enumerate().map(move |(place, block)| {
            self.folded.remove(&place).map_or(block, Folded::into_connections)
        })
    }
}

/// Were most of these refused or never answered?
fn is_scan(connections: &[Connection]) -> bool {
    let little = |connection: &&Connection| connection.is_refused() || connection.asked().is_some();
    connections.iter().filter(little).count() > connections.len() / 4 * 3
}
