//! The sequence variables of a sender (RFC 9293, section 3.3.1), as far as the capture point sees
//! them; the options of a SYN, and the window, whose scale is among them.

use crate::decode::{Header, SYN, seq};
use crate::track::Mark;
use crate::track::half::{Half, state};
use crate::track::thresholds::MAX_JUMP;

#[derive(Debug, Clone, Default)]
pub struct Sequence {
    /// Next sequence number the sender will use: SND.NXT.
    pub nxt: u32,
    /// Oldest unacknowledged sequence number: SND.UNA.
    pub una: u32,
    /// End of the last small segment sent (Linux `snd_sml`, Minshall's variant of Nagle).
    pub sml: u32,
    /// Receive window the sender advertised last, in bytes.
    pub window: u32,
    pub(super) window_scale: u8,
    /// Packets sent without a pause of half the round trip; saturates.
    burst: u8,
    /// Packets in flight, each of an MSS at most, as the congestion window counts them; saturates.
    packets: u16,
}

impl Sequence {
    /// `seq` comes next, and nothing before it is known.
    pub(super) fn begin(&mut self, seq: u32) {
        (self.nxt, self.una, self.sml) = (seq, seq, seq);
    }

    /// Is `seq` no farther ahead than any window reaches?
    #[inline]
    pub(super) fn reaches(&self, seq: u32) -> bool {
        seq::distance(self.nxt, seq) <= MAX_JUMP
    }

    /// Bytes sent and not yet acknowledged.
    pub fn in_flight(&self) -> u32 {
        seq::distance(self.una, self.nxt).max(0) as u32
    }

    pub fn is_small_unacked(&self) -> bool {
        seq::lt(self.una, self.sml)
    }

    /// Up to where it was acknowledged, unless that is all.
    #[inline]
    pub fn acked_part(&self) -> Option<u32> {
        (self.una != self.nxt).then_some(self.una)
    }

    /// Counts packets that leave, with or without a pause before them. Returns how many are in flight: a
    /// burst is, whatever was acknowledged meanwhile.
    pub(super) fn count_packets(&mut self, packets: u32, paused: bool) -> u32 {
        if paused {
            self.burst = 0;
        }
        self.burst = self.burst.saturating_add(packets.min(u8::MAX.into()) as u8);
        self.packets = self.packets.saturating_add(packets.min(u16::MAX.into()) as u16);
        u32::from(self.packets.max(self.burst.into()))
    }

    /// Moves SND.UNA; packets in flight shrink in proportion to the bytes.
    pub(super) fn acknowledge(&mut self, ack: u32) {
        if ack == self.nxt {
            (self.una, self.packets) = (ack, 0);
            return;
        }
        let before = u64::from(self.in_flight().max(1));
        self.una = ack;
        let rest = u64::from(self.in_flight()) * u64::from(self.packets);
        // No more than before: the rest in flight is a part of it.
        self.packets = rest.div_ceil(before) as u16;
    }
}

/// The capture does not show which MSS a SYN announced.
pub const MSS_CUT: u16 = u16::MAX;

/// A connection that took long to come about. Times are ns since the epoch; 0 is 'not seen'.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectTimes {
    /// The last SYN, or answer to one, before the client acknowledged an answer.
    pub connected_ns: i64,
    /// The end of the first reply.
    pub replied_ns: i64,
}

impl ConnectTimes {
    pub const NONE: Self = Self { connected_ns: 0, replied_ns: 0 };
}

impl Half {
    /// Stream offset of the byte with this sequence number. FIN takes a number behind the last byte.
    pub fn offset_of(&self, seq: u32) -> u64 {
        let ahead = i64::from(seq::distance(self.sequence.nxt, seq));
        self.offset.saturating_add_signed(ahead + i64::from(self.has_finished()))
    }

    /// Sequence number of the first byte of its direction.
    pub fn first_seq(&self) -> u32 {
        let sent = (self.offset as u32).wrapping_add(self.has_finished().into());
        self.sequence.nxt.wrapping_sub(sent)
    }

    /// How far its stream was captured, from `first_seq` on.
    pub fn stream_len(&self) -> u64 {
        self.offset
    }

