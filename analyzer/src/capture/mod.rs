//! Capture files, tcpdump's text and standard input: a stream of frames, and how it ended.
//!
//! `pcap-parser` parses the formats of files; this module feeds it from one buffer and keeps every frame
//! before the first damage.

pub mod error;
pub mod link;
pub mod progress;

mod before;
mod buffer;
mod foreign;
mod frame;
mod input;
mod pcap;
mod pcapng;
pub mod ranges;
pub mod system;
pub mod text;
pub mod times;
pub mod unpack;
mod utf16;

use crate::capture::error::ScanError;
use crate::capture::progress::Progress;
use buffer::Buffer;
use flate2::read::MultiGzDecoder;
use input::Input;
use std::io::Read;
use std::sync::Arc;
use text::{AboutText, Text};
use unpack::{Unpacked, Unpacker};
use utf16::Utf16;

pub use frame::{Frame, InputEnd};

/// Where in a capture reading goes on: at a byte, with what was told so far of the frames to come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    pub at: u64,
    pub format: Format,
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
    /// Of a packed file, for the threads that help to unpack it.
    pub unpacker: Option<Arc<Unpacker>>,
    /// Lines of text before it, which were skipped.
    pub lines_before: u32,
}

impl Capture {
    /// Opens `path`; `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be read, is not a capture, or is a pcap of an unsupported link type.
    pub fn open(path: &str, progress: &Arc<Progress>) -> Result<Self, ScanError> {
        let input = Input::open(path, progress)?;
        let is_file = !input.is_stream;
        let capture = Self::new(Box::new(input), path)?;
        // Whoever unpacked a stream could wait for it when nobody reads it any more.
        Ok(Self { unpacker: capture.unpacker.filter(|_| is_file), ..capture })
    }

    /// Reads a capture from any source, plain, gzip or zstd; `path` is for error messages.
    ///
    /// # Errors
    /// As [`Capture::open`].
    pub fn new(input: Box<dyn Read + Send>, path: &str) -> Result<Self, ScanError> {
        let mut buffer = Buffer::new(input);
        let unpacker = decoder(&mut buffer, path)?.map(Unpacker::new);
        if let Some(unpacker) = &unpacker {
            buffer = Buffer::new(Box::new(Unpacked::new(unpacker)));
        }
        Ok(Self { unpacker, ..Self::unpacked(buffer, path)? })
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
        Ok(Self { buffer, format, end: None, unpacker: None, lines_before })
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

    /// Where it goes on.
    pub fn place(&self) -> Position {
        Position { at: self.buffer.at(), format: self.format.clone() }
    }

    /// What there is to say of a text that was read; `None` for a capture file.
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

    /// As `first_time_ns`, of a capture from any source.
    pub fn first_time_of(input: impl Read + Send + 'static, path: &str) -> Option<i64> {
        let mut capture = Self::new(Box::new(input), path).ok()?;
        capture.next_frame().map(|frame| frame.time_ns)
    }
}

/// Gives little at once: of many files only the first frame is asked for.
struct Sips(Input);

impl Read for Sips {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
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

/// The decompressor that the input needs, if any.
fn decoder(buffer: &mut Buffer, path: &str) -> Result<Option<Box<dyn Read + Send>>, ScanError> {
    let start = start(buffer, path)?;
    if start.starts_with(&GZIP) {
        return Ok(Some(Box::new(MultiGzDecoder::new(buffer.take_input()))));
    }
    if !is_packed(start) {
        return Ok(None);
    }
    let decoder = zstd::Decoder::new(buffer.take_input());
    Ok(Some(Box::new(decoder.map_err(|error| ScanError::unreadable(path, &error))?)))
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
