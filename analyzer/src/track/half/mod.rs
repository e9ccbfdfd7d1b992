//! What one host sends: its sequence space, what is unacknowledged, and how it behaved.

mod acks;
mod bursts;
mod cold;
mod facts;
mod ids;
mod opening;
mod path;
pub mod pauses;
mod reactions;
mod release;
pub mod repeated;
mod send;
mod short;
mod state;
mod syn;
#[cfg(test)]
mod tests;

pub use path::EndedBy;
pub use release::Release;
pub use short::ShortHolds;
pub use syn::{Connecting, MSS_CUT};

use crate::decode::Header;
use crate::decode::seq;
use crate::track::Mark;
use crate::track::half::cold::{Cold, Frozen};
use crate::track::half::release::AckFacts;
use crate::track::half::state::Flags;
use crate::track::prefetch::prefetch;
use crate::track::thresholds::{MAX_TOLERANCE_NS, OFTEN, SHORTEST_DELAYED_ACK_NS};
use serde::{Deserialize, Serialize};
use std::mem::offset_of;

/// One direction of a connection, named after its sender.
///
/// Laid out by hand: one cache line that every segment of both directions needs, one that the sender's
/// segments need, and a [boxed part](Cold). In the compiler's order of fields, RPC on 10,000 connections
/// takes 8 % more CPU time.
///
/// What mostly equals something else is stored on its own only while it does not: see [`state`]. Without
/// that a direction takes 83 bytes more, so four cache lines: padded to that, a connection took 254
/// bytes more, and 400,000 connections alive 10 % more CPU time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[repr(C, align(64))]
pub struct Half {
    /// Last data sent, retransmissions included.
    last_data: Mark,
    /// The ACK that covered the last small segment.
    small_acked: Mark,
    /// Next sequence number the sender will use (RFC 9293, SND.NXT), as seen here.
    snd_nxt: u32,
    /// Oldest unacknowledged sequence number (SND.UNA).
    snd_una: u32,
    /// End of the last small segment sent (Linux `snd_sml`, Minshall's variant of Nagle).
    snd_sml: u32,
    /// Receive window this host advertised last, in bytes.
    window: u32,
    state: Flags,
    /// Packets in flight, each of an MSS at most, as the congestion window counts them; saturates.
    packets: u16,
    /// The end of the timestamp of the ACK that covered the last small segment; 0 for none.
    small_ack_tsval: u16,
    /// Segments captured; saturates.
    segments: u32,
    window_scale: u8,
    /// Packets sent without a pause of half the round trip; saturates.
    burst: u8,
    /// How often the largest payload was sent; saturates.
    largest_count: u8,
    small_ack_facts: AckFacts,

    /// Stream offset of `snd_nxt`: payload bytes before it.
    offset: u64,
    /// Shortest round trip between the capture point and this host, in ns; `i64::MAX` unknown.
    rtt_ns: i64,
    /// Latest segment of this host.
    last_ns: i64,
    cold: Option<Box<Cold>>,
    /// Sum in µs and count of how far round trips to this host lie over the shortest one, for those
    /// close to it: the jitter of the path. No more are counted once the count is full.
    rtt_over_us: u32,
    /// Length of the last data that was new, in bytes.
    last_len: u32,
    /// Room left in the peer's window after the last data, in bytes.
    room: i32,
    /// Largest payload seen, in bytes.
    largest: u32,
    /// Timestamp value of the last data, if it has one.
    last_tsval: u32,
    /// Small segments sent.
    small_segments: u32,
    rtt_samples: u16,
    /// Announced in the SYN, in bytes; 0 is 'not seen'.
    mss_option: u16,
    /// IP identification of the latest segment; copies that come late aside.
    last_ip_id: u16,
    /// Waits that were kept as possible holds though nothing is known of the path.
    candidates: u8,
    /// How often its IP identification left out numbers; no more are counted once the count is full.
    id_skips: u8,
}

/// A larger jump of the sequence number is a forged or damaged segment rather than a gap in the capture: the
/// largest windows in use have 64 MiB.
const MAX_JUMP: i32 = 1 << 26;

