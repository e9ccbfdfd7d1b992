//! Capture files, printed text and standard input: a stream of frames, and how it ended.
//!
//! `pcap-parser` parses the formats of files; this module feeds it from one buffer and keeps every
//! frame before the first damage.

pub mod error;
pub mod link;
pub mod progress;

mod before;
mod buffer;
mod foreign;
mod frame;
pub mod input;
mod pcap;
mod pcapng;
pub mod printed;
pub mod system;
pub mod times;
pub mod unpack;

use crate::capture::error::ScanError;
use crate::capture::progress::Progress;
use buffer::Buffer;
use flate2::read::MultiGzDecoder;
use input::Input;
use printed::Text;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use texts::AboutText;
use texts::utf16::{self, Utf16};
use unpack::Unpacked;

pub use frame::{Frame, InputEnd};

/// From so many threads on, one copies what another decodes: that is 4 to 8 % more work in all, and
/// a third less of the time that the others wait for.
const THREADS_TO_READ_AHEAD: usize = 4;

/// How something is unpacked.
type Unpack = fn(Box<dyn Read + Send>) -> Unpacked;

/// Where in a file reading goes on: at a byte, with what is known there of later frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    pub at: u64,
    pub format: Format,
    /// Length of the file when it was opened.
    pub file_len: u64,
}

// With a tag of its own: one hidden in a field takes longer to read for each frame.
#[repr(u8)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Format {
    Pcap(pcap::RecordFormat),
    PcapNg(pcapng::Blocks),
    Text(Box<Text>),
}

/// An open capture.
pub struct Capture {
    buffer: Buffer,
    format: Format,
    end: Option<InputEnd>,
    /// Lines of text before it, which were skipped.
    pub lines_before: u32,
    /// Its length, if the file is not packed.
    file_len: Option<u64>,
}

impl Capture {
    /// Opens `path`; `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be read, is not a capture, or is a pcap of an unsupported link type.
    pub fn open(path: &str, progress: &Arc<Progress>) -> Result<Self, ScanError> {
        Self::open_with(path, progress, 1)
    }

    /// Like [`Capture::open`], with `threads` to do the work: one of them unpacks a packed file, or
    /// reads a plain one if several others wait: to copy takes as long as to decode.
    ///
    /// # Errors
    /// See [`Capture::open`].
    pub fn open_with(
        path: &str,
        progress: &Arc<Progress>,
        threads: usize,
    ) -> Result<Self, ScanError> {
        let input = Input::open(path, progress)?;
        // A thread could wait for a stream when nobody reads it any more.
        let is_file = input.file_len.is_some();
        let unpacked = if is_file && threads > 1 { Unpacked::ahead } else { Unpacked::here };
        let file_len = input.file_len.filter(|_| path != "-");
        let input: Box<dyn Read + Send> = Box::new(input);
        let is_ahead = is_file && threads >= THREADS_TO_READ_AHEAD;
        let mut buffer =
            Buffer::new(if is_ahead { Box::new(Unpacked::ahead(input)) } else { input });
        let is_packed = unpack(&mut buffer, path, unpacked)?;
        let file_len = file_len.filter(|_| !is_packed);
        Ok(Self { file_len, ..Self::unpacked(buffer, path)? })
    }

