//! Which connections a tracker has: blocks of them are dealt out to the trackers in turn.

/// Connections of one block: 384 KiB, so that few of them take little memory, and many few blocks.
pub const BLOCK_LEN: usize = 1024;

/// The tracker, of `N`, that has the connection with this number, and its place there: blocks are dealt
/// out in turn.
#[inline]
pub fn deal<const N: usize>(connection: u32) -> (usize, u32) {
    let (block, at) = (connection as usize / BLOCK_LEN, connection as usize % BLOCK_LEN);
    (block % N, (block / N * BLOCK_LEN + at) as u32)
}

/// The blocks that [`deal`] gives to one of `of` trackers.
#[derive(Debug, Clone, Copy)]
pub struct Share {
    pub tracker: usize,
    pub of: usize,
}

impl Share {
    /// Of the only tracker.
    pub const WHOLE: Self = Self { tracker: 0, of: 1 };

    /// The number of the connection at a place.
    pub(super) fn number(self, place: usize) -> u32 {
        let block = place / BLOCK_LEN * self.of + self.tracker;
        (block * BLOCK_LEN + place % BLOCK_LEN) as u32
    }
}