    /// The window a segment of this host advertises, in bytes; `None` where the handshake, and so
    /// the scale, was not captured. The window of a SYN is never scaled (RFC 7323, section 2.2).
    pub fn window_of(&self, segment: &Header) -> Option<u32> {
        let window = u32::from(segment.window);
        if segment.has(SYN) {
            return Some(window);
        }
        self.is_window_scale_known().then(|| window << self.sequence.window_scale)
    }

    /// The window this segment advertises, in bytes. The window of a SYN is never scaled
    /// (RFC 7323, section 2.2).
    #[inline]
    pub fn advertise(&mut self, segment: &Header, now: Mark, scaled: bool) {
        let shift = if scaled { self.sequence.window_scale } else { 0 };
        if segment.window == 0 {
            self.close_window(segment, now);
        } else if self.sequence.window == 0 {
            self.open_window(now);
        }
        self.sequence.window = u32::from(segment.window) << shift;
    }

    #[cold]
    fn close_window(&mut self, segment: &Header, now: Mark) {
        let was_open = self.sequence.window > 0;
        let odd = self.odd_mut();
        if was_open || odd.zero_window_frame == 0 {
            odd.closed = (now, segment.ack);
        }
        odd.zero_window_frame = now.frame;
        self.state.set(state::ODD_COUNTS);
    }

    /// Its window is open again, or known at last.
    #[cold]
    fn open_window(&mut self, now: Mark) {
        if self.zero_window_frame() > 0 {
            self.odd_mut().opened = now;
        }
    }

    /// When its window was last opened again, if it is open.
    pub fn opened(&self) -> Option<Mark> {
        let is_again = self.sequence.window > 0 && self.zero_window_frame() > 0;
        is_again.then(|| self.odd().opened)
    }

    /// Last frame in which this host advertised a window of zero; 0 for none.
    pub fn zero_window_frame(&self) -> u32 {
        if self.state.is(state::ODD_COUNTS) { self.odd().zero_window_frame } else { 0 }
    }

    /// Since when its window has been closed, and what it had acknowledged by then; `None` if it is open.
    pub fn closed(&self) -> Option<(Mark, u32)> {
        let is_closed = self.sequence.window == 0 && self.zero_window_frame() > 0;
        is_closed.then(|| self.odd().closed)
    }

    pub fn set_window_scale(&mut self, scale: Option<u8>) {
        self.sequence.window_scale = scale.unwrap_or(0);
        self.state.set(state::SCALE_KNOWN);
    }

    /// Takes the SYN, after which `first_payload` follows.
    pub fn take_syn(&mut self, segment: &Header, first_payload: u32, now: Mark) {
        self.settle_small();
        self.begin(first_payload);
        self.state.set(state::SYN);
        // Options that the capture cut off stay unknown.
        let options = segment.options;
        self.mss_option =
            if options.is_cut() && options.mss() == 0 { MSS_CUT } else { options.mss() };
        self.set_window_scale(options.window_scale());
        self.state.put(state::SCALE_KNOWN, options.window_scale().is_some() || !options.is_cut());
        self.note_sent(segment, now);
        self.last_len = segment.len;
        self.time_last(now.time_ns);
        // The SYN itself is unacknowledged.
        self.sequence.una = segment.seq;
        self.sequence.sml = segment.seq;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 bytes sent in four packets, across the wrap of the numbers.
    #[test]
    fn packets_in_flight_shrink_with_the_bytes_and_a_burst_counts_until_a_pause() {
        let mut sequence = Sequence::default();
        sequence.begin(u32::MAX - 49);
        sequence.nxt = sequence.nxt.wrapping_add(100);
        assert_eq!(sequence.count_packets(4, true), 4);
        sequence.acknowledge(10);
        assert_eq!((sequence.in_flight(), sequence.packets), (40, 2));
        assert_eq!(sequence.acked_part(), Some(10));
        sequence.acknowledge(50);
        assert_eq!((sequence.in_flight(), sequence.packets), (0, 0));
        assert_eq!(sequence.acked_part(), None);
        let mut more = |paused| sequence.count_packets(1, paused);
        assert_eq!([more(false), more(true)], [5, 2]);
    }
}
