//! The lines of a text, and those of one packet put together.

use super::line::{self, ParsedLine, PrintedPacket};
use super::rows::Rows;
use super::time::{self, Stamp};
use crate::capture::buffer::Buffer;
use std::io;
use std::mem;

/// A longer line is read as several.
const LONGEST: usize = 16 << 10;
/// No row of a list is longer.
const LONGEST_ROW: usize = 8 << 10;
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

/// What a line added.
#[derive(Debug, PartialEq, Eq)]
pub enum Joined<'a> {
    Packet(Stamp, PrintedPacket<'a>),
    /// The packet before ends here; this line is to be given once more.
    Before(Stamp, PrintedPacket<'a>),
    /// The packet goes on in the next line, or the line is known to show none.
    More,
    NoPacket,
}

/// Puts the lines of one packet together.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Joiner {
    begun: String,
    /// Lines in `begun`.
    lines: usize,
    pub rows: Rows,
    /// A packet of `rows`, as tcpdump prints it.
    printed: String,
}

impl Joiner {
    /// Takes the next line.
    pub fn take<'a>(&'a mut self, line: &'a str) -> Joined<'a> {
        let stamp = time::stamp(line);
        if self.lines == 0 {
            let read = stamp.map(|(stamp, rest)| (stamp, line::read(rest)));
            return match read {
                Some((_, ParsedLine::Unfinished)) => {
                    self.begun.clear();
                    self.begun.push_str(line);
                    self.lines = 1;
                    Joined::More
                }
                Some((stamp, ParsedLine::Packet(packet))) if packet != PrintedPacket::NotIp => {
                    Joined::Packet(stamp, packet)
                }
                Some((_, ParsedLine::NoPacket)) | None if line.len() > LONGEST_ROW => {
                    Joined::NoPacket
                }
                other => match (self.rows.take(line, &mut self.printed), other) {
                    (Some(true), _) => packet(&self.printed).unwrap_or(Joined::More),
                    (Some(false), _) => Joined::More,
                    (None, Some((stamp, ParsedLine::Packet(packet)))) => {
                        Joined::Packet(stamp, packet)
                    }
                    (None, _) => Joined::NoPacket,
                },
            };
        }
        if stamp.is_some() || self.lines == MOST_LINES {
            return match self.end() {
                Some((stamp, packet)) => Joined::Before(stamp, packet),
                None => Joined::More,
            };
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

    /// The packet in which the text ends; one of which lines are missing cannot be read.
    pub fn end(&mut self) -> Option<(Stamp, PrintedPacket<'_>)> {
        if mem::take(&mut self.lines) > 0 {
            return time::stamp(&self.begun).map(|(stamp, _)| (stamp, PrintedPacket::Unreadable));
        }
        match self.rows.end(&mut self.printed).then(|| packet(&self.printed))?? {
            Joined::Packet(stamp, packet) => Some((stamp, packet)),
            _ => None,
        }
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
