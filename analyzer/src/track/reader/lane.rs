//! Batches of segments go from the reader to the trackers, and their memory comes back. One thread
//! tracks; when it falls behind, the reader's thread helps out.

use crate::track::reader::batch::{BATCH_LEN, Batch, Captured};
use crate::track::{BLOCK_LEN, Ends};
use std::mem;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

/// Batches in circulation. Enough that a batch has left the other core's cache before it is reused, and
/// that either thread can go on for some milliseconds while the other has no CPU. They take 2 MB.
pub const BATCHES: usize = 64;

/// The queue to one tracker. Either thread may run the tracker; batches stay in order.
pub struct Lane<T> {
    queue: Sender<Batch>,
    tracker: Mutex<(Receiver<Batch>, T)>,
}

/// The reader's end of all lanes.
pub struct Outlet<'a, T, const N: usize> {
    lanes: &'a [Lane<T>; N],
    /// The next batch for each tracker, being filled.
    batches: [Batch; N],
    tell: SyncSender<()>,
    recycled: Receiver<Batch>,
}

/// The tracking thread's end of all lanes.
pub struct Inlet<'a, T, const N: usize> {
    lanes: &'a [Lane<T>; N],
    /// That there may be a batch in a queue.
    told: Receiver<()>,
    empty: Sender<Batch>,
}

/// Both ends of `lanes`.
pub fn connect<T, const N: usize>(lanes: &[Lane<T>; N]) -> (Outlet<'_, T, N>, Inlet<'_, T, N>) {
    // One notice is enough: the other thread then looks into all queues.
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

    /// Runs the tracker on its next batch, if there is one, and returns the batch. Does nothing while
    /// the other thread runs this tracker, or after it panicked.
    fn take_one(&self) -> Option<Batch> {
        let mut tracker = self.tracker.try_lock().ok()?;
        let (waiting, take) = &mut *tracker;
        let batch = waiting.try_recv().ok()?;
        take(&batch);
        Some(batch)
    }
}

impl<T: FnMut(&Batch), const N: usize> Outlet<'_, T, N> {
    /// The next segments belong to another capture; those of the last one were handed over.
    pub fn begin_capture(&mut self) {
        for batch in &mut self.batches {
            batch.begins_capture = true;
        }
    }

    /// A connection begins at this place of a tracker. The first of a block may cause an older block to
    /// be folded, so all earlier segments go first.
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

    /// Hands over full batches.
    #[inline]
    pub fn hand_over_full(&mut self) {
        for tracker in 0..N {
            if self.batches[tracker].segments.len() >= BATCH_LEN {
                self.hand_over(tracker);
            }
        }
    }

    /// Hands over all batches, full or not.
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

    /// An empty batch. If there is none, the tracking thread is behind: rather than wait, this thread
    /// runs a tracker itself.
    fn next_batch(&self) -> Batch {
        // Starting with the tracker that the other thread looks at last.
        let help = || self.lanes.iter().rev().find_map(Lane::take_one);
        let recycled = self.recycled.try_recv().ok().or_else(help);
        // The other thread has the remaining batches, or it panicked and returns none.
        let mut next = recycled.or_else(|| self.recycled.recv().ok()).unwrap_or_default();
        next.reset();
        next
    }
}

impl<T: FnMut(&Batch), const N: usize> Inlet<'_, T, N> {
    /// Runs the trackers until the reader has ended.
    pub fn track(self) {
        while self.told.recv().is_ok() {
            while let Some(batch) = self.lanes.iter().find_map(Lane::take_one) {
                // Fails only when the reader has ended, and then nothing needs recycling.
                let _ = self.empty.send(batch);
            }
            // The reader's thread may be running a tracker; it sends a notice for any batch after that.
        }
    }
}
