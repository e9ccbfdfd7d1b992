//! All connections, in blocks that never move.

use super::connection::Connection;
use super::table::Ends;

/// Connections of one block, as a power of two: 48 MiB, of which only what is written to takes
/// memory. Larger than any block that an allocator keeps for itself, so it is given back at once.
const BLOCK_BITS: u32 = 17;
const BLOCK_LEN: usize = 1 << BLOCK_BITS;

/// Connections by their numbers, from 0.
#[derive(Debug, Default)]
pub struct Connections {
    blocks: Vec<Vec<Connection>>,
}

impl Connections {
    /// Adds the next connection.
    pub fn open(&mut self, ends: Ends) {
        let id = self.len();
        if id.is_multiple_of(BLOCK_LEN) {
            self.blocks.push(Vec::with_capacity(BLOCK_LEN));
        }
        self.blocks[id >> BLOCK_BITS].push(Connection::new(id as u32, ends));
    }

    pub fn len(&self) -> usize {
        let full = self.blocks.len().saturating_sub(1) * BLOCK_LEN;
        full + self.blocks.last().map_or(0, Vec::len)
    }

    #[inline]
    pub fn get(&self, id: usize) -> &Connection {
        &self.blocks[id >> BLOCK_BITS][id % BLOCK_LEN]
    }

    #[inline]
    pub fn get_mut(&mut self, id: usize) -> &mut Connection {
        &mut self.blocks[id >> BLOCK_BITS][id % BLOCK_LEN]
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Connection> {
        self.blocks.iter_mut().flatten()
    }

    /// Takes the last block off.
    pub fn pop_block(&mut self) -> Option<Vec<Connection>> {
        self.blocks.pop()
    }
}
