//! A scan in passes, for captures that are more than one machine should stream: each capture becomes
//! records, each shard of the records of all is tracked by itself, and all shards are judged together. What
//! comes out is what one scan of all captures gives.

use crate::capture::error::ScanError;
use crate::result::names::Names;
use crate::result::packed::{FileKind, PackedError, pack, unpack};
use crate::result::scan::{Scan, ScanOptions};
use crate::track::Lengths;
use crate::track::reader::Reading;
use crate::track::reader::columns::Columns;
use crate::track::reader::labels::Labels;
use crate::track::reader::range::SHARDS;
use crate::track::reader::series::{Alone, Series, rank};
use crate::track::replay::{Damaged, Replay};
use crate::track::tracked::{Ended, Tracked};
use serde::{Deserialize, Serialize};
use std::io;
use thiserror::Error;

const CAPTURE: FileKind = FileKind { name: "nagle-scan-capture ", what: "summary of records" };
const SHARD: FileKind = FileKind { name: "nagle-scan-shard ", what: "tracked shard" };

/// What there is to know of the records of a capture.
#[derive(Serialize, Deserialize)]
struct Recorded {
    capture: Alone,
    filter: Option<String>,
}

/// How records are tracked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    pub min_wait_ns: i64,
    /// Keep each exchange.
    pub exchanges: bool,
}

/// What one shard saw.
#[derive(Serialize, Deserialize)]
struct ShardPart {
    shard: usize,
    settings: Settings,
    /// Frames of all captures.
    frames: u64,
    ended: Ended,
}

/// A shard whose records are taken.
pub struct ShardTracker {
    replay: Replay,
    shard: usize,
    settings: Settings,
    frames: u64,
    /// The captures in the order in which their records must come, by their places among those given.
    pub order: Vec<usize>,
}