const _: () = assert!(size_of::<Half>() == 2 * 64, "a direction takes two cache lines");
const _: () = assert!(offset_of!(Half, offset) == 64, "the second cache line");

impl Half {
    pub fn new() -> Self {
        Self { rtt_ns: i64::MAX, ..Self::default() }
    }

    /// Cold state, boxed on first use.
    #[inline]
    fn cold(&self) -> &Cold {
        static NONE: Cold = Cold::NONE;
        self.cold.as_deref().unwrap_or(&NONE)
    }

    /// As `cold`, to write to.
    #[inline]
    fn cold_mut(&mut self) -> &mut Cold {
        self.cold.get_or_insert_with(|| Box::new(Cold::NONE))
    }

    /// Colder still.
    fn frozen(&self) -> &Frozen {
        self.cold().frozen()
    }

    /// As `frozen`, to write to.
    fn frozen_mut(&mut self) -> &mut Frozen {
        self.cold_mut().frozen_mut()
    }

    /// Is nothing boxed?
    pub fn is_plain(&self) -> bool {
        self.cold.is_none()
    }

    /// Client half only: inter-frame gaps vary, so the timestamps are real.
    pub fn set_uneven(&mut self) {
        self.state.set(state::UNEVEN);
    }

    /// This host sent RST.
    pub fn reset(&mut self) {
        self.state.set(state::RESET);
    }

    /// Prefetches the cache line that every segment of both directions needs.
    #[inline]
    pub fn fetch(&self) {
        prefetch(&self.last_data);
    }

    /// A place in that line.
    #[inline]
    pub fn first_line(&self) -> &u32 {
        &self.snd_una
    }

    /// Prefetches the cache line that only this sender's segments need.
    #[inline]
    pub fn fetch_sender(&self) {
        prefetch(&self.offset);
    }

    /// Prefetches the boxed part, if there is one.
    #[inline]
    pub fn fetch_cold(&self) {
        // A redundant prefetch is cheaper than a branch.
        prefetch(self.cold.as_deref().map_or(&self.candidates, |cold| &cold.echoes));
    }

    /// A small segment left `now` while a small one was unacknowledged. `received`: receiver segments
    /// captured so far.
    pub fn contradict(&mut self, now: Mark, received: u32) {
        let last = self.last_data;
        let is_late = now.time_ns - last.time_ns >= SHORTEST_DELAYED_ACK_NS;
        let cold = self.cold_mut();
        if cold.received != received || cold.fresh == 0 {
            (cold.received, cold.fresh, cold.before) = (received, 0, cold.contradiction);
            cold.moments += 1;
        }
        cold.fresh += 1;
        cold.contradictions += 1;
        cold.late_contradictions += u32::from(is_late);
        cold.contradiction = (last.frame, now.frame);
        self.state.set_once(state::CONTRADICTED);
    }

    /// The capture lost the receiver's segment number `received`. It may have been the ACK that freed the
    /// data sent since, so those contradictions are withdrawn.
    pub(super) fn excuse(&mut self, received: u32) {
        if !self.state.is(state::CONTRADICTED) || self.cold().received != received {
            return;
        }
        let cold = self.cold_mut();
        cold.contradictions -= cold.fresh;
        cold.moments -= u32::from(cold.fresh > 0);
        cold.fresh = 0;
        cold.contradiction = cold.before;
        let none = cold.contradictions == 0;
        self.state.put(state::CONTRADICTED, !none);
    }

    /// A segment of `len` bytes, as long as any before, left while another one was unacknowledged.
    pub fn pass_as_full(&mut self, len: u32) {
        let frozen = self.frozen_mut();
        frozen.as_full = frozen.as_full.min(len);
    }

    /// A small segment left in `frame` while only full-sized ones were unacknowledged.
    pub fn pass_full_ones(&mut self, frame: u64) {
        self.frozen_mut().tail = (self.last_data.frame, frame);
    }

    /// Forgets the ACK that covered everything: later data is not its doing.
    pub fn forget_all_acked(&mut self) {
        self.state.clear(state::ALL_WITH_SMALL | state::ALL_APART);
    }

