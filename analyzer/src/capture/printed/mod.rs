//! Text that tcpdump, tshark or Wireshark printed, as users paste it into tickets.
//!
//! [`plain`] takes away what pasting added, [`lines`] puts the lines of a packet together,
//! [`forms`] reads them, [`ahead`] sorts them and places [`messages`], and [`frame`] makes of each
//! packet a frame of headers. What was not printed is not there, and what was inferred is marked.

mod ahead;
mod copies;
mod ends;
mod fields;
mod forms;
mod frame;
mod lines;
mod messages;
mod numbers;
mod packet;
mod plain;
mod record;
mod refusal;
mod rows;
mod tcpdump;
mod time;
mod tokens;

use crate::capture::buffer::Buffer;
use crate::capture::error::ScanError;
use crate::capture::{Frame, InputEnd};
use ahead::Ahead;
use copies::RowCopies;
use frame::FrameMaker;
use lines::Joiner;
use packet::TimedPacket;
use std::collections::BTreeMap;
use std::net::IpAddr;
use time::{Course, PrintedTime};

/// A text that is being read.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Text {
    joiner: Joiner,
    copies: RowCopies,
    course: Course,
    ahead: Ahead,
    frames: FrameMaker,
    /// How the text ended; rows that were read are still to come.
    stop: Option<InputEnd>,
    has_dates: bool,
}

/// Notices about a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AboutText {
    /// Times tell the day, too.
    pub has_dates: bool,
    /// IP identifications were printed (`-v`): they show losses, and what was captured twice.
    pub has_ip_ids: bool,
    /// Messages instead of numbers, with numbers inferred from the rows around them, or without.
    pub messages_placed: u64,
    pub messages_unplaced: u64,
    /// Inferred ones that fit several connections.
    pub messages_in_doubt: u64,
    /// The rows were out of order.
    pub is_sorted: bool,
    /// Rows that could not be put in order.
    pub rows_unsorted: u64,
    /// Lines that belong to no packet, and marks that rows were left out (`[...]`).
    pub lines_without_packet: u64,
    pub elisions: u64,
    /// Rows of a second capture of the same packets, which were left out.
    pub rows_copied: u64,
    /// The text's names of hosts, and of services that are not known, by what stands for them.
    pub hosts: BTreeMap<IpAddr, String>,
    pub ports: BTreeMap<u16, String>,
}

impl Text {
    /// Begins to read the text in `buffer`; `otherwise` is the error if it is not a packet text.
    ///
    /// # Errors
    /// It holds no packet, or lacks what the analysis needs.
    pub fn open(buffer: &mut Buffer, path: &str, otherwise: ScanError) -> Result<Self, ScanError> {
        let survey = refusal::survey(buffer, path, otherwise)?;
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
            if let Some(row) = self.ahead.next(self.stop.is_some(), &self.frames.connections) {
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
        if len > 0 {
            self.joiner.take(&buffer.available()[..len]);
        } else {
            self.joiner.end();
        }
        buffer.consume(len);
        while let Some((stamp, packet)) = self.joiner.next() {
            self.has_dates |= matches!(stamp, PrintedTime::At(_));
            let row = TimedPacket { time_ns: self.course.time_ns(stamp), packet };
            // Rows that are out of order go back all the time.
            if self.ahead.is_sorting() || !self.copies.is_copy(&row) {
                self.ahead.push(row);
            }
        }
        if len > 0 { Ok(()) } else { Err(InputEnd::Complete) }
    }

    /// Remarks on the text that was read so far.
    pub fn about(&self) -> AboutText {
        AboutText {
            has_dates: self.has_dates,
            has_ip_ids: self.frames.has_ip_ids,
            messages_placed: self.ahead.messages.placed,
            messages_unplaced: self.ahead.messages.unplaced,
            messages_in_doubt: self.ahead.messages.in_doubt,
            is_sorted: self.ahead.is_sorting(),
            rows_unsorted: self.ahead.unsorted,
            lines_without_packet: self.joiner.foreign,
            elisions: self.joiner.elisions,
            rows_copied: self.copies.rows,
            hosts: self.joiner.forms.names.hosts(),
            ports: self.joiner.forms.names.ports(),
        }
    }
}

#[cfg(test)]
mod tests;
