//! Sequence numbers of a connection. tcpdump prints those of the first segment with an ACK as they
//! are, and again those of a SYN with ACK; later ones count from there (unless `-S`). What has no
//! ACK is printed as it is. Of a pure ACK only the acknowledged number is printed (unless `-vv`).

use super::packet::PrintedSegment;
use crate::ends::{SocketPair, keyed};
use crate::flags::{FIN, RST, SYN};
use std::collections::HashMap;
use std::net::IpAddr;

/// The numbers of a segment as they were sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireNumbers {
    pub seq: u32,
    pub ack: u32,
    /// The window in the header.
    pub window: u16,
    /// From which the blocks of SACK count, if they do.
    pub sack_base: u32,
}

/// The wrong reading is farther off than data goes missing.
const CLEARLY_OFF: u64 = 1 << 20;

/// All connections of a text.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct PrintedConnections {
    all: HashMap<SocketPair, PrintedConnection>,
    /// The connections between two hosts.
    of_hosts: HashMap<[IpAddr; 2], Vec<SocketPair>>,
}

/// A connection, by the rows so far.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct PrintedConnection {
    directions: [PrintedDirection; 2],
    /// How often tcpdump was started before its last row.
    starts: u16,
    /// From which the numbers of each direction count, if they do.
    bases: Option<[u32; 2]>,
    /// Do they? Unknown until both readings differ.
    are_relative: Option<bool>,
}

/// The state of one direction after the rows before.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct PrintedDirection {
    /// Sequence number of what it sends next.
    pub next: Option<u32>,
    pub acked: Option<u32>,
    /// Bytes of a frame before its payload.
    pub headers_len: Option<u32>,
    /// The one in the last row.
    pub window: Option<u32>,
    /// The shift of its windows in a packet list, by its SYN.
    shift: Option<u32>,
}

impl PrintedConnections {
    /// The numbers of the next segment of the text; `None` without a sequence number.
    pub fn sent(
        &mut self,
        ends: SocketPair,
        printed: &PrintedSegment,
        starts: u16,
    ) -> Option<WireNumbers> {
        let (key, sender) = keyed(ends);
        let connection = self.all.entry(key).or_insert_with(|| {
            self.of_hosts.entry(hosts(ends)).or_default().push(key);
            PrintedConnection::default()
        });
        if connection.starts != starts {
            // tcpdump counts anew.
            (connection.starts, connection.bases) = (starts, None);
        }
        connection.sent(sender, printed)
    }

    /// Sender and receiver of these ends as they are known.
    pub fn known(&self, ends: SocketPair) -> [PrintedDirection; 2] {
        let (key, sender) = keyed(ends);
        let known = self.all.get(&key).map_or_else(Default::default, |known| known.directions);
        [known[sender], known[1 - sender]]
    }

    pub fn between(&self, hosts: [IpAddr; 2]) -> &[SocketPair] {
        self.of_hosts.get(&hosts).map_or(&[], Vec::as_slice)
    }
}

/// The hosts of two ends in order.
pub fn hosts(ends: SocketPair) -> [IpAddr; 2] {
    keyed(ends).0.map(|end| end.ip())
}

impl PrintedConnection {
    fn sent(&mut self, sender: usize, printed: &PrintedSegment) -> Option<WireNumbers> {
        let receiver = 1 - sender;
        let is_syn = printed.flags & SYN != 0;
        if is_syn && printed.ack.is_none() {
            for direction in &mut self.directions {
                *direction =
                    PrintedDirection { shift: direction.shift, ..PrintedDirection::default() };
            }
        }
        if is_syn {
            self.directions[sender].shift = printed.options.window_shift.map(u32::from);
        }
        let (seq, ack) = match (printed.ack, self.bases) {
            (ack, _) if printed.is_listed => (printed.seq, ack),
            (None, _) => (printed.seq, None),
            (Some(ack), Some(bases)) if !is_syn => self.counted(sender, bases, printed.seq, ack),
            (Some(ack), _) => {
                self.begin(sender, printed.seq, ack);
                (printed.seq, Some(ack))
            }
        };
        advance(&mut self.directions[receiver].next, ack);
        let window = self.window(sender, printed, is_syn);
        let from = &mut self.directions[sender];
        advance(&mut from.acked, ack);
        from.window = Some(printed.window);
        from.headers_len = printed.headers_len().into_iter().chain(from.headers_len).min();
        let seq = seq.or(from.next)?;
        let ends = u32::from(printed.flags & FIN != 0) + u32::from(is_syn);
        if printed.flags & RST == 0 {
            let end = seq.wrapping_add(printed.len).wrapping_add(ends);
            advance(&mut from.next, Some(end));
        }
        let sack_base = self.bases.map_or(0, |bases| bases[receiver]);
        Some(WireNumbers { seq, ack: ack.unwrap_or(0), window, sack_base })
    }

    fn window(&self, sender: usize, printed: &PrintedSegment, is_syn: bool) -> u16 {
        let shift = match self.directions.map(|direction| direction.shift) {
            shifts @ [Some(_), Some(_)] if printed.is_listed && !is_syn => shifts[sender],
            _ => None,
        };
        let window = printed.window.unbounded_shr(shift.unwrap_or(0));
        u16::try_from(window).unwrap_or(u16::MAX)
    }

    /// Numbers count from those of this segment.
    fn begin(&mut self, sender: usize, seq: Option<u32>, ack: u32) {
        let mut bases = [ack.wrapping_sub(1); 2];
        // Where it is not known, any will do.
        bases[sender] = seq.or(self.directions[sender].next).unwrap_or(0);
        self.bases = Some(bases);
        self.are_relative = None;
        if seq.is_some() {
            self.directions.iter_mut().for_each(|direction| direction.next = None);
        }
    }

    /// The reading that is nearer to what is expected.
    fn counted(
        &mut self,
        sender: usize,
        bases: [u32; 2],
        seq: Option<u32>,
        ack: u32,
    ) -> (Option<u32>, Option<u32>) {
        let receiver = 1 - sender;
        let relative_seq = seq.map(|seq| seq.wrapping_add(bases[sender]));
        let relative_ack = ack.wrapping_add(bases[receiver]);
        let off = |number: Option<u32>, of: usize| match (number, self.directions[of].next) {
            (Some(number), Some(next)) => u64::from(distance(number, next)),
            _ => 0,
        };
        let relative = off(relative_seq, sender) + off(Some(relative_ack), receiver);
        let plain = off(seq, sender) + off(Some(ack), receiver);
        // Numbers that were written by hand may change.
        let is_clear = relative.abs_diff(plain) > CLEARLY_OFF;
        if (self.are_relative.is_none() || is_clear) && relative != plain {
            self.are_relative = Some(relative < plain);
        }
        match self.are_relative {
            Some(true) => (relative_seq, Some(relative_ack)),
            _ => (seq, Some(ack)),
        }
    }
}

impl WireNumbers {
    /// The number that a block of SACK begins or ends with: it is near what is acknowledged.
    pub fn sack(&self, printed: u32) -> u32 {
        let relative = printed.wrapping_add(self.sack_base);
        let is_relative = distance(relative, self.ack) < distance(printed, self.ack);
        if is_relative { relative } else { printed }
    }
}

/// A direction has come as far as `to`, if that is known: it never goes back.
fn advance(next: &mut Option<u32>, to: Option<u32>) {
    let Some(to) = to else { return };
    if next.is_none_or(|next| (to.wrapping_sub(next) as i32) > 0) {
        *next = Some(to);
    }
}

fn distance(one: u32, other: u32) -> u32 {
    one.wrapping_sub(other).min(other.wrapping_sub(one))
}
