//! Sequence numbers of a connection. tcpdump prints those of the first segment with an ACK as they are,
//! and again those of a SYN with ACK; later ones count from there (unless `-S`). What has no ACK is
//! printed as it is. Of a pure ACK only the acknowledged number is printed (unless `-vv`).

use super::packet::{Ends, Segment, keyed};
use crate::capture::flags::{FIN, RST, SYN};
use std::collections::HashMap;

/// The numbers of a segment as they were sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
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
pub struct Numbers {
    connections: HashMap<Ends, Directions>,
}

/// The two directions of a connection.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Directions {
    /// From which the numbers of each direction count, if they do.
    bases: Option<[u32; 2]>,
    /// Do they? Unknown until both readings differ.
    are_relative: Option<bool>,
    /// The sequence number that each direction sends next.
    next: [Option<u32>; 2],
    /// Shifts of the windows in a packet list, by the SYN of each direction.
    shifts: [Option<u32>; 2],
}

impl Numbers {
    /// The numbers of the next segment of the text; `None` where nothing tells its sequence number.
    pub fn sent(&mut self, ends: Ends, printed: &Segment) -> Option<Sent> {
        let (key, sender) = keyed(ends);
        self.connections.entry(key).or_default().sent(sender, printed)
    }
}

impl Directions {
    fn sent(&mut self, sender: usize, printed: &Segment) -> Option<Sent> {
        let is_syn = printed.flags & SYN != 0;
        if is_syn && printed.ack.is_none() {
            self.next = [None; 2];
        }
        if is_syn {
            self.shifts[sender] = printed.options.window_shift.map(u32::from);
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
        let receiver = 1 - sender;
        if let Some(ack) = ack {
            self.advance(receiver, ack);
        }
        let seq = seq.or(self.next[sender])?;
        let ends = u32::from(printed.flags & FIN != 0) + u32::from(is_syn);
        if printed.flags & RST == 0 {
            self.advance(sender, seq.wrapping_add(printed.len).wrapping_add(ends));
        }
        let sack_base = self.bases.map_or(0, |bases| bases[receiver]);
        let window = self.window(sender, printed, is_syn);
        Some(Sent { seq, ack: ack.unwrap_or(0), window, sack_base })
    }

    fn window(&self, sender: usize, printed: &Segment, is_syn: bool) -> u16 {
        let shift = match self.shifts {
            [Some(_), Some(_)] if printed.is_listed && !is_syn => self.shifts[sender],
            _ => None,
        };
        let window = printed.window.unbounded_shr(shift.unwrap_or(0));
        u16::try_from(window).unwrap_or(u16::MAX)
    }

    /// Numbers count from those of this segment.
    fn begin(&mut self, sender: usize, seq: Option<u32>, ack: u32) {
        let mut bases = [ack.wrapping_sub(1); 2];
        // Where nothing tells it, any will do.
        bases[sender] = seq.or(self.next[sender]).unwrap_or(0);
        self.bases = Some(bases);
        self.are_relative = None;
        if seq.is_some() {
            self.next = [None; 2];
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
        let off = |number: Option<u32>, of: usize| match (number, self.next[of]) {
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

    /// A direction has come as far as `end`.
    fn advance(&mut self, of: usize, end: u32) {
        let next = self.next[of].get_or_insert(end);
        if (end.wrapping_sub(*next) as i32) > 0 {
            *next = end;
        }
    }
}

impl Sent {
    /// The number that a block of SACK begins or ends with: it is near what is acknowledged.
    pub fn sack(&self, printed: u32) -> u32 {
        let relative = printed.wrapping_add(self.sack_base);
        let is_relative = distance(relative, self.ack) < distance(printed, self.ack);
        if is_relative { relative } else { printed }
    }
}

fn distance(one: u32, other: u32) -> u32 {
    one.wrapping_sub(other).min(other.wrapping_sub(one))
}
