//! The lines of a text, and those of one packet put together.

use super::line::{self, ParsedLine, PrintedPacket};
use super::list;
use super::time::{self, Stamp};
use crate::capture::buffer::Buffer;
use std::io;
use std::mem;

/// A longer line is read as several.
const LONGEST: usize = 16 << 10;
/// A packet of `-v` takes two lines; mail programs break them once more.
const MOST_LINES: usize = 5;

/// The length of the next line with its end; 0 at the end of the text.
///
/// # Errors
/// The read failed.
pub fn next_len(buffer: &mut Buffer) -> io::Result<usize> {
    let mut seen = 0;
    loop {
        let available = buffer.at_least(seen + 1)?;
        let len = available.len().min(LONGEST);
        if let Some(at) = available[seen..len].iter().position(|&byte| byte == b'\n') {
            return Ok(seen + at + 1);
        }
        if len == seen || len == LONGEST {
            return Ok(len);
        }
        seen = len;
    }
}

/// A line without what pasting adds: quotes, indents, the ends of lines of Windows.
pub fn bare(line: &[u8]) -> &str {
    let line = str::from_utf8(line).unwrap_or_default();
    line.trim_start_matches(|c: char| c.is_whitespace() || ">`\u{feff}".contains(c)).trim_end()
}

/// What a line added.
#[derive(Debug, PartialEq, Eq)]
pub enum Joined<'a> {
    Packet(Stamp, PrintedPacket<'a>),
    /// The packet before cannot be read; this line is to be given once more.
    Before(Stamp),
    /// The packet goes on in the next line.
    More,
    NoPacket,
}

/// Puts the lines of one packet together.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Joiner {
    begun: String,
    /// Lines in `begun`.
    lines: usize,
}

impl Joiner {
    /// Takes the next line.
    pub fn take<'a>(&'a mut self, line: &'a str) -> Joined<'a> {
        let stamp = time::stamp(line);
        if self.lines == 0 {
            return match stamp.map(|(stamp, rest)| (stamp, line::read(rest))) {
                Some((_, ParsedLine::Unfinished)) => {
                    self.begun.clear();
                    self.begun.push_str(line);
                    self.lines = 1;
                    Joined::More
                }
                None
                | Some((_, ParsedLine::NoPacket | ParsedLine::Packet(PrintedPacket::NotIp)))
                    if list::rewrite(line, &mut self.begun).is_some() =>
                {
                    packet(&self.begun).unwrap_or(Joined::NoPacket)
                }
                Some((stamp, ParsedLine::Packet(packet))) => Joined::Packet(stamp, packet),
                None | Some((_, ParsedLine::NoPacket)) => Joined::NoPacket,
            };
        }
        if stamp.is_some() || self.lines == MOST_LINES {
            return self.give_up().map_or(Joined::More, Joined::Before);
        }
        self.begun.push(' ');
        self.begun.push_str(line);
        let lines = mem::take(&mut self.lines) + 1;
        if let Some(packet) = packet(&self.begun) {
            return packet;
        }
        self.lines = lines;
        Joined::More
    }

    /// The time of a packet that was begun and cannot be read; `None` if there is none.
    pub fn give_up(&mut self) -> Option<Stamp> {
        let lines = mem::take(&mut self.lines);
        time::stamp(&self.begun).filter(|_| lines > 0).map(|(stamp, _)| stamp)
    }
}

/// The packet that `line` shows as a whole.
fn packet(line: &str) -> Option<Joined<'_>> {
    let (stamp, rest) = time::stamp(line)?;
    match line::read(rest) {
        ParsedLine::Packet(packet) => Some(Joined::Packet(stamp, packet)),
        _ => None,
    }
}
