//! What is kept of connections until they are judged: rows of one block of connections lie together.

use crate::track::share::BLOCK_LEN;

/// Room for so many rows at first. Up to [`MANY`] it grows eightfold, so seldom: on a virtual machine
/// memory that was moved costs as much as fresh memory, and what no row lies in yet takes none.
const FIRST_ROWS: usize = 128;
/// From so many rows on the room only doubles: address space has limits too.
const MANY: usize = 1 << 16;

/// Rows of connections in the order in which they came, for each block of [`super::Connections`].
#[derive(Debug)]
pub struct ByBlock<T> {
    blocks: Vec<Vec<T>>,
}

impl<T> Default for ByBlock<T> {
    fn default() -> Self {
        Self { blocks: Vec::new() }
    }
}

impl<T> ByBlock<T> {
    /// The rows of the block of a connection.
    #[inline]
    pub fn of(&mut self, connection: u32) -> &mut Vec<T> {
        let place = connection as usize / BLOCK_LEN;
        if place >= self.blocks.len() {
            self.blocks.resize_with(place + 1, Vec::new);
        }
        &mut self.blocks[place]
    }

    /// Adds a row of a connection.
    #[inline]
    pub fn push(&mut self, connection: u32, row: T) {
        let rows = self.of(connection);
        if rows.len() == rows.capacity() {
            let more = if rows.len() < MANY { 7 * rows.len() } else { rows.len() };
            rows.reserve_exact(more.max(FIRST_ROWS));
        }
        rows.push(row);
    }

    /// The rows of each block, and none for those that follow.
    pub fn into_blocks(self) -> impl Iterator<Item = Vec<T>> {
        self.blocks.into_iter().chain(std::iter::repeat_with(Vec::new))
    }
}