/// Why parts give no scan.
#[derive(Debug, Error)]
pub enum PassError {
    #[error(transparent)]
    Packed(#[from] PackedError),
    #[error(transparent)]
    Scan(#[from] ScanError),
    #[error(transparent)]
    Damaged(#[from] Damaged),
    #[error("these parts are not of one scan")]
    Mixed,
    #[error("there is no shard {0}: there are {SHARDS}, from 0")]
    NoShard(usize),
}

/// What is to be known of a capture that became records under a filter, as bytes.
///
/// # Errors
/// zstd's own.
pub fn pack_capture(capture: Alone, filter: Option<String>) -> io::Result<Vec<u8>> {
    pack(CAPTURE, &Recorded { capture, filter })
}

/// Captures in the order of their first frames.
struct InOrder {
    captures: Vec<Alone>,
    /// Their places before.
    order: Vec<usize>,
    filter: Option<String>,
}

/// The captures of one scan.
fn in_order(packed: &[impl AsRef<[u8]>]) -> Result<InOrder, PassError> {
    let recorded = packed.iter().map(|bytes| unpack(CAPTURE, bytes.as_ref()));
    let recorded = recorded.collect::<Result<Vec<Recorded>, _>>()?;
    let filter = recorded.first().and_then(|first| first.filter.clone());
    if recorded.iter().any(|other| other.filter != filter) {
        return Err(PassError::Mixed);
    }
    let captures = recorded.into_iter().map(|recorded| recorded.capture);
    let mut captures: Vec<(usize, Alone)> = captures.enumerate().collect();
    captures.sort_by_key(|(_, capture)| rank(capture.first_ns()));
    let (order, captures) = captures.into_iter().unzip();
    Ok(InOrder { captures, order, filter })
}

impl ShardTracker {
    /// Tracks a shard of these captures.
    ///
    /// # Errors
    /// There is no such shard, or these are not the captures of one scan.
    pub fn new(
        captures: &[impl AsRef<[u8]>],
        shard: usize,
        settings: Settings,
    ) -> Result<Self, PassError> {
        if shard >= SHARDS {
            return Err(PassError::NoShard(shard));
        }
        let InOrder { captures, order, .. } = in_order(captures)?;
        let frames = captures.iter().map(Alone::frames).sum();
        let lengths = Lengths::listing(settings.min_wait_ns);
        let replay = Replay::new(captures, shard, lengths, settings.exchanges);
        Ok(Self { replay, shard, settings, frames, order })
    }

    /// Takes the next records of a capture, which is at this place in `order`.
    ///
    /// # Errors
    /// They are not those of this shard of this capture, in order.
    pub fn take(&mut self, place: usize, records: &Columns) -> Result<(), Damaged> {
        self.replay.take(place, records)
    }

    /// What it saw, as bytes.
    ///
    /// # Errors
    /// zstd's own.
    pub fn end(self) -> io::Result<Vec<u8>> {
        let Self { replay, shard, settings, frames, .. } = self;
        pack(SHARD, &ShardPart { shard, settings, frames, ended: replay.end() })
    }
}

/// The scan of these captures, by what each shard saw.
///
/// # Errors
/// Parts are missing, damaged, or of another scan; or no capture has a header.
pub fn combine(
    captures: &[impl AsRef<[u8]>],
    shards: &[impl AsRef<[u8]>],
    reading: Reading,
) -> Result<Scan, PassError> {
    let InOrder { captures, filter, .. } = in_order(captures)?;
    let mut series = Series::default();
    for capture in captures {
        series.append(capture);
    }
    let parts = shards.iter().map(|bytes| unpack(SHARD, bytes.as_ref()));
    let mut parts = parts.collect::<Result<Vec<ShardPart>, _>>()?;
    parts.sort_by_key(|part| part.shard);
    let settings = parts.first().map(|part| part.settings).ok_or(PassError::Mixed)?;
    let fit = |part: &ShardPart| part.settings == settings && part.frames == series.frames();
    if !parts.iter().map(|part| part.shard).eq(0..SHARDS) || !parts.iter().all(fit) {
        return Err(PassError::Mixed);
    }
    if !begin_apart(&parts) {
        return Err(PackedError::Damaged { what: SHARD.what }.into());
    }
    let Settings { min_wait_ns, exchanges } = settings;
    let (labels, names) = (Labels::default(), Names::default());
    let options =
        ScanOptions { labels, filter, min_wait_ns, exchanges, names, reading, shards: SHARDS };
    let ended = parts.into_iter().map(|part| part.ended).collect();
    Ok(Scan::new(series.into_summaries()?, Tracked::by(ended), &options))
}

/// Has each connection a first frame of its own, in ascending order in its shard?
fn begin_apart(parts: &[ShardPart]) -> bool {
    let shards = parts.iter().map(|part| part.ended.first_frames.as_slice());
    let mut all = shards.clone().collect::<Vec<_>>().concat();
    all.sort_unstable();
    shards.clone().all(<[u64]>::is_sorted) && all.windows(2).all(|pair| pair[0] < pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::scan::tests::example;
    use crate::result::state;
    use crate::track::allocations::write_capture;
    use crate::track::reader::records::Records;
    use std::sync::Arc;

    const SETTINGS: Settings = Settings { min_wait_ns: 10_000_000, exchanges: true };

    /// The capture of `example`.
    const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/jdk-httpserver.pcap");

    /// A capture, and its records by shard.
    fn recorded(path: &str) -> (Vec<u8>, Vec<(usize, Columns)>) {
        let mut records = Records::open(path, path, None, &Arc::default()).unwrap();
        let batches = std::iter::from_fn(|| records.next_batch().unwrap()).collect();
        (pack_capture(records.capture().unwrap(), None).unwrap(), batches)
    }

    /// What each shard saw in these records.
    fn tracked(capture: &[u8], batches: &[(usize, Columns)]) -> Vec<Vec<u8>> {
        let track = |shard| {
            let mut tracker = ShardTracker::new(&[capture], shard, SETTINGS).unwrap();
            for (_, records) in batches.iter().filter(|(of, _)| *of == shard) {
                tracker.take(0, records).unwrap();
            }
            tracker.end().unwrap()
        };
        (0..SHARDS).map(track).collect()
    }

    fn combined(capture: &[u8], shards: &[Vec<u8>]) -> Result<Scan, PassError> {
        combine(&[capture], shards, Reading::by(2))
    }

    #[test]
    fn passes_give_the_scan_to_the_last_byte() {
        let (capture, batches) = recorded(EXAMPLE);
        let scan = combined(&capture, &tracked(&capture, &batches)).unwrap();
        assert_eq!(state::save(&scan).unwrap(), state::save(&example()).unwrap());
    }

    /// Numbering would never end.
    #[test]
    fn a_frame_that_two_shards_claim_is_refused() {
        let path = write_capture(100, 40);
        let (capture, mut batches) = recorded(path.to_str().unwrap());
        std::fs::remove_file(path).unwrap();
        assert!(batches.len() > 1, "two shards are needed");
        let claimed = batches[0].1.frame[0];
        batches[1].1.frame[0] = claimed;
        batches[1].1.frame.sort_unstable();
        let shards = tracked(&capture, &batches);
        let damaged = PassError::Packed(PackedError::Damaged { what: SHARD.what });
        let error = combined(&capture, &shards).err().unwrap();
        assert_eq!(error.to_string(), damaged.to_string());
    }

    #[test]
    fn one_kind_of_bytes_is_not_taken_for_another() {
        let (capture, batches) = recorded(EXAMPLE);
        let shards = tracked(&capture, &batches);
        assert!(combined(&shards[0], &shards).is_err());
        assert!(state::load(&capture).is_err());
        assert!(state::load(&shards[0]).is_err());
    }
}
