//! The way of segments from the reader to the trackers, and of their memory back. One thread tracks;
//! when it has too much to do, the reader's helps it out.

use crate::track::reader::batch::{BATCH_LEN, Batch, Captured};
use crate::track::{BLOCK_LEN, Ends};
use std::mem;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

/// Batches on their way to the trackers and back: so many that, while tracking keeps up, one is used
/// again only when the other core's cache holds nothing of it any more, and that either thread goes on
/// for some milliseconds while the other has no CPU. Their segments take 2 MB.
pub const BATCHES: usize = 64;

/// The way to one tracker, which takes its batches in their order, in either thread.
pub struct Lane<T> {
    queue: Sender<Batch>,
    tracker: Mutex<(Receiver<Batch>, T)>,
}

/// The reader's end of all ways.
pub struct Outlet<'a, T, const N: usize> {
    lanes: &'a [Lane<T>; N],
    /// What is to be handed over next to each tracker.
    batches: [Batch; N],
    tell: SyncSender<()>,
    recycled: Receiver<Batch>,
}

/// The end of the thread that tracks.
pub struct Inlet<'a, T, const N: usize> {
    lanes: &'a [Lane<T>; N],
    /// That there may be a batch in a queue.
    told: Receiver<()>,
    empty: Sender<Batch>,
}

/// Both ends of `lanes`.
pub fn connect<T, const N: usize>(lanes: &[Lane<T>; N]) -> (Outlet<'_, T, N>, Inlet<'_, T, N>) {
    // Told once, the other thread looks into all queues.
    let (tell, told) = sync_channel(1);
    let (empty, recycled) = channel();
    for _ in 0..BATCHES {
        // The other end is still here.
        let _ = empty.send(Batch::default());
    }
    let batches = lanes.each_ref().map(|_| Batch::with_room());
    (Outlet { lanes, batches, tell, recycled }, Inlet { lanes, told, empty })
}

impl<T: FnMut(&Batch)> Lane<T> {
    pub fn new(take: T) -> Self {
        let (queue, waiting) = channel();
        Self { queue, tracker: Mutex::new((waiting, take)) }
    }

    /// Has the next batch taken, if there is one, and returns it. Nothing happens while the other thread
    /// is at it, or after it has panicked there.
    fn take_one(&self) -> Option<Batch> {
        let mut tracker = self.tracker.try_lock().ok()?;
        let (waiting, take) = &mut *tracker;
        let batch = waiting.try_recv().ok()?;
        take(&batch);
        Some(batch)
    }
}

impl<T: FnMut(&Batch), const N: usize> Outlet<'_, T, N> {
    /// What follows is of the next capture; all of the last one is handed over.
    pub fn begin_capture(&mut self) {
        for batch in &mut self.batches {
            batch.begins_capture = true;
        }
    }

    /// A connection begins at this place of a tracker. With the first one of a block an older block may
    /// be folded: what was captured before is to be taken before.
    pub fn open(&mut self, tracker: usize, place: u32, ends: Ends) {
        if (place as usize).is_multiple_of(BLOCK_LEN) {
            self.hand_over(tracker);
        }
        self.batches[tracker].opened.push(ends);
    }

    /// Adds a segment of one of the connections of a tracker.
    #[inline]
    pub fn push(&mut self, tracker: usize, captured: Captured) {
        self.batches[tracker].segments.push(captured);
    }

    /// Hands over what is worth it.
    #[inline]
    pub fn hand_over_full(&mut self) {
        for tracker in 0..N {
            if self.batches[tracker].segments.len() >= BATCH_LEN {
                self.hand_over(tracker);
            }
        }
    }

    /// Hands over what there is.
    pub fn hand_over_all(&mut self) {
        (0..N).for_each(|tracker| self.hand_over(tracker));
    }

    fn hand_over(&mut self, tracker: usize) {
        if self.batches[tracker].segments.is_empty() {
            return;
        }
        if self.lanes.iter().any(|lane| lane.tracker.is_poisoned()) {
            // A tracker has panicked: nobody takes any more.
            self.batches[tracker].reset();
            return;
        }
        let next = self.next_batch();
        let full = mem::replace(&mut self.batches[tracker], next);
        let _ = self.lanes[tracker].queue.send(full);
        let _ = self.tell.try_send(());
    }

    /// An empty batch. Where there is none, the other thread is behind: rather than wait, this one takes
    /// a batch itself.
    fn next_batch(&self) -> Batch {
        // That of the tracker which the other thread looks at last.
        let help = || self.lanes.iter().rev().find_map(Lane::take_one);
        let recycled = self.recycled.try_recv().ok().or_else(help);
        // The other thread is at the only batches, or it has panicked and gives none back.
        let mut next = recycled.or_else(|| self.recycled.recv().ok()).unwrap_or_default();
        next.reset();
        next
    }
}

impl<T: FnMut(&Batch), const N: usize> Inlet<'_, T, N> {
    /// Has all batches taken, until the reader has ended.
    pub fn track(self) {
        while self.told.recv().is_ok() {
            while let Some(batch) = self.lanes.iter().find_map(Lane::take_one) {
                // The reader has gone at the end of the last capture; then nothing is to be recycled.
                let _ = self.empty.send(batch);
            }
            // A tracker may be at work in the reader's thread, which tells of a batch after that.
        }
    }
}
