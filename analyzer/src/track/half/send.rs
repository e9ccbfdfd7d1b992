//! New data and FIN: they change the direction of their sender. What they show of the path: where a
//! sender cuts its messages, the path carries no more at once, whatever the SYN announced. Holds
//! too short to be kept as waits are only counted, so that nobody calls a path free of them.
//!
//! A kernel pushes the end of what the program wrote (RFC 9293, section 3.9.1.2; Linux `tcp_mark_push`,
//! BSD `tcp_output`, Windows). A segment that is not pushed, with more right behind it, was cut in the
//! middle: at the MSS that the path leaves (RFC 1191), less the options that it carries.

use crate::decode::{Header, PSH, URG, seq};
use crate::track::Mark;
use crate::track::band::Band;
use crate::track::half::acks::AckFacts;
use crate::track::half::{Half, state};
use crate::track::thresholds::{BURST_ONE_OF, CUTS, INITIAL_WINDOW_SEGMENTS, LEAST_MSS, MOST_CUTS};
use crate::track::wait::Wait;

/// Small segments that left shortly after the ACK of the small one before them: within the tolerance of
/// the round trip to the sender, as held ones do, and near it, as a program's writes do as well.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShortHolds {
    pub in_band: u32,
    pub near: u32,
    /// Waits of those in the band that lie in exchanges.
    pub in_exchanges_ns: i64,
}

impl ShortHolds {
    pub const NONE: Self = Self { in_band: 0, near: 0, in_exchanges_ns: 0 };
}

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
        if segment.ip_id == self.ids.last && segment.ip_id != 0 {
            self.state.set(state::SAME_IDS);
        }
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

    /// Its largest payload, in bytes.
    pub fn largest(&self) -> u32 {
        self.largest.into()
    }

    /// The last data that was new.
    #[inline]
    pub fn last_new(&self) -> Mark {
        if self.state.is(state::NEW_APART) { self.odd().last_new } else { self.last_data }
    }

    /// The last small segment, and its length.
    pub fn small_sent(&self) -> (Mark, u32) {
        if self.is_last_small() {
            (self.last_new(), self.last_len)
        } else {
            (self.odd().small_sent, self.odd().small_len)
        }
    }

    /// The timestamp of its last data.
    pub fn last_tsval(&self) -> Option<u32> {
        self.state.is(state::TSVAL).then_some(self.last_tsval)
    }

    /// Urgent data is what comes up to the end of the last segment with that mark.
    #[cold]
    fn note_urgent(&mut self, segment: &Header) {
        if segment.has(URG) {
            self.odd_mut().urgent_end = self.sequence.nxt;
        }
        let unacked = seq::lt(self.sequence.una, self.odd().urgent_end);
        self.state.put(state::URGENT, unacked);
    }

    /// The peer's window is so large, after the last data.
    #[inline]
    pub fn set_room(&mut self, peer_window: u32) {
        // Windows take 30 bits (RFC 7323, section 2.3), what is in flight 31.
        self.room = peer_window as i32 - self.sequence.in_flight() as i32;
    }

    /// Takes a segment with FIN, which takes the sequence number behind the data. The other end was `heard_ns`.
    pub fn take_fin(&mut self, segment: &Header, now: Mark, heard_ns: i64) {
        let seq = segment.seq.wrapping_add(segment.len);
        if seq == self.sequence.nxt {
            self.settle_timing();
            self.sequence.nxt = seq.wrapping_add(1);
            self.state.set(state::FIN_SENT);
            self.last_tsval = segment.options.tsval().unwrap_or(self.last_tsval);
        } else if segment.len == 0 && self.state.is(state::FIN_SENT) {
            // It comes again.
            let is_copy = self.is_copy(segment, now);
            let odd = self.odd_mut();
            *if is_copy { &mut odd.repeats.duplicated } else { &mut odd.repeats.fins } += 1;
            if !is_copy {
                odd.probes.add(now, heard_ns);
                self.note_try(now);
            }
        }
    }

    pub fn note_may_be_held(&mut self) {
        self.state.set(state::MAY_BE_HELD);
    }

    /// Counts a wait too short to be kept.
    pub fn count_short(&mut self, wait: &Wait, in_exchange: bool, clock_ns: i64) {
        let band = Band::new(self.rtt_or_zero_ns(), self.jitter_ns(), clock_ns);
        if band.has(wait.release_ns()) {
            let short = &mut self.odd_mut().short_holds;
            short.in_band = short.in_band.saturating_add(1);
            let in_exchange_ns = if in_exchange { wait.wait_ns() } else { 0 };
            short.in_exchanges_ns = short.in_exchanges_ns.saturating_add(in_exchange_ns);
        } else if band.reaches(wait.release_ns()) {
            let near = &mut self.odd_mut().short_holds.near;
            *near = near.saturating_add(1);
        }
    }

    /// The payload that the path carries at once, in bytes, where messages were cut there again and
    /// again. Merged by offloading, several are one.
    pub fn carried(&self) -> Option<u32> {
        (self.cuts >= CUTS).then_some(self.carried.into())
    }

    /// More new data comes, by now with an effective MSS of `mss` bytes: was the last data cut?
    #[inline]
    pub(super) fn note_cut(&mut self, mss: u32) {
        // A window without room cuts, too. Less than none: its scale is not known.
        let by_window = (0..mss as i32).contains(&self.room);
        let unacked = self.sequence.acked_part().is_some();
        if self.is_last_cut() && unacked && !by_window {
            self.count_cut();
        }
    }

    /// Is the last data so long, and not pushed, that it may have been cut?
    #[inline]
    pub fn is_last_cut(&self) -> bool {
        self.last_len >= LEAST_MSS && !self.state.is(state::PUSHED)
    }

    fn count_cut(&mut self) {
        let len = self.last_len.min(u16::MAX.into()) as u16;
        if self.cuts == 0 {
            (self.carried, self.cuts) = (len, 1);
        } else if len == self.carried || len.is_multiple_of(self.carried) {
            self.cuts = (self.cuts + 1).min(MOST_CUTS);
        } else if self.carried.is_multiple_of(len) {
            self.carried = len;
        } else {
            self.cuts -= 1;
        }
    }
}
