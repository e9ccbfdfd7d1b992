//! The way of segments from the reader to one tracker, and of their memory back.

use crate::batch::{BATCH_LEN, Batch, Captured};
use crate::flow::{BLOCK_LEN, Ends};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Batches on their way to a tracker and back: so many that one is used again only when the other
/// core's cache holds nothing of it any more, and that either thread goes on for some milliseconds
/// while the other has no CPU. They take 2 MB.
pub const BATCHES: usize = 64;

/// The reader's end.
pub struct Outlet {
    batch: Batch,
    full: Sender<Batch>,
    recycled: Receiver<Batch>,
}

/// The tracker's end.
pub struct Inlet {
    full: Receiver<Batch>,
    empty: Sender<Batch>,
}

/// Both ends of a way.
pub fn lane() -> (Outlet, Inlet) {
    let (full, batches) = channel();
    let (empty, recycled) = channel();
    for _ in 0..BATCHES {
        // The other end is still here.
        let _ = empty.send(Batch::default());
    }
    let mut batch = Batch::default();
    batch.reset();
    (Outlet { batch, full, recycled }, Inlet { full: batches, empty })
}

impl Outlet {
    /// A connection of this tracker begins, at this place. With the first one of a block an older block
    /// may be folded: what was captured before is to be taken before.
    pub fn open(&mut self, place: u32, ends: Ends) {
        if (place as usize).is_multiple_of(BLOCK_LEN) {
            self.hand_over();
        }
        self.batch.opened.push(ends);
    }

    /// Adds a segment of one of its connections.
    #[inline]
    pub fn push(&mut self, captured: Captured) {
        self.batch.segments.push(captured);
    }

    pub fn is_full(&self) -> bool {
        self.batch.segments.len() >= BATCH_LEN
    }

    /// Hands over what there is.
    pub fn hand_over(&mut self) {
        if self.batch.segments.is_empty() {
            return;
        }
        // A tracker gives all back until the reader ends. One that panics takes `empty` with it: the
        // reader must not wait for a batch then.
        let mut next = self.recycled.recv().unwrap_or_default();
        next.reset();
        let _ = self.full.send(std::mem::replace(&mut self.batch, next));
    }
}

impl Inlet {
    /// Gives all batches to `take`, until the reader has ended.
    pub fn drain(self, mut take: impl FnMut(&Batch)) {
        for batch in self.full {
            take(&batch);
            // The reader has gone at the end of the last capture; then nothing is to be recycled.
            let _ = self.empty.send(batch);
        }
    }
}
