//! New data and FIN: they change the direction of their sender.

use crate::decode::seq;
use crate::decode::{Header, PSH, URG};
use crate::track::Mark;
use crate::track::half::Half;
use crate::track::half::release::AckFacts;
use crate::track::half::state;
use crate::track::thresholds::{BURST_ONE_OF, INITIAL_WINDOW_SEGMENTS};

impl Half {
    /// Remembers the last data sent, also to tell a copy of the frame from a retransmission.
    pub(super) fn note_sent(&mut self, segment: &Header, now: Mark) {
        self.last_data = now;
        self.last_tsval = segment.options.tsval().unwrap_or_default();
        self.state.clear(state::NEW_APART | state::TSVAL);
        self.state.set_if(segment.options.tsval().is_some(), state::TSVAL);
    }

    /// Moves past new data of `len` bytes that starts at `snd_nxt`.
    #[expect(clippy::inline_always, reason = "calls take a twentieth of a scan")]
    #[inline(always)]
    pub fn send(&mut self, segment: &Header, len: u32, now: Mark, mss: u32) {
        // One division does for both.
        let (full, rest) = if len < mss { (0, len) } else { (len / mss, len % mss) };
        let small = rest > 0;
        // Far from the sender, an ACK seen here has not reached it yet: a burst is in flight still.
        let paused =
            !self.is_far() || now.time_ns - self.last_new().time_ns >= self.rtt_ns / BURST_ONE_OF;
        let flight = self.sequence.count_packets(full + u32::from(small), paused);
        self.note_cut(mss);
        self.note_burst(now);
        self.settle_timing();
        if !small {
            self.settle_small();
        }
        self.note_sent(segment, now);
        self.sequence.nxt = self.sequence.nxt.wrapping_add(len);
        self.offset += u64::from(len);
        self.last_len = len;
        if segment.has(URG) || self.state.is(state::URGENT) {
            self.note_urgent(segment);
        }
        if segment.options.is_inferred() {
            self.state.set(state::INFERRED);
        }
        self.largest = self.largest.max(len.min(u16::MAX.into()) as u16);
        self.state.put(state::PUSHED, segment.has(PSH));
        self.state.clear(state::OF_LAST_DATA);
        self.state.set_if(flight >= INITIAL_WINDOW_SEGMENTS, state::LARGE_FLIGHT);
        self.state.set_if(flight > 1, state::SEVERAL_IN_FLIGHT);
        if small {
            self.sequence.sml = self.sequence.nxt;
            self.state.set(state::LAST_SMALL);
            self.small_acked = Mark::NONE;
            self.small_ack_facts = AckFacts::default();
        }
        self.time_last(now.time_ns);
    }

    /// Were some of its segments inferred from what a text printed around them?
    pub fn is_inferred(&self) -> bool {
        self.state.is(state::INFERRED)
    }

    /// Urgent data is what comes up to the end of the last segment with that mark.
    #[cold]
    fn note_urgent(&mut self, segment: &Header) {
        if segment.has(URG) {
            self.frozen_mut().urgent_end = self.sequence.nxt;
        }
        let unacked = seq::lt(self.sequence.una, self.frozen().urgent_end);
        self.state.put(state::URGENT, unacked);
    }

    /// The peer's window is so large, after the last data.
    #[inline]
    pub fn set_room(&mut self, peer_window: u32) {
        // Windows take 30 bits (RFC 7323, section 2.3), what is in flight 31.
        self.room = peer_window as i32 - self.sequence.in_flight() as i32;
    }

    /// Takes a segment with FIN, which takes the sequence number behind the data.
    pub fn take_fin(&mut self, segment: &Header, now: Mark) {
        let seq = segment.seq.wrapping_add(segment.len);
        if seq == self.sequence.nxt {
            self.settle_timing();
            self.sequence.nxt = seq.wrapping_add(1);
            self.state.set(state::FIN_SENT);
            self.last_tsval = segment.options.tsval().unwrap_or(self.last_tsval);
        } else if segment.len == 0 && self.state.is(state::FIN_SENT) {
            self.take_fin_again(segment, now);
        }
    }
}
