//! Reads and decodes frames and looks up their connections, in a thread that runs ahead of the
//! tracking.

pub mod batch;
pub mod capture_summary;
mod lane;
mod lookups;

use crate::capture::error::ScanError;
use crate::capture::progress::{Progress, Stopped};
use crate::capture::{Capture, Frame, InputEnd};
use crate::decode::filter::Filter;
use crate::decode::{self, Segment, Skip};
use crate::track::reader::batch::Batch;
use crate::track::reader::capture_summary::CaptureSummary;
use crate::track::reader::lane::{Lane, Outlet};
use crate::track::reader::lookups::Lookups;
use crate::track::{Mark, Table};
use std::sync::Arc;
use std::thread;

/// Reads `paths` in the order of their first frames and gives the segments of each tracker to its
/// `take`.
///
/// # Errors
/// An input cannot be read at all, or the filter cannot be compiled.
pub fn read_all<T: FnMut(&Batch) + Send, const N: usize>(
    paths: &[String],
    filter: Option<&str>,
    progress: &Arc<Progress>,
    takes: [T; N],
) -> Result<Vec<CaptureSummary>, ScanError> {
    let filter = filter.map(Filter::new).transpose()?;
    progress.expect(paths);
    let progress = Arc::clone(progress);
    let lanes = takes.map(Lane::new);
    let (outlet, inlet) = lane::connect(&lanes);
    thread::scope(|scope| {
        let (table, lookups) = (Table::default(), Lookups::default());
        let reader = Reader { filter, table, lookups, outlet, progress, frames: 0 };
        let reading = scope.spawn(move || reader.read(paths));
        inlet.track();
        match reading.join() {
            Ok(summaries) => summaries,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

struct Reader<'a, T, const N: usize> {
    filter: Option<Filter>,
    table: Table,
    lookups: Lookups,
    outlet: Outlet<'a, T, N>,
    progress: Arc<Progress>,
    frames: u64,
}

impl<T: FnMut(&Batch), const N: usize> Reader<'_, T, N> {
    fn read(mut self, paths: &[String]) -> Result<Vec<CaptureSummary>, ScanError> {
        let mut summaries: Vec<CaptureSummary> = Vec::with_capacity(paths.len());
        let mut without_header = Vec::new();
        for path in in_order(paths) {
            match (self.read_one(path, summaries.last()), summaries.last_mut()) {
                (Ok(summary), _) => summaries.push(summary),
                (Err(error @ ScanError::NoHeader { .. }), _) => without_header.push((path, error)),
                (Err(ScanError::Stopped { .. }), Some(last)) => {
                    last.end = InputEnd::Stopped(Stopped::at(&self.progress));
                    break;
                }
                (Err(error), _) => return Err(error),
            }
        }
        self.with_empty(summaries, without_header)
    }

    /// Adds the inputs without a header: of a rotated set they are cut off, alone they are no
    /// capture.
    fn with_empty(
        &self,
        mut summaries: Vec<CaptureSummary>,
        without_header: Vec<(&str, ScanError)>,
    ) -> Result<Vec<CaptureSummary>, ScanError> {
        for (path, error) in without_header {
            if summaries.is_empty() {
                return Err(error);
            }
            let nothing = CaptureSummary::new(path, self.frames + 1);
            summaries.push(CaptureSummary { end: InputEnd::Cut, ..nothing });
        }
        Ok(summaries)
    }

    fn read_one(
        &mut self,
        path: &str,
        previous: Option<&CaptureSummary>,
    ) -> Result<CaptureSummary, ScanError> {
        let mut capture = Capture::open(path, &self.progress)?;
        let mut summary = CaptureSummary::new(path, self.frames + 1);
        self.outlet.begin_capture();
        self.read_frames(&mut capture, &mut summary, previous)?;
        summary.end = capture.end().cloned().unwrap_or(InputEnd::Complete);
        summary.packets = self.frames + 1 - summary.first_frame;
        summary.tcp_packets = summary.packets - summary.skipped.iter().sum::<u64>();
        Ok(summary)
    }

    // A function of its own, so that all it needs stays in registers.
    #[inline(never)]
    fn read_frames(
        &mut self,
        capture: &mut Capture,
        summary: &mut CaptureSummary,
        previous: Option<&CaptureSummary>,
    ) -> Result<(), ScanError> {
        while let Some(frame) = capture.next_frame() {
            self.frames += 1;
            if summary.link_type.is_none() {
                summary.begin(&frame);
                self.part_from(previous, frame.time_ns);
            }
            summary.count(&frame);
            match decode::plain_segment(frame.link_type, frame.data) {
                Some(segment) if self.filter.is_none() => self.take(&segment, frame.time_ns),
                _ => {
                    // A copy, so that the fields of other frames stay in registers.
                    if let Some(skip) = self.take_any(&Frame { ..frame })? {
                        summary.skipped[skip as usize] += 1;
                    }
                }
            }
        }
        self.progress.set_packets(self.frames);
        self.hand_over();
        Ok(())
    }

    /// A capture whose first frame comes at `time_ns` shares no connections with a previous one that
    /// it overlaps in time.
    #[cold]
    fn part_from(&mut self, previous: Option<&CaptureSummary>, time_ns: i64) {
        if previous.is_some_and(|last| last.overlaps(time_ns)) {
            self.table.forget();
        }
    }

    #[inline]
    fn take(&mut self, segment: &Segment<'_>, time_ns: i64) {
        let mark = Mark { time_ns, frame: self.frames };
        self.lookups.push(segment, mark, &self.table);
        if self.lookups.is_full() {
            self.look_up();
        }
    }

    /// Takes a frame with any headers, unless the filter drops it; tells why it was skipped.
    #[inline(never)]
    fn take_any(&mut self, frame: &Frame<'_>) -> Result<Option<Skip>, ScanError> {
        // Progress is otherwise told at each look-up, and skipped frames cause none.
        self.progress.set_packets(self.frames);
        if let Some(filter) = &mut self.filter
            && !filter.matches(frame)?
        {
            return Ok(Some(Skip::Filtered));
        }
        match decode::segment(frame.link_type, frame.data, frame.wire_len) {
            Ok(segment) => {
                self.take(&segment, frame.time_ns);
                Ok(None)
            }
            Err(skip) => Ok(Some(skip)),
        }
    }

    #[inline(never)]
    fn look_up(&mut self) {
        self.progress.set_packets(self.frames);
        self.lookups.find(&mut self.table, &mut self.outlet);
        self.outlet.hand_over_full();
    }

    fn hand_over(&mut self) {
        self.lookups.find(&mut self.table, &mut self.outlet);
        self.outlet.hand_over_all();
    }
}

/// Rotated files (`tcpdump -C`, `-G`) in the order of their first frames, whatever order the shell
/// gave them. Standard input can be read only once, so with it the order stays.
pub fn in_order(paths: &[String]) -> Vec<&str> {
    let mut ordered: Vec<&str> = paths.iter().map(String::as_str).collect();
    if ordered.len() > 1 && !ordered.contains(&"-") {
        ordered.sort_by_cached_key(|path| {
            let first_ns = Capture::first_time_ns(path);
            (first_ns.is_none(), first_ns)
        });
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::BLOCK_LEN;
    use crate::track::allocations::write_capture;
    use crate::track::reader::batch::BATCH_LEN;
    use crate::track::reader::lane::BATCHES;
    use std::collections::HashSet;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::mpsc::channel;
    use std::sync::{Condvar, Mutex};
    use std::time::Duration;

    /// Requests and answers of twice as many segments as the batches on their way hold.
    const MANY: u32 = (BATCHES * BATCH_LEN) as u32;

    /// Reads a capture of many connections with `N` trackers, one of which panics; does it end?
    fn ends_with_a_panic_of<const N: usize>(panicking: usize) -> bool {
        let path = write_capture(MANY, 2 * BLOCK_LEN as u32);
        let paths = [path.to_str().unwrap().to_owned()];
        let (done, ended) = channel();
        thread::spawn(move || {
            let takes = std::array::from_fn::<_, N, _>(|tracker| {
                move |_: &Batch| assert_ne!(tracker, panicking, "a bug of a tracker")
            });
            let read = || read_all(&paths, None, &Arc::default(), takes).map(|_| ());
            let _ = done.send(catch_unwind(AssertUnwindSafe(read)).is_err());
        });
        let panicked = ended.recv_timeout(Duration::from_secs(60));
        std::fs::remove_file(path).unwrap();
        panicked == Ok(true)
    }

    #[test]
    fn a_panic_of_a_tracker_ends_the_reading() {
        assert!(ends_with_a_panic_of::<1>(0));
        assert!(ends_with_a_panic_of::<2>(0));
        assert!(ends_with_a_panic_of::<2>(1));
    }

    /// The first thread at work waits until another one is: when all batches are on their way, that is
    /// the reader's.
    #[test]
    fn the_reader_helps_out_and_each_tracker_sees_its_segments_in_order() {
        let path = write_capture(MANY, 2 * BLOCK_LEN as u32);
        let paths = [path.to_str().unwrap().to_owned()];
        let (threads, came) = (Mutex::new(HashSet::new()), Condvar::new());
        let meet = || {
            let mut threads = threads.lock().unwrap();
            threads.insert(thread::current().id());
            came.notify_all();
            let alone = |threads: &mut HashSet<_>| threads.len() < 2;
            drop(came.wait_timeout_while(threads, Duration::from_secs(60), alone).unwrap());
        };
        let seen = [const { Mutex::new(Vec::new()) }; 2];
        let takes = seen.each_ref().map(|seen| {
            |batch: &Batch| {
                meet();
                seen.lock().unwrap().extend(batch.segments.iter().map(|row| row.mark.frame));
            }
        });
        read_all(&paths, None, &Arc::default(), takes).unwrap();
        std::fs::remove_file(path).unwrap();
        let seen = seen.map(|seen| seen.into_inner().unwrap());
        assert!(seen.iter().all(|frames| frames.is_sorted_by(|a, b| a < b)));
        assert_eq!(seen.iter().map(Vec::len).sum::<usize>(), 2 * MANY as usize);
        assert_eq!(threads.into_inner().unwrap().len(), 2);
    }
}
