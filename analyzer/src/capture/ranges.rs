//! A pcap file that several threads read at once, each a range of its bytes.
//!
//! A range begins in the middle of a record. Where the next one begins is guessed by its header and
//! those that follow; whoever reads ranges must compare that with where the range before ended.

use super::pcap::{FILE_HEADER_LEN, Records};
use super::{Capture, Format, buffer::Buffer};
use crate::capture::progress::{Progress, Stopped};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Bytes per read beyond the end of a range, for its last record.
const BEYOND: usize = 16 << 10;

/// An uncompressed pcap file.
pub struct RangedFile {
    file: File,
    records: Records,
    len: u64,
    /// Seconds of its first record.
    first_s: u32,
}

impl RangedFile {
    /// Opens `path`. `None` for what can be read only from its beginning on, and for what cannot be
    /// read at all: [`Capture::open`] tells why.
    pub fn open(path: &str, progress: &Progress) -> Option<Self> {
        let is_file = |path| std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
        if progress.is_stopped() || path == "-" || !is_file(path) {
            return None;
        }
        let file = File::open(path).ok()?;
        let mut start = [0; FILE_HEADER_LEN + 4];
        file.read_exact_at(&mut start, 0).ok()?;
        let (header, seconds) = start.split_first_chunk::<FILE_HEADER_LEN>()?;
        let records = Records::of(header, path).ok()?;
        let first_s = records.number(*seconds.first_chunk()?);
        Some(Self { len: file.metadata().ok()?.len(), file, records, first_s })
    }

    /// Where the first record begins.
    pub const BEGIN: u64 = FILE_HEADER_LEN as u64;

    /// Its length when it was opened; it may grow.
    pub fn len(&self) -> u64 {
        self.len
    }
}

/// A range of a file that is being read.
struct Part {
    of: Arc<RangedFile>,
    at: u64,
    until: u64,
    progress: Arc<Progress>,
}

impl Read for Part {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.progress.is_stopped() {
            return Err(io::Error::other(Stopped::at(&self.progress)));
        }
        let rest = self.until.saturating_sub(self.at).max(BEYOND as u64);
        let most = into.len().min(usize::try_from(rest).unwrap_or(usize::MAX));
        let count = self.of.file.read_at(&mut into[..most], self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Capture {
    /// Goes on in `file` at `at`, to read up to `until`. Takes the buffer of what was read before.
    pub fn reopened(
        before: Option<Self>,
        file: &Arc<RangedFile>,
        (at, until): (u64, u64),
        progress: &Arc<Progress>,
    ) -> Self {
        let (of, progress) = (Arc::clone(file), Arc::clone(progress));
        let part = Box::new(Part { of, at, until, progress });
        let buffer = match before {
            Some(before) => before.buffer.restarted(part),
            None => Buffer::new(part),
        };
        Self { buffer, format: Format::Pcap(file.records), end: None }
    }

    /// Goes to where a record seems to begin; returns how many bytes come before it. `None` if that
    /// cannot be told.
    pub fn find_record(&mut self, file: &RangedFile) -> Option<u64> {
        let ahead = self.buffer.at_least(Records::LOOKED_AT).ok()?;
        let skipped = file.records.find(ahead, file.first_s)?;
        self.buffer.consume(skipped);
        Some(skipped as u64)
    }
}
