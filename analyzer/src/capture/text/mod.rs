//! Text that tcpdump, tshark or Wireshark printed, as users paste it into tickets. Each packet becomes a
//! frame of headers: what was not printed is not there.

mod ahead;
mod clean;
mod ends;
mod fields;
mod frame;
mod lines;
mod messages;
mod numbers;
mod packet;
mod record;
mod refusal;
mod rows;
mod tcpdump;
mod time;

use crate::capture::buffer::Buffer;
use crate::capture::error::ScanError;
use crate::capture::{Frame, InputEnd};
use ahead::Ahead;
use frame::Frames;
use lines::{Joined, Joiner};
use packet::{Row, Stamped};
use refusal::Beginning;
use std::collections::BTreeMap;
use std::net::IpAddr;
use time::{Course, Stamp};

/// A text that is being read.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Text {
    joiner: Joiner,
    course: Course,
    ahead: Ahead,
    frames: Frames,
    /// How the text ended; rows that were read are still to come.
    stop: Option<InputEnd>,
    has_dates: bool,
    lines_without_packet: u64,
}

/// Notices about a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AboutText {
    /// Times tell the day, too.
    pub has_dates: bool,
    /// IP identifications were printed (`-v`): they show what was lost, and what was captured twice.
    pub has_ip_ids: bool,
    /// Messages instead of numbers, of which the rows around them told the numbers, or did not.
    pub messages_placed: u64,
    pub messages_unplaced: u64,
    /// Inferred ones that fit several connections.
    pub messages_in_doubt: u64,
    /// The rows were out of order.
    pub is_sorted: bool,
    /// Rows that could not be put in order.
    pub rows_unsorted: u64,
    /// Lines that belong to no packet.
    pub lines_without_packet: u64,
    /// The text's names of hosts, and of services that are not known, by what stands for them.
    pub hosts: BTreeMap<IpAddr, String>,
    pub ports: BTreeMap<u16, String>,
}

impl Text {
    /// Begins to read the text in `buffer`; `otherwise` is the error for what is none.
    ///
    /// # Errors
    /// There is no packet in it, or it lacks what the analysis needs.
    pub fn open(buffer: &mut Buffer, path: &str, otherwise: ScanError) -> Result<Self, ScanError> {
        let beginning =
            Beginning::read(buffer).map_err(|error| ScanError::unreadable(path, &error))?;
        if !beginning.is_readable() {
            return Err(match beginning.lack() {
                Some(lack) => ScanError::not_a_capture(path, &lack),
                None => otherwise,
            });
        }
        let survey = beginning.survey;
        Ok(Self {
            course: Course::new(survey.is_relative()),
            ahead: Ahead::new(survey.order()),
            ..Self::default()
        })
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
        loop {
            if let Some(row) = self.ahead.next(self.stop.is_some()) {
                return Some(self.frames.frame(row));
            }
            if self.stop.is_some() {
                end.clone_from(&self.stop);
                return None;
            }
            if let Err(stop) = self.read_line(buffer) {
                self.stop = Some(stop);
            }
        }
    }

    fn read_line(&mut self, buffer: &mut Buffer) -> Result<(), InputEnd> {
        let len = lines::next_len(buffer)?;
        let line = &buffer.available()[..len];
        if line.is_empty() {
            if let Some(packet) = self.joiner.end() {
                self.push(packet);
            }
            return Err(InputEnd::Complete);
        }
        let joined = self.joiner.take(&clean::bare(line));
        let is_foreign = joined == Joined::NoPacket && is_foreign(line);
        self.lines_without_packet += u64::from(is_foreign);
        if !matches!(joined, Joined::Before(_)) {
            buffer.consume(len);
        }
        if let Joined::Packet(packet) | Joined::Before(packet) = joined {
            self.push(packet);
        }
        Ok(())
    }

    fn push(&mut self, (stamp, packet): Stamped) {
        self.has_dates |= matches!(stamp, Stamp::At(_));
        self.ahead.push(Row { time_ns: self.course.time_ns(stamp), packet });
    }

    /// What there is to say of what was read so far.
    pub fn about(&self) -> AboutText {
        AboutText {
            has_dates: self.has_dates,
            has_ip_ids: self.frames.has_ip_ids,
            messages_placed: self.ahead.messages.placed,
            messages_unplaced: self.ahead.messages.unplaced,
            messages_in_doubt: self.ahead.messages.in_doubt,
            is_sorted: self.ahead.is_sorting(),
            rows_unsorted: self.ahead.unsorted,
            lines_without_packet: self.lines_without_packet,
            hosts: self.joiner.names.hosts(),
            ports: self.joiner.names.ports(),
        }
    }
}

/// Neither empty nor, by its indent, more of the packet before.
fn is_foreign(line: &[u8]) -> bool {
    !line.trim_ascii().is_empty() && !matches!(line[0], b' ' | b'\t')
}

#[cfg(test)]
mod tests;
