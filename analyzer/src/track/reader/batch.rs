//! Segments on their way from the reader to a tracker.

use crate::decode::Header;
use crate::track::{Ends, Mark, Side};

/// Segments handed over at once: enough to make the handover cheap, few enough to stay in cache.
pub const BATCH_LEN: usize = 512;
/// Segments whose connections are looked up at once: as many cache misses as overlap. A batch may grow
/// by so many before it is handed over.
pub const LOOKUPS: usize = 64;

/// A segment, its mark and its connection. Small, since it moves from one core to the other.
#[derive(Debug, Clone, Copy)]
pub struct Captured {
    pub mark: Mark,
    pub header: Header,
    /// Place of the connection at its tracker, times two, and the sender.
    place_and_side: u32,
}

const _: () = assert!(size_of::<Captured>() == 48, "four segments take three cache lines");

impl Captured {
    /// A segment of the connection at this place of its tracker, sent by `by`.
    #[inline]
    pub fn new(header: Header, mark: Mark, place: u32, by: Side) -> Self {
        Self { mark, header, place_and_side: place << 1 | by as u32 }
    }

    /// Place of the connection at its tracker.
    #[inline]
    pub fn place(&self) -> usize {
        (self.place_and_side >> 1) as usize
    }

    /// The sender.
    #[inline]
    pub fn by(&self) -> Side {
        Side::BOTH[(self.place_and_side & 1) as usize]
    }
}

/// Segments of one tracker's connections, in the order of the capture.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// It holds the first segments of a capture.
    pub begins_capture: bool,
    pub segments: Vec<Captured>,
    /// Connections that begin in this batch, in the order of their numbers.
    pub opened: Vec<Ends>,
}

impl Batch {
    /// An empty one.
    pub fn with_room() -> Self {
        let mut batch = Self::default();
        batch.reset();
        batch
    }

    /// Empties it for reuse.
    pub fn reset(&mut self) {
        self.segments.clear();
        self.segments.reserve(BATCH_LEN + LOOKUPS);
        self.opened.clear();
        self.begins_capture = false;
    }
}
