//! A text of packets, from its first line to its last packet.

use super::ahead::Ahead;
use super::copies::RowCopies;
use super::lines::{self, Joiner};
use super::numbers::PrintedConnections;
use super::packet::{PrintedPacket, TimedPacket};
use super::refusal::{self, is_call};
use crate::Source;
use crate::times::{Course, PrintedTime};
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;

pub use super::numbers::WireNumbers;
pub use super::refusal::Refusal;

/// A text that is being read.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Text {
    joiner: Joiner,
    copies: RowCopies,
    course: Course,
    ahead: Ahead,
    connections: PrintedConnections,
    /// No more lines come, but rows that were read may.
    is_read: bool,
    has_dates: bool,
    has_ip_ids: bool,
    /// Lines of system calls.
    calls: u64,
}

/// The next packet of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentPacket {
    pub time_ns: i64,
    pub packet: PrintedPacket,
    /// Numbers of a TCP segment, unless its sequence number cannot be inferred.
    pub numbers: Option<WireNumbers>,
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
    /// Lines of system calls, as strace prints them.
    pub calls: u64,
    /// Headings of captures in the text, as 'before' and 'after'.
    pub headings: u16,
    /// Rows of a second capture of the same packets, which were left out.
    pub rows_copied: u64,
    /// The text's names of hosts, and of services that are not known, by what stands for them.
    pub hosts: BTreeMap<IpAddr, String>,
    pub ports: BTreeMap<u16, String>,
}

impl Text {
    /// Begins to read the text in `source`.
    ///
    /// # Errors
    /// It cannot be read, holds no packet, or lacks what the analysis needs.
    pub fn open(source: &mut impl Source) -> Result<Self, Refusal> {
        let (survey, width) = refusal::survey(source)?;
        Ok(Self {
            joiner: Joiner::new(width),
            course: Course::new(survey.is_relative()),
            ahead: Ahead::new(survey.order()),
            ..Self::default()
        })
    }

    /// The next packet; `None` at the end.
    ///
    /// # Errors
    /// The read failed. The packets before come next.
    pub fn next_packet(&mut self, source: &mut impl Source) -> io::Result<Option<SentPacket>> {
        loop {
            if let Some(row) = self.ahead.next(self.is_read, &self.connections) {
                return Ok(Some(self.sent(row)));
            }
            if self.is_read {
                return Ok(None);
            }
            let read = self.read_line(source);
            self.is_read = !matches!(read, Ok(true));
            read?;
        }
    }

    fn sent(&mut self, TimedPacket { time_ns, run, packet }: TimedPacket) -> SentPacket {
        let numbers = match packet {
            PrintedPacket::Tcp(ends, printed) => {
                self.has_ip_ids |= printed.ip_id != 0;
                self.connections.sent(ends, &printed, run.starts)
            }
            _ => None,
        };
        SentPacket { time_ns, packet, numbers }
    }

    /// Takes the next line; `false` at the end.
    fn read_line(&mut self, source: &mut impl Source) -> io::Result<bool> {
        let read = lines::next_len(source);
        let len = *read.as_ref().unwrap_or(&0);
        if len > 0 {
            let calls = &mut self.calls;
            self.joiner.take(&source.available()[..len], |line| *calls += u64::from(is_call(line)));
        } else {
            self.joiner.end();
        }
        source.consume(len);
        while let Some((run, (stamp, packet))) = self.joiner.next() {
            self.has_dates |= matches!(stamp, PrintedTime::At(_));
            let row = TimedPacket { time_ns: self.course.time_ns(stamp), run, packet };
            // Rows that are out of order go back all the time.
            if self.ahead.is_sorting() || !self.copies.is_copy(&row) {
                self.ahead.push(row);
            }
        }
        Ok(read? > 0)
    }

    /// Remarks on the text that was read so far.
    pub fn about(&self) -> AboutText {
        AboutText {
            has_dates: self.has_dates,
            has_ip_ids: self.has_ip_ids,
            messages_placed: self.ahead.messages.placed,
            messages_unplaced: self.ahead.messages.unplaced,
            messages_in_doubt: self.ahead.messages.in_doubt,
            is_sorted: self.ahead.is_sorting(),
            rows_unsorted: self.ahead.unsorted,
            lines_without_packet: self.joiner.foreign.saturating_sub(self.calls),
            calls: self.calls,
            headings: self.joiner.runs.headings,
            elisions: self.joiner.elisions,
            rows_copied: self.copies.rows,
            hosts: self.joiner.forms.names.hosts(),
            ports: self.joiner.forms.names.ports(),
        }
    }
}
