//! All connections, in blocks that never move.

use super::connection::Connection;
use super::folded::Folded;
use super::table::Ends;

/// Connections of one block, as a power of two: 48 MiB, of which only what is written to takes
/// memory. Larger than any block that an allocator keeps for itself, so it is given back at once.
const BLOCK_BITS: u32 = 17;
const BLOCK_LEN: usize = 1 << BLOCK_BITS;

/// Connections by their numbers, from 0.
#[derive(Debug, Default)]
pub struct Connections {
    blocks: Vec<Block>,
}

#[derive(Debug)]
enum Block {
    Whole(Vec<Connection>),
    Folded(Folded),
}

impl Connections {
    /// Adds the next connection.
    pub fn open(&mut self, ends: Ends) {
        if self.last_len() == BLOCK_LEN || self.blocks.is_empty() {
            self.fold();
            self.blocks.push(Block::Whole(Vec::with_capacity(BLOCK_LEN)));
        }
        let id = self.len() as u32;
        if let Some(Block::Whole(connections)) = self.blocks.last_mut() {
            connections.push(Connection::new(id, ends));
        }
    }

    /// How many were opened.
    pub fn len(&self) -> usize {
        self.blocks.len().saturating_sub(1) * BLOCK_LEN + self.last_len()
    }

    /// The last block is always whole.
    fn last_len(&self) -> usize {
        match self.blocks.last() {
            Some(Block::Whole(connections)) => connections.len(),
            _ => 0,
        }
    }

    /// Folds the last block but one, if it is that of a port scan. In the last one answers are still
    /// to come.
    fn fold(&mut self) {
        let last = self.blocks.len().saturating_sub(1);
        if let Some(block) = self.blocks[..last].last_mut()
            && let Block::Whole(connections) = block
            && is_scan(connections)
        {
            *block = Block::Folded(Folded::new(std::mem::take(connections)));
        }
    }

    /// `None` for a connection that is not whole.
    #[inline]
    pub fn get_whole(&self, id: usize) -> Option<&Connection> {
        match &self.blocks[id >> BLOCK_BITS] {
            Block::Whole(connections) => Some(&connections[id % BLOCK_LEN]),
            Block::Folded(_) => None,
        }
    }

    /// `None` for a connection of a port scan that was refused.
    #[inline]
    pub fn get_mut(&mut self, id: usize) -> Option<&mut Connection> {
        match &mut self.blocks[id >> BLOCK_BITS] {
            Block::Whole(connections) => Some(&mut connections[id % BLOCK_LEN]),
            Block::Folded(folded) => folded.get_mut(id as u32),
        }
    }

    /// All that are not folded away.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Connection> {
        self.blocks.iter_mut().flat_map(|block| -> Box<dyn Iterator<Item = _>> {
            match block {
                Block::Whole(connections) => Box::new(connections.iter_mut()),
                Block::Folded(folded) => Box::new(folded.iter_mut()),
            }
        })
    }

    /// How many are not folded away.
    pub fn listed(&self) -> usize {
        let listed = |block: &Block| match block {
            Block::Whole(connections) => connections.len(),
            Block::Folded(folded) => folded.len(),
        };
        self.blocks.iter().map(listed).sum()
    }

    /// Block by block: the number after its last one, and its connections, less those that are
    /// folded away.
    pub fn into_blocks(self) -> impl Iterator<Item = (u32, Vec<Connection>)> {
        self.blocks.into_iter().enumerate().map(|(index, block)| {
            let connections = match block {
                Block::Whole(connections) => connections,
                Block::Folded(folded) => folded.into_connections(),
            };
            (((index + 1) * BLOCK_LEN) as u32, connections)
        })
    }
}

/// Were most of these refused or never answered?
fn is_scan(connections: &[Connection]) -> bool {
    let little = |connection: &&Connection| connection.is_refused() || connection.asked().is_some();
    connections.iter().filter(little).count() > connections.len() / 4 * 3
}
