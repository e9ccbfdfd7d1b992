//! Reads captures in ranges, and hands each range to all shards of the connections.

pub mod capture_summary;
mod decoder;
pub mod index;
pub mod labels;
pub mod range;
mod series;
mod share;

use crate::capture::error::ScanError;
use crate::capture::progress::Progress;
use crate::capture::{self, Capture, system};
use crate::decode::filter::Filter;
use crate::track::reader::capture_summary::CaptureSummary;
use crate::track::reader::decoder::Decoder;
use crate::track::reader::labels::Labels;
use crate::track::reader::range::Range;
use crate::track::reader::series::{CaptureSeries, rank};
use std::fs;
use std::io::Read;
use std::sync::Arc;
use std::thread;

/// Bytes that are read at once: enough for each shard to have some rows of its connections in
/// cache, few enough that little memory is on its way.
const RANGE_LEN: u64 = 1 << 20;

/// Captures of fewer bytes in all are read by one thread: to start more takes as long.
const SMALL_LEN: u64 = 4 << 20;

/// Among paths, stands before those of a capture of the same connections at their other end: its
/// connections are others, and its clock is.
pub const OTHER_END: &str = "";

/// How captures are read.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    pub threads: usize,
    /// It takes so little that nothing need watch it.
    pub is_short: bool,
    /// Bytes of a range. No result depends on it.
    pub range_len: u64,
}

impl Reading {
    /// With `threads` threads, at least one.
    pub fn by(threads: usize) -> Self {
        Self { threads: threads.max(1), is_short: false, range_len: RANGE_LEN }
    }

    /// How to read `paths`, with `threads` threads; by default, one per processor that this process
    /// may use, or one for what is small.
    pub fn of(paths: &[String], threads: Option<usize>) -> Self {
        match threads {
            Some(threads) => Self::by(threads),
            None if is_small(paths) => Self { is_short: true, ..Self::by(1) },
            None => Self::by(thread::available_parallelism().map_or(1, usize::from)),
        }
    }
}

/// Are these plain files, and few bytes in all? Special and packed files do not say how many.
fn is_small(paths: &[String]) -> bool {
    let len = |path: &String| {
        // A pipe is opened once.
        let about = fs::metadata(path).ok().filter(|about| path != "-" && about.is_file())?;
        let mut start = [0; 4];
        system::open(path).ok()?.read_exact(&mut start).ok()?;
        (!capture::is_packed(&start)).then_some(about.len())
    };
    paths
        .iter()
        .try_fold(0_u64, |sum, path| Some(sum.saturating_add(len(path)?)))
        .is_some_and(|sum| sum < SMALL_LEN)
}

/// Reads `paths` in the order of their first frames and gives the ranges in order to each shard's
/// `take`, with its number. There are as many shards, a power of two, as there are of these.
///
/// # Errors
/// An input cannot be read at all, or the filter cannot be compiled.
pub fn read_all<T: FnMut(&Range, usize) + Send>(
    paths: &[String],
    labels: &Labels,
    filter: Option<&str>,
    reading: Reading,
    progress: &Arc<Progress>,
    takes: Vec<T>,
) -> Result<Vec<CaptureSummary>, ScanError> {
    let filter = filter.map(Filter::new).transpose()?;
    progress.expect(paths);
    let mut reader = Reader {
        paths: each_end(paths),
        labels,
        range_len: reading.range_len,
        threads: reading.threads,
        progress,
        capture: None,
        decoder: Decoder::new(filter, progress),
        series: CaptureSeries::new(progress),
    };
    let mut shards: Vec<(usize, T)> = takes.into_iter().enumerate().collect();
    if reader.threads == 1 {
        let mut range = Range::new(shards.len());
        while reader.read(&mut range) {
            for (shard, take) in &mut shards {
                take(&range, *shard);
            }
        }
        return reader.series.into_summaries();
    }
    share::share(reader, shards, reading.threads).into_summaries()
}

/// The captures, range by range.
struct Reader<'a> {
    /// Each file, and whether it begins another end.
    paths: std::vec::IntoIter<(&'a str, bool)>,
    labels: &'a Labels,
    range_len: u64,
    /// Threads that work, this one with them.
    threads: usize,
    progress: &'a Arc<Progress>,
    capture: Option<Capture>,
    decoder: Decoder,
    series: CaptureSeries,
}

impl Reader<'_> {
    /// Reads the next range; is there one?
    fn read(&mut self, range: &mut Range) -> bool {
        range.reset();
        let first = self.capture.is_none();
        while self.capture.is_none() {
            if self.series.is_over() {
                return false;
            }
            let Some((path, is_other_end)) = self.paths.next() else { return false };
            self.series.parts |= is_other_end;
            let label = self.labels.of(path);
            match Capture::open_with(path, self.progress, self.threads) {
                Ok(capture) => {
                    self.series.open(label);
                    self.capture = Some(capture);
                }
                Err(error) => self.series.fail(error.called(label)),
            }
        }
        let Some(capture) = &mut self.capture else { return false };
        let decoded =
            self.decoder.read(capture, self.range_len, first, self.series.frames(), range);
        let is_last = decoded.end.is_some();
        self.series.take(decoded, range);
        if is_last || self.series.is_over() {
            self.capture = None;
        }
        true
    }
}

/// Rotated files (`tcpdump -C`, `-G`) in the order of their first frames, whatever order the shell
/// gave them; those behind [`OTHER_END`] come last. Standard input can be read only once, so with it
/// the order stays.
pub fn in_order(paths: &[String]) -> Vec<&str> {
    each_end(paths).map(|(path, _)| path).collect()
}

/// Like `in_order`, each with whether it begins another end.
fn each_end(paths: &[String]) -> std::vec::IntoIter<(&str, bool)> {
    let mut ordered = Vec::with_capacity(paths.len());
    for (end, paths) in paths.split(|path| path == OTHER_END).enumerate() {
        let begin = ordered.len();
        ordered.extend(paths.iter().map(|path| (path.as_str(), false)));
        let own: &mut [(&str, bool)] = &mut ordered[begin..];
        if own.len() > 1 && !paths.iter().any(|path| path == "-") {
            own.sort_by_cached_key(|(path, _)| rank(Capture::first_time_ns(path)));
        }
        if let Some((_, is_other_end)) = own.first_mut() {
            *is_other_end = end > 0;
        }
    }
    ordered.into_iter()
}

#[cfg(test)]
mod tests;
