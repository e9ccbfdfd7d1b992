//! What comes out of reading, however many threads read however much at once.

use super::range::{Range, SHARDS};
use super::{Reading, read_all};
use crate::capture::InputEnd;
use crate::capture::progress::Progress;
use crate::track::CaptureSummary;
use crate::track::allocations::write_capture;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// Frames and times of each shard's rows, in the order in which it took them.
type Rows = Vec<Vec<(u64, i64)>>;

/// Reads a file with so many threads in ranges of so many bytes.
fn read(path: &Path, count: usize, range_len: u64) -> (Rows, CaptureSummary) {
    let mut rows: Rows = vec![Vec::new(); SHARDS];
    let takes = rows.iter_mut().map(|rows| {
        |range: &Range, shard: usize| {
            let marks = range.of(shard).flatten().map(|row| range.mark(row));
            rows.extend(marks.map(|mark| (mark.frame, mark.time_ns)));
        }
    });
    let (paths, progress) = ([path.to_str().unwrap().to_owned()], Arc::new(Progress::default()));
    let reading = Reading { threads: count, range_len };
    let mut summaries = read_all(&paths, None, reading, &progress, takes.collect()).unwrap();
    assert_eq!(progress.packets(), summaries[0].packets);
    (rows, summaries.remove(0))
}

/// One thread knows where each range begins; more guess it.
fn assert_same_however_it_is_read(path: &Path) -> CaptureSummary {
    let (rows, summary) = read(path, 1, u64::MAX >> 1);
    for (count, range_len) in [(1, 1000), (2, 1000), (3, 333), (5, 4096), (8, 1), (2, 1 << 20)] {
        let (others, other) = read(path, count, range_len);
        assert_eq!(others, rows, "{count} threads, {range_len} bytes");
        assert_eq!(format!("{other:?}"), format!("{summary:?}"), "{count}, {range_len}");
    }
    assert!(rows.iter().all(|rows| rows.is_sorted()));
    summary
}

#[test]
fn whoever_reads_what_each_shard_takes_the_same_rows_in_order() {
    let path = write_capture(1500, 40);
    assert_eq!(assert_same_however_it_is_read(&path).tcp_packets, 3000);
    std::fs::remove_file(path).unwrap();
}

/// What looks like a record in what was captured is none.
#[test]
fn a_capture_in_a_capture_is_not_taken_for_its_records() {
    let path = write_capture(400, 3);
    let inner = std::fs::read(&path).unwrap();
    let mut bytes = inner[..24].to_vec();
    for at in 0..20_u32 {
        let header = [at, 7, inner.len() as u32, inner.len() as u32];
        bytes.extend(header.map(u32::to_le_bytes).concat());
        bytes.extend(&inner);
    }
    std::fs::write(&path, bytes).unwrap();
    let summary = assert_same_however_it_is_read(&path);
    assert_eq!((summary.packets, summary.end), (20, InputEnd::Complete));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_capture_that_ends_early_ends_there_whoever_reads_on() {
    let path = write_capture(500, 3);
    let whole = std::fs::read(&path).unwrap();
    let record = 16 + 154;
    let mut cut = whole.clone();
    cut.truncate(24 + 600 * record + 33);
    let mut damaged = whole.clone();
    damaged[24 + 600 * record + 8..][..4].copy_from_slice(&[0xff; 4]);
    let mut silent = whole.clone();
    silent[24 + 600 * record..][..200 * record].fill(0);
    for (bytes, packets) in [(cut, 600), (damaged, 600), (silent, 2925)] {
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(assert_same_however_it_is_read(&path).packets, packets);
    }
    std::fs::remove_file(path).unwrap();
}

/// Does reading end when a shard panics?
#[test]
fn a_panic_of_a_shard_ends_the_reading() {
    for count in [1, 2, 5] {
        let path = write_capture(30_000, 2048);
        let paths = [path.to_str().unwrap().to_owned()];
        let (done, ended) = channel();
        thread::spawn(move || {
            let take = |_: &Range, shard: usize| assert_ne!(shard, 7, "a bug");
            let reading = Reading { threads: count, range_len: 10_000 };
            let read = || read_all(&paths, None, reading, &Arc::default(), vec![take; SHARDS]);
            let _ = done.send(catch_unwind(AssertUnwindSafe(|| read().map(|_| ()))).is_err());
        });
        assert_eq!(ended.recv_timeout(Duration::from_secs(60)), Ok(true));
        std::fs::remove_file(path).unwrap();
    }
}
