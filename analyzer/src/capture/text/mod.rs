//! Text that tcpdump, tshark or Wireshark printed, as users paste it into tickets. Each packet becomes a
//! frame of headers: what was not printed is not there.

mod ends;
mod frame;
mod line;
mod lines;
mod list;
mod numbers;
mod options;
mod time;

use crate::capture::buffer::Buffer;
use crate::capture::error::ScanError;
use crate::capture::{Frame, InputEnd};
use frame::Frames;
use line::{ParsedLine, PrintedPacket};
use lines::{Joined, Joiner};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::io;
use time::{Stamp, Survey};

/// A text without a packet in its first bytes is not a capture.
const LOOKED_AT: usize = 256 << 10;
const LOOKED_AT_FIRST: usize = 4 << 10;
/// Packets from which the form of the text is inferred.
const ENOUGH_PACKETS: u32 = 200;

const QUIET: &str = "text without sequence numbers and ACKs: print the capture with 'tcpdump -nvv', \
                     without -q";
const TIMELESS: &str = "text that tcpdump printed with -t, so without times: print it without -t";

/// A text that is being read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    joiner: Joiner,
    frames: Frames,
    lines_without_packet: u64,
}

/// What a reader must know of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AboutText {
    /// Times tell the day, too.
    pub has_dates: bool,
    /// IP identifications were printed (`-v`): they show what was lost, and what was captured twice.
    pub has_ip_ids: bool,
    /// Of TCP, printed without numbers.
    pub packets_unnumbered: u64,
    /// Lines that belong to no packet.
    pub lines_without_packet: u64,
    /// What stands for the names of hosts and services.
    pub made_up: Vec<String>,
}

impl Text {
    /// Begins to read the text in `buffer`; `otherwise` is the error for what is none.
    ///
    /// # Errors
    /// There is no packet in it, or it lacks what the analysis needs.
    pub fn open(buffer: &mut Buffer, path: &str, otherwise: ScanError) -> Result<Self, ScanError> {
        match Beginning::read(buffer).map_err(|error| ScanError::unreadable(path, &error))? {
            Beginning { packets: 1.., survey, hosts_unnumbered, .. } => {
                let frames = Frames::new(survey.is_relative(), hosts_unnumbered);
                Ok(Self { joiner: Joiner::default(), frames, lines_without_packet: 0 })
            }
            Beginning { hosts_unnumbered, .. } if !hosts_unnumbered.is_empty() => {
                Err(ScanError::not_a_capture(path, QUIET))
            }
            Beginning { timeless: 1.., .. } => Err(ScanError::not_a_capture(path, TIMELESS)),
            _ => Err(otherwise),
        }
    }

    /// The next frame, if its line begins before `until`; where there is none, `end` is set.
    // Kept out of the hot loop of other formats.
    #[cold]
    pub fn next_frame(
        &mut self,
        buffer: &mut Buffer,
        until: u64,
        end: &mut Option<InputEnd>,
    ) -> Option<Frame<'_>> {
        if buffer.at() >= until {
            return None;
        }
        match self.read(buffer) {
            Ok(frame) => Some(frame),
            Err(stop) => {
                *end = Some(stop);
                None
            }
        }
    }

    fn read(&mut self, buffer: &mut Buffer) -> Result<Frame<'_>, InputEnd> {
        loop {
            let len = lines::next_len(buffer)?;
            let line = &buffer.available()[..len];
            if line.is_empty() {
                let stamp = self.joiner.give_up().ok_or(InputEnd::Complete)?;
                return Ok(self.frames.frame(stamp, &PrintedPacket::Unreadable));
            }
            match self.joiner.take(lines::bare(line)) {
                Joined::Packet(stamp, packet) => {
                    let frame = self.frames.frame(stamp, &packet);
                    buffer.consume(len);
                    return Ok(frame);
                }
                Joined::Before(stamp) => {
                    return Ok(self.frames.frame(stamp, &PrintedPacket::Unreadable));
                }
                Joined::More => {}
                Joined::NoPacket => self.lines_without_packet += u64::from(is_foreign(line)),
            }
            buffer.consume(len);
        }
    }

    /// What there is to say of what was read so far.
    pub fn about(&self) -> AboutText {
        AboutText {
            has_dates: self.frames.has_dates,
            has_ip_ids: self.frames.has_ip_ids,
            packets_unnumbered: self.frames.packets_unnumbered,
            lines_without_packet: self.lines_without_packet,
            made_up: self.frames.names.made_up(),
        }
    }
}

/// Neither empty nor, by its indent, more of the packet before.
fn is_foreign(line: &[u8]) -> bool {
    !line.trim_ascii().is_empty() && !matches!(line[0], b' ' | b'\t')
}

/// What the beginning of a text shows.
#[derive(Debug, Default)]
struct Beginning {
    /// TCP that can be read, or only lacks its time.
    packets: u32,
    timeless: u32,
    survey: Survey,
    /// Between which TCP is printed without numbers.
    hosts_unnumbered: HashSet<[String; 2]>,
}

impl Beginning {
    /// Looks at as much of the input as is needed.
    fn read(buffer: &mut Buffer) -> io::Result<Self> {
        let mut wanted = LOOKED_AT_FIRST;
        loop {
            let start = buffer.at_least(wanted)?;
            let is_all = start.len() < wanted;
            let found = Self::of(if is_all { start } else { whole_lines(start) });
            if found.packets >= ENOUGH_PACKETS || is_all || wanted >= LOOKED_AT {
                return Ok(found);
            }
            wanted *= 4;
        }
    }

    fn of(start: &[u8]) -> Self {
        let (mut found, mut joiner) = (Self::default(), Joiner::default());
        for line in start.split(|&byte| byte == b'\n') {
            let line = lines::bare(line);
            // A line that ends a packet before is taken once more.
            for _ in 0..2 {
                match joiner.take(line) {
                    Joined::Before(_) => continue,
                    Joined::Packet(stamp, packet) => found.see(stamp, &packet),
                    Joined::More => {}
                    Joined::NoPacket => found.timeless += u32::from(is_timeless(line)),
                }
                break;
            }
        }
        found
    }

    fn see(&mut self, stamp: Stamp, packet: &PrintedPacket<'_>) {
        self.survey.see(stamp);
        match packet {
            PrintedPacket::Tcp(_) => self.packets += 1,
            PrintedPacket::Quiet(ends) => {
                self.hosts_unnumbered.insert(ends.hosts());
            }
            _ => {}
        }
    }
}

/// The line that is cut off may look like one of other packets.
fn whole_lines(start: &[u8]) -> &[u8] {
    let start = &start[..start.len().min(LOOKED_AT)];
    &start[..start.iter().rposition(|&byte| byte == b'\n').unwrap_or(start.len())]
}

/// Is it a packet but for its time?
fn is_timeless(line: &str) -> bool {
    matches!(line::read(line), ParsedLine::Packet(PrintedPacket::Tcp(_) | PrintedPacket::Quiet(_)))
}

#[cfg(test)]
mod tests;