    /// Counts a segment.
    #[inline]
    pub fn count(&mut self, segment: &Header, now: Mark) {
        self.last_ns = self.last_ns.max(now.time_ns);
        self.segments = self.segments.saturating_add(1);
        self.state.set_if(segment.options.tsval().is_some(), state::TIMESTAMPS);
    }

    /// It has sent an ACK without anything else.
    #[inline]
    pub fn note_pure_ack(&mut self) {
        self.state.set_once(state::PURE_ACKS);
    }

    /// Starts the sequence space at `seq`, the number of the first payload byte.
    pub fn begin(&mut self, seq: u32) {
        self.settle_timing();
        self.state.set(state::SEQ_KNOWN);
        self.snd_nxt = seq;
        self.snd_una = seq;
        self.snd_sml = seq;
    }

    /// Does this host send payloads of `largest` bytes time and again? Then that is its MSS, and
    /// no message that happens to be the longest.
    pub fn repeats_largest(&self, largest: u32) -> bool {
        self.largest == largest && self.largest_count >= OFTEN
    }

    /// Is `seq` within reach of SND.NXT? A number far ahead (a forged or damaged segment)
    /// is believed only when another one goes on from there.
    #[inline]
    pub fn is_plausible(&mut self, seq: u32) -> bool {
        if seq::distance(self.snd_nxt, seq) <= MAX_JUMP {
            // As in `Flags::set_once`.
            if self.state.is(state::STRAY) {
                self.state.clear(state::STRAY);
            }
            return true;
        }
        self.is_stray_believed(seq)
    }

    #[cold]
    fn is_stray_believed(&mut self, seq: u32) -> bool {
        let goes_on = |stray| (0..=MAX_JUMP).contains(&seq::distance(stray, seq));
        let believed = self.state.is(state::STRAY) && goes_on(self.frozen().stray);
        self.frozen_mut().stray = seq;
        self.state.put(state::STRAY, !believed);
        if believed {
            // What was acknowledged of the missing bytes is not known: begin anew.
            self.snd_una = seq;
            self.snd_sml = seq;
        }
        believed
    }

    /// Bytes sent and not yet acknowledged, as seen here.
    pub fn in_flight(&self) -> u32 {
        seq::distance(self.snd_una, self.snd_nxt).max(0) as u32
    }

    pub fn small_unacked(&self) -> bool {
        seq::lt(self.snd_una, self.snd_sml)
    }

    /// Bytes up to `seq` were never captured.
    pub fn jump_to(&mut self, seq: u32, frame: u64) {
        let from = self.snd_nxt;
        let missing = seq::distance(from, seq).max(0) as u64;
        self.offset += missing;
        self.state.set(state::FROZEN_COUNTS);
        let frozen = self.frozen_mut();
        frozen.jumped += missing;
        frozen.unseen_bytes += missing;
        frozen.unseen_frame = frame;
        frozen.hole = (from, seq);
        self.snd_nxt = seq;
        self.stop_timing();
    }

    /// A round trip between the capture point and this host was measured. Only pure ACKs count for the
    /// jitter: data also takes the time in which the program answers.
    pub fn add_round_trip(&mut self, sample_ns: i64, pure: bool) {
        self.rtt_ns = self.rtt_ns.min(sample_ns);
        let over = sample_ns - self.rtt_ns;
        if pure && over < MAX_TOLERANCE_NS && self.rtt_samples < u16::MAX {
            self.rtt_over_us += (over / 1000) as u32;
            self.rtt_samples += 1;
        }
    }

    /// A pure ACK came late: the round trip to this host is no longer than that.
    #[cold]
    pub fn bound_round_trip(&mut self, sample_ns: i64) {
        if sample_ns < self.frozen().soonest_late_ack_ns {
            self.frozen_mut().soonest_late_ack_ns = sample_ns;
        }
    }

    /// Mean distance of this host's round trips from the shortest one, in ns.
    pub fn jitter_ns(&self) -> i64 {
        i64::from(self.rtt_over_us) * 1000 / i64::from(self.rtt_samples.max(1))
    }
}
