//! Two captures of the same packets in one text, as of both ends: one is judged.
//!
//! A second capture begins where the first row of a connection comes again with all its numbers, behind what
//! followed it: a sender sends it again with another time (`TSval`), and a SYN not after the handshake. From there on
//! all rows of the connection are left out: they have another clock.

use super::packet::{Ends, Packet, Row, Segment};
use crate::capture::flags::SYN;
use std::collections::HashMap;

/// The first capture of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
struct First {
    /// Its first row.
    ends: Ends,
    segment: Segment,
    last_ns: i64,
    rows: u64,
    /// The second capture has begun.
    is_copied: bool,
}

/// The connections of a text.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Copies {
    connections: HashMap<Ends, First>,
    /// Rows of second captures.
    pub rows: u64,
}

/// A SYN, its answer and the ACK of that: no SYN is sent again after them.
const HANDSHAKE: u64 = 3;

impl Copies {
    /// Is the next row one of a second capture?
    pub fn is_copy(&mut self, row: &Row) -> bool {
        let Packet::Tcp([from, to], segment) = row.packet else { return false };
        let key = if from <= to { [from, to] } else { [to, from] };
        let is_opening = segment.flags & SYN != 0 && segment.ack.is_none();
        let first =
            || First { ends: [from, to], segment, last_ns: row.time_ns, rows: 0, is_copied: false };
        let known = self.connections.entry(key).or_insert_with(first);
        known.rows += 1;
        let is_first_again = known.ends == [from, to] && known.segment == segment && known.rows > 1;
        let has_come_on = row.time_ns < known.last_ns
            || is_opening && known.rows > HANDSHAKE && segment.options.timestamps.is_some();
        known.last_ns = row.time_ns;
        if is_first_again && has_come_on {
            known.is_copied = true;
        } else if is_opening && known.segment != segment {
            *known = First { rows: 1, ..first() };
        }
        self.rows += u64::from(known.is_copied);
        known.is_copied
    }
}
