//! The outcome of reading is the same, however many threads read however much at once.

use super::index::FrameIndex;
use super::labels::Labels;
use super::range::Range;
use super::{Reading, read_all};
use crate::capture::InputEnd;
use crate::capture::progress::Progress;
use crate::track::allocations::write_capture;
use crate::track::reader::capture_summary::CaptureSummary;
use crate::track::table::key::SHARDS;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// Frames and times of each shard's rows, in the order in which it took them.
type Rows = Vec<Vec<(u32, i64)>>;

/// Something for each shard that keeps its rows.
fn takes(rows: &mut Rows) -> impl Iterator<Item = impl FnMut(&Range, usize) + Send> {
    rows.iter_mut().map(|rows| {
        |range: &Range, shard: usize| {
            let marks = range.of(shard).flatten().map(|row| range.mark(row));
            rows.extend(marks.map(|mark| (mark.frame, mark.time_ns)));
        }
    })
}

/// Reads a file with N threads, in ranges of a given length.
fn read(path: &Path, count: usize, range_len: u64) -> (Rows, CaptureSummary) {
    let mut rows: Rows = vec![Vec::new(); SHARDS];
    let (paths, progress) = ([path.to_str().unwrap().to_owned()], Arc::new(Progress::default()));
    let reading = Reading { range_len, ..Reading::by(count) };
    let takes = takes(&mut rows).collect();
    let mut summaries =
        read_all(&paths, &Labels::default(), None, reading, &progress, takes).unwrap();
    assert_eq!(progress.packets(), u64::from(summaries[0].stamps.frames));
    (rows, summaries.remove(0))
}

fn assert_same_however_it_is_read(path: &Path) -> CaptureSummary {
    let (rows, summary) = read(path, 1, u64::MAX >> 1);
    let assert_same = |(others, other): (Rows, CaptureSummary), how| {
        assert_eq!(others, rows, "{how:?}");
        let all = |of: &CaptureSummary| {
            format!("{:?}", CaptureSummary { index: FrameIndex::default(), ..of.clone() })
        };
        assert_eq!(all(&other), all(&summary), "{how:?}");
    };
    for (count, range_len) in [(1, 1000), (2, 1000), (3, 333), (5, 4096), (8, 100), (2, 1 << 20)] {
        assert_same(read(path, count, range_len), (count, range_len));
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

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_packed_capture_is_read_up_to_its_damage_whoever_unpacks_it() {
    let path = write_capture(6000, 40);
    let plain = std::fs::read(&path).unwrap();
    for pack in [gzip, zstd] {
        let packed = pack(&plain);
        let in_two = [pack(&plain[..900_007]), pack(&plain[900_007..])].concat();
        let cut = packed[..packed.len() / 10 * 9].to_vec();
        let (mut damaged, mut bad_sum) = (packed.clone(), packed.clone());
        damaged[packed.len() / 10 * 9] ^= 0x55;
        bad_sum[packed.len() - if pack(b"")[0] == 0x1f { 8 } else { 4 }] ^= 1;
        let followed = [packed.as_slice(), b"no such thing"].concat();
        for (bytes, is_whole) in [
            (packed, true),
            (in_two, true),
            (cut, false),
            (damaged, false),
            (bad_sum, false),
            (followed, false),
        ] {
            std::fs::write(&path, bytes).unwrap();
            let (rows, summary) = read(&path, 1, u64::MAX >> 1);
            let other = read(&path, 2, 1 << 14);
            assert_eq!(format!("{other:?}"), format!("{:?}", (&rows, &summary)));
            assert_eq!(summary.end == InputEnd::Complete, is_whole);
            assert!(summary.stamps.frames == 12_000 || summary.stamps.frames > 9_000 && !is_whole);
        }
    }
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
        assert_eq!(assert_same_however_it_is_read(&path).stamps.frames, packets);
    }
    std::fs::remove_file(path).unwrap();
}

/// Does reading end when a shard panics?
#[test]
fn a_panic_of_a_shard_ends_the_reading() {
    for count in [1, 2, 5, 40] {
        let path = write_capture(30_000, 2048);
        let paths = [path.to_str().unwrap().to_owned()];
        let (done, ended) = channel();
        thread::spawn(move || {
            let take = |_: &Range, shard: usize| assert_ne!(shard, 7, "a bug");
            let reading = Reading { range_len: 10_000, ..Reading::by(count) };
            let labels = Labels::default();
            let read =
                || read_all(&paths, &labels, None, reading, &Arc::default(), vec![take; SHARDS]);
            let _ = done.send(catch_unwind(AssertUnwindSafe(|| read().map(|_| ()))).is_err());
        });
        assert_eq!(ended.recv_timeout(Duration::from_secs(60)), Ok(true));
        std::fs::remove_file(path).unwrap();
    }
}
