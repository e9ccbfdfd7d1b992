//! The lines of a text, and those of one packet put together.

use super::ends::EndNames;
use super::packet::{Packet, Stamped};
use super::rows::Rows;
use super::tcpdump::{self, Line};
use super::time;
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

/// The outcome of adding a line.
#[derive(Debug, PartialEq, Eq)]
pub enum Joined {
    Packet(Stamped),
    /// The packet before ends here; this line is to be given once more.
    Before(Stamped),
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
    pub names: EndNames,
}

impl Joiner {
    /// Takes the next line.
    pub fn take(&mut self, line: &str) -> Joined {
        let stamp = time::stamp(line);
        if self.lines > 0 {
            return self.go_on(line, stamp.is_some());
        }
        let printed = match stamp.map(|(stamp, rest)| (stamp, tcpdump::read(rest, &mut self.names)))
        {
            Some((_, Line::Unfinished)) => {
                self.begun.clear();
                self.begun.push_str(line);
                self.lines = 1;
                return Joined::More;
            }
            Some((stamp, Line::Packet(packet))) => Some((stamp, packet)),
            Some((_, Line::NoPacket)) | None => None,
        };
        let listed = match printed {
            Some((_, Packet::NotIp)) => self.rows.take(line, &mut self.names),
            None if line.len() <= LONGEST_ROW => self.rows.take(line, &mut self.names),
            _ => None,
        };
        match (listed, printed) {
            (Some(Some(packet)), _) | (None, Some(packet)) => Joined::Packet(packet),
            (Some(None), _) => Joined::More,
            (None, None) => Joined::NoPacket,
        }
    }

    /// Takes another line of a packet, unless that begins the next one.
    fn go_on(&mut self, line: &str, is_next: bool) -> Joined {
        if is_next || self.lines == MOST_LINES {
            return self.end().map_or(Joined::More, Joined::Before);
        }
        self.begun.push(' ');
        self.begun.push_str(line);
        self.lines += 1;
        if let Some((stamp, rest)) = time::stamp(&self.begun)
            && let Line::Packet(packet) = tcpdump::read(rest, &mut self.names)
        {
            self.lines = 0;
            return Joined::Packet((stamp, packet));
        }
        Joined::More
    }

    /// The packet in which the text ends; one of which lines are missing cannot be read.
    pub fn end(&mut self) -> Option<Stamped> {
        if mem::take(&mut self.lines) > 0 {
            return time::stamp(&self.begun).map(|(stamp, _)| (stamp, Packet::Unreadable));
        }
        self.rows.end(&mut self.names)
    }
}
