//! Texts that people paste: packets as programs print them, in any form that pasting and mailing leave.
//!
//! [`paste`] takes away what pasting added, [`times`] and [`ends`] read times, addresses and ports,
//! and `packets` makes of lines the packets that were printed. The crate knows nothing of frames,
//! of verdicts, or of where a text came from: that is a [`Source`].

mod ends;
pub mod flags;
mod packets;
pub mod paste;
mod times;
pub mod utf16;

pub use ends::SocketPair;
pub use packets::packet::{PrintedOptions, PrintedPacket, PrintedSegment};
pub use packets::text::{AboutText, Refusal, SentPacket, Text, WireNumbers};
pub use times::{DAY_NS, SECOND_NS, decimals_ns};

use std::io;

/// Bytes that are read ahead as far as is needed.
pub trait Source {
    /// At least `wanted` unread bytes; fewer only at the end.
    ///
    /// # Errors
    /// The read failed.
    fn at_least(&mut self, wanted: usize) -> io::Result<&[u8]>;

    /// The unread bytes at hand.
    fn available(&self) -> &[u8];

    /// Marks so many of them as read.
    fn consume(&mut self, count: usize);
}