    /// Continues in the file `path`, at a position that was saved for it.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn reopen(path: &str, Position { at, format, .. }: Position) -> io::Result<Self> {
        let mut file = system::open(path)?;
        file.seek(SeekFrom::Start(at))?;
        Ok(Self::of(Buffer::new(Box::new(file)), format, 0))
    }

    fn of(buffer: Buffer, format: Format, lines_before: u32) -> Self {
        Self { buffer, format, end: None, lines_before, file_len: None }
    }

    /// Reads a capture from any source, plain, gzip or zstd; `path` is for error messages.
    ///
    /// # Errors
    /// See [`Capture::open`].
    pub fn new(input: Box<dyn Read + Send>, path: &str) -> Result<Self, ScanError> {
        let mut buffer = Buffer::new(input);
        unpack(&mut buffer, path, Unpacked::here)?;
        Self::unpacked(buffer, path)
    }

    /// Begins a capture that needs no decompressor.
    fn unpacked(mut buffer: Buffer, path: &str) -> Result<Self, ScanError> {
        let beginning = buffer.at_least(foreign::LOOKED_AT);
        let beginning = beginning.map_err(|error| ScanError::unreadable(path, &error))?;
        if let Some(refused) = foreign::refused(beginning, path) {
            return Err(refused);
        }
        if let Some(order) = utf16::order(start(&mut buffer, path)?) {
            buffer = Buffer::new(Box::new(Utf16::new(buffer.take_input(), order)));
        }
        let lines_before =
            before::skip_lines(&mut buffer).map_err(|error| ScanError::unreadable(path, &error))?;
        let format = match *start(&mut buffer, path)? {
            [] => return Err(ScanError::no_header(path, "the file is empty")),
            [0x0a, 0x0d, 0x0d, 0x0a, ..] => Format::PcapNg(pcapng::Blocks::default()),
            _ => match pcap::RecordFormat::open(&mut buffer, path) {
                Ok(records) => Format::Pcap(records),
                Err(error @ (ScanError::NotACapture { .. } | ScanError::NoHeader { .. })) => {
                    Format::Text(Box::new(Text::open(&mut buffer, path, error)?))
                }
                Err(error) => return Err(error),
            },
        };
        Ok(Self::of(buffer, format, lines_before))
    }

    /// The next frame; `None` when there is none, and [`Capture::end`] tells why.
    pub fn next_frame(&mut self) -> Option<Frame<'_>> {
        self.next_before(u64::MAX)
    }

    /// The next frame, if its record begins before `until`.
    #[expect(clippy::inline_always, reason = "a tenth of the reader's instructions is the call")]
    #[inline(always)]
    pub fn next_before(&mut self, until: u64) -> Option<Frame<'_>> {
        let (buffer, end) = (&mut self.buffer, &mut self.end);
        match &mut self.format {
            _ if end.is_some() => None,
            Format::Pcap(records) => records.next_frame(buffer, until, end),
            // Copies, so that the fields of other frames stay in registers.
            Format::PcapNg(blocks) => Some(Frame { ..blocks.next_frame(buffer, until, end)? }),
            Format::Text(text) => Some(Frame { ..text.next_frame(buffer, until, end)? }),
        }
    }

    /// How many bytes of it, unpacked, were read.
    pub fn at(&self) -> u64 {
        self.buffer.at()
    }

    /// Where it goes on; `None` for what can be read only from its beginning.
    pub fn place(&self) -> Option<Position> {
        let file_len = self.file_len.filter(|_| !matches!(self.format, Format::Text(_)))?;
        Some(Position { at: self.at(), format: self.format.clone(), file_len })
    }

    /// Notices about a text that was read; `None` for a capture file.
    pub fn about_text(&self) -> Option<AboutText> {
        match &self.format {
            Format::Text(text) => Some(text.about()),
            Format::Pcap(_) | Format::PcapNg(_) => None,
        }
    }

    /// How the capture ended; `None` while frames are left.
    pub fn end(&self) -> Option<&InputEnd> {
        self.end.as_ref()
    }

    /// Time of the first frame of `path` in ns since the epoch, to put rotated files in order;
    /// `None` for a pipe, which can be read only once.
    pub fn first_time_ns(path: &str) -> Option<i64> {
        if !std::fs::metadata(path).ok()?.is_file() {
            return None;
        }
        let input = Input::open(path, &Arc::default()).ok()?;
        Self::first_time_of(Sips(input), path)
    }

    /// Like `first_time_ns`, of a capture from any source.
    pub fn first_time_of(input: impl Read + Send + 'static, path: &str) -> Option<i64> {
        let mut capture = Self::new(Box::new(input), path).ok()?;
        capture.next_frame().map(|frame| frame.time_ns)
    }
}

/// Gives little at once: of many files only the first frame is asked for.
struct Sips(Input);

impl Read for Sips {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        /// A frame, mostly.
        const MOST: usize = 4096;
        let most = into.len().min(MOST);
        self.0.read(&mut into[..most])
    }
}

/// The first bytes of the input; fewer than four only if there are no more.
fn start<'a>(buffer: &'a mut Buffer, path: &str) -> Result<&'a [u8], ScanError> {
    buffer.at_least(4).map_err(|error| ScanError::unreadable(path, &error))
}

/// Unpacks what is packed; is it?
fn unpack(buffer: &mut Buffer, path: &str, unpacked: Unpack) -> Result<bool, ScanError> {
    let start = start(buffer, path)?;
    if !is_packed(start) {
        return Ok(false);
    }
    let decoder: Box<dyn Read + Send> = if start.starts_with(&GZIP) {
        Box::new(MultiGzDecoder::new(buffer.take_input()))
    } else {
        let decoder = zstd::Decoder::new(buffer.take_input());
        Box::new(decoder.map_err(|error| ScanError::unreadable(path, &error))?)
    };
    *buffer = Buffer::new(Box::new(unpacked(decoder)));
    Ok(true)
}

/// An input, unpacked if it is packed.
///
/// # Errors
/// It cannot be read.
pub fn decompressed(
    input: Box<dyn Read + Send>,
    path: &str,
) -> Result<impl Read + Send + use<>, ScanError> {
    let mut buffer = Buffer::new(input);
    unpack(&mut buffer, path, Unpacked::here)?;
    Ok(buffer.take_input())
}

const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Does gzip or zstd begin so: with a frame, or one to be skipped (RFC 8878, section 3.1.2)?
pub fn is_packed(start: &[u8]) -> bool {
    start.starts_with(&GZIP)
        || matches!(start, [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

#[cfg(test)]
pub mod samples;
#[cfg(test)]
mod tests;
