//! A file that several threads read at once, each a range of its bytes.
//!
//! A range begins in the middle of a record. Where the next one begins is guessed by its header and
//! those that follow, and what a pcapng file told before of its interfaces by how it begins; whoever reads
//! ranges must compare that with where, and with what, the range before ended.

use super::{Capture, Format, Position, buffer::Buffer, pcapng};
use crate::capture::progress::{Progress, Stopped};
use crate::capture::system;
use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

/// Bytes per read beyond the end of a range, for its last record.
const BEYOND: usize = 16 << 10;
/// As many bytes are enough to find where a record begins.
const LOOKED_AT: usize = 256 << 10;
/// This many records in a row look right by chance only in a capture of captures.
const IN_A_ROW: usize = 6;
/// Fewer bytes do not show whether a record begins.
const HEADER_LEN: usize = 16;

/// An uncompressed capture.
pub struct RangedFile {
    file: Arc<File>,
    len: u64,
    /// Where its first record begins.
    pub begin: Position,
    /// With all that is told before its first frame: hardly ever is more told later.
    pub guess: Position,
    /// Time of its first frame.
    first_s: u32,
}

impl RangedFile {
    /// Opens `path`. `None` for what can be read only from its beginning on, and for what has no frame or
    /// cannot be read at all: [`Capture::open`] tells why.
    pub fn open(path: &str, progress: &Arc<Progress>) -> Option<Self> {
        let is_file = |path| std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
        if progress.is_stopped() || path == "-" || !is_file(path) {
            return None;
        }
        let file = Arc::new(system::open(path).ok()?);
        let part =
            FileReader { of: Arc::clone(&file), at: 0, until: 0, progress: Arc::clone(progress) };
        let mut capture = Capture::unpacked(Buffer::new(Box::new(part)), path).ok()?;
        // Blocks of pcapng would not be where multiples of four are.
        if matches!(capture.format, Format::Text(_)) || capture.lines_before > 0 {
            return None;
        }
        let begin = capture.place();
        let first_s = (capture.next_frame()?.time_ns / 1_000_000_000) as u32;
        let guess = Position { at: begin.at, ..capture.place() };
        Some(Self { len: file.metadata().ok()?.len(), file, begin, guess, first_s })
    }

    /// Its length when it was opened; it may grow.
    pub fn len(&self) -> u64 {
        self.len
    }
}

/// A range of a file that is being read.
struct FileReader {
    of: Arc<File>,
    at: u64,
    until: u64,
    progress: Arc<Progress>,
}

impl Read for FileReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.progress.is_stopped() {
            return Err(io::Error::other(Stopped::at(&self.progress)));
        }
        let rest = self.until.saturating_sub(self.at).max(BEYOND as u64);
        let most = into.len().min(usize::try_from(rest).unwrap_or(usize::MAX));
        let count = system::read_at(&self.of, &mut into[..most], self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Capture {
    /// Goes on in `file` at a place, to read up to `until`. Takes the buffer of what was read before.
    pub fn reopened(
        before: Option<Self>,
        file: &RangedFile,
        Position { at, format }: Position,
        until: u64,
        progress: &Arc<Progress>,
    ) -> Self {
        let (of, progress) = (Arc::clone(&file.file), Arc::clone(progress));
        let part = Box::new(FileReader { of, at, until, progress });
        let buffer = match before {
            Some(before) => before.buffer,
            None => Buffer::new(Box::new(io::empty())),
        };
        Self {
            buffer: buffer.restarted(part, at),
            format,
            end: None,
            unpacker: None,
            lines_before: 0,
        }
    }

    /// Goes to where a record seems to begin; `None` if none is found.
    pub fn find_record(&mut self, file: &RangedFile) -> Option<Position> {
        let at = self.buffer.at();
        let ahead = self.buffer.at_least(LOOKED_AT).ok()?;
        let is_begin = |&skipped: &usize| match &self.format {
            Format::Pcap(records) => {
                is_row(&ahead[skipped..], |bytes| records.plausible_len(bytes, file.first_s))
            }
            Format::PcapNg(blocks) => {
                (at + skipped as u64).is_multiple_of(pcapng::WORD_LEN as u64)
                    && is_row(&ahead[skipped..], |bytes| blocks.plausible_len(bytes))
            }
            Format::Text(_) => false,
        };
        let skipped = (0..ahead.len()).find(is_begin)?;
        self.buffer.consume(skipped);
        Some(self.place())
    }
}

/// Do these bytes look like several records, or like the last ones? `plausible_len` is that of one record.
fn is_row(mut bytes: &[u8], plausible_len: impl Fn(&[u8]) -> Option<usize>) -> bool {
    for seen in 0..IN_A_ROW {
        if bytes.len() < HEADER_LEN {
            return seen > 0;
        }
        let Some(len) = plausible_len(bytes) else { return false };
        match bytes.get(len..) {
            Some(rest) => bytes = rest,
            None => return seen > 0,
        }
    }
    true
}
