//! Rows kept until their connections are judged: those of one block of connections lie together.

/// Connections of one block: 320 KiB, so that few of them take little memory, and many few blocks.
pub const BLOCK_LEN: usize = 1024;

/// Rows of connections in order of arrival, for each block of [`Connections`](super::Connections).
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
        self.of(connection).push(row);
    }

    /// The only row of a connection, by its number in its block.
    pub fn one(&mut self, connection: u32) -> &mut T
    where
        T: Clone + Default,
    {
        let (block, at) = (self.of(connection), connection as usize % BLOCK_LEN);
        if block.len() <= at {
            block.resize(at + 1, T::default());
        }
        &mut block[at]
    }

    /// The rows of each block; endless, empty after the last.
    pub fn into_blocks(self) -> impl Iterator<Item = Vec<T>> {
        self.blocks.into_iter().chain(std::iter::repeat_with(Vec::new))
    }
}
