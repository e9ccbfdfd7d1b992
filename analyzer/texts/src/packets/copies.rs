//! Two captures of the same packets in one text, as of both ends: one is judged.
//!
//! A second capture begins where the first row of a connection comes again with all its numbers,
//! behind what followed it: a sender sends it again with another time (`TSval`), and a SYN not
//! after the handshake. Its rows are left out, up to one that shows more than the first.

use super::packet::{PrintedPacket, TimedPacket};
use crate::ends::{SocketPair, keyed};
use crate::flags::SYN;
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// The first capture of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
struct First {
    /// Its first row, hashed, and which of its ends sent that.
    row: u64,
    sender: usize,
    last_ns: i64,
    run: u16,
    /// The sender of that row sent another: no SYN is sent again after it.
    has_gone_on: bool,
    /// The largest numbers in the rows of either sender, as they are printed.
    most: [u32; 2],
    /// The second capture has begun.
    is_copied: bool,
}

/// The connections of a text.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct RowCopies {
    connections: HashMap<SocketPair, First>,
    /// Rows of second captures.
    pub rows: u64,
}

/// Clocks of two captures differ by more; interfaces of one host show a packet in any order.
const OTHER_CLOCK_NS: i64 = 1_000_000;

impl RowCopies {
    /// Is the next row one of a second capture?
    pub fn is_copy(&mut self, row: &TimedPacket) -> bool {
        let PrintedPacket::Tcp([from, to], segment) = row.packet else { return false };
        let (key, sender) = keyed([from, to]);
        let hashed = BuildHasherDefault::<DefaultHasher>::default().hash_one(segment);
        let is_syn = segment.flags & SYN != 0;
        let is_opening = is_syn && segment.ack.is_none();
        let first = || First {
            row: hashed,
            sender,
            last_ns: row.time_ns,
            run: row.run.number,
            has_gone_on: false,
            most: [0; 2],
            is_copied: false,
        };
        let known = self.connections.entry(key).or_insert_with(first);
        let is_first_again = known.sender == sender && known.row == hashed;
        let is_back = row.time_ns < known.last_ns - OTHER_CLOCK_NS;
        let is_late_syn = is_opening && segment.options.timestamps.is_some();
        known.last_ns = row.time_ns;
        let end = segment.seq.unwrap_or(0).saturating_add(segment.len);
        let largest = if is_syn { 0 } else { end.max(segment.ack.unwrap_or(0)) };
        let most = &mut known.most[usize::from(known.sender != sender)];
        let is_news = largest > *most;
        *most = largest.max(*most);
        // Another run may go on with other numbers than these.
        let is_other_run = row.run.number != known.run && is_back && !is_opening;
        if is_other_run || is_first_again && known.has_gone_on && (is_back || is_late_syn) {
            known.is_copied = true;
        } else if is_opening && known.row != hashed {
            *known = first();
        } else if is_news {
            known.is_copied = false;
        }
        known.has_gone_on |= known.sender == sender && known.row != hashed;
        self.rows += u64::from(known.is_copied);
        known.is_copied
    }
}
