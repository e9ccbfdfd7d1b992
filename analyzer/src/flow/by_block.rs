//! What is kept of connections until they are judged: rows of one block of connections lie together.

use super::connections::BLOCK_LEN;

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

    /// The rows of each block, and none for those that follow.
    pub fn into_blocks(self) -> impl Iterator<Item = Vec<T>> {
        self.blocks.into_iter().chain(std::iter::repeat_with(Vec::new))
    }
}
