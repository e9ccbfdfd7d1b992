//! Rows that were read ahead: to sort them by time, and to place messages among them.

use super::messages::{self, Messages};
use super::numbers::PrintedConnections;
use super::packet::{PrintedPacket, PrintedSegment, TimedPacket};
use crate::ends::SocketPair;
use crate::times::RowOrder;
use std::collections::VecDeque;

/// Rows that are sorted at once: some 40 MB.
const MOST_SORTED: usize = 1 << 18;

/// No packet is longer than IP can say.
const MOST_LEN: u32 = u16::MAX as u32;

/// The rows that come next.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Ahead {
    order: RowOrder,
    rows: VecDeque<TimedPacket>,
    /// The rows at hand are in order.
    are_sorted: bool,
    /// Some are of a packet list.
    is_list: bool,
    last_ns: i64,
    pub messages: Messages,
    /// Rows that could not be sorted: too many others were read before them.
    pub unsorted: u64,
}

impl Ahead {
    pub fn new(order: RowOrder) -> Self {
        Self { order, ..Self::default() }
    }

    pub fn is_sorting(&self) -> bool {
        self.order != RowOrder::InTime
    }

    pub fn push(&mut self, row: TimedPacket) {
        self.is_list |= match row.packet {
            PrintedPacket::Tcp(_, segment) => segment.is_listed || segment.lacks_len,
            packet => matches!(packet, PrintedPacket::Message(..)),
        };
        self.rows.push_back(row);
    }

    /// The next row, behind those of the `connections`; `None` if more must be read, and may come.
    pub fn next(&mut self, is_all: bool, connections: &PrintedConnections) -> Option<TimedPacket> {
        let wanted = match self.order {
            RowOrder::InTime if self.is_list => messages::AHEAD,
            RowOrder::InTime => 1,
            _ if self.are_sorted => 0,
            _ => MOST_SORTED,
        };
        if self.rows.len() < wanted && !is_all {
            return None;
        }
        if self.is_sorting() && !self.are_sorted {
            self.sort();
        }
        let TimedPacket { time_ns, run, packet } = self.rows.pop_front()?;
        self.are_sorted &= !self.rows.is_empty();
        self.unsorted += u64::from(self.is_sorting() && time_ns < self.last_ns);
        self.last_ns = time_ns;
        let packet = match packet {
            PrintedPacket::Tcp(ends, segment) if segment.lacks_len => self.measured(ends, segment),
            _ => self.messages.placed(packet, connections, &self.rows),
        };
        Some(TimedPacket { time_ns, run, packet })
    }

    /// The segment with the length that the next row of its connection shows: from where its
    /// sender goes on, or what the other end acknowledges first.
    fn measured(&self, ends: SocketPair, segment: PrintedSegment) -> PrintedPacket {
        let lens = self.rows.iter().take(messages::AHEAD).filter_map(|row| {
            let (of, next) = row.packet.segment()?;
            let is_own = of == ends;
            let is_answer = of == [ends[1], ends[0]];
            let number = if is_own { next.seq } else { next.ack.filter(|_| is_answer) };
            let len = number?.wrapping_sub(segment.seq?);
            (1..=MOST_LEN).contains(&len).then_some(len)
        });
        let len = { lens }.next();
        len.map_or(PrintedPacket::Unreadable, |len| {
            PrintedPacket::Tcp(ends, PrintedSegment { len, is_inferred: true, ..segment })
        })
    }

    /// Rows of the same time stay as they were sent.
    fn sort(&mut self) {
        let rows = self.rows.make_contiguous();
        if self.order == RowOrder::Reversed {
            rows.reverse();
        }
        rows.sort_by_key(|row| row.time_ns);
        self.are_sorted = true;
    }
}
