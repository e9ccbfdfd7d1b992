//! One host's sending: its sequence space, the unacknowledged part of it, and its behaviour.

mod acks;
mod boxes;
mod bursts;
mod contradictions;
mod ids;
mod path;
pub mod repeated;
mod send;
mod sequence;
mod state;
#[cfg(test)]
mod tests;

pub use acks::Release;
pub use path::EndedBy;
pub use send::ShortHolds;
pub use sequence::{ConnectTimes, MSS_CUT};

use crate::decode::Header;
use crate::decode::seq;
use crate::track::Mark;
use crate::track::half::acks::AckFacts;
use crate::track::half::boxes::Rare;
use crate::track::half::ids::IpIds;
use crate::track::half::sequence::Sequence;
use crate::track::half::state::Flags;
use crate::track::thresholds::MAX_JUMP;

/// One direction of a connection, named after its sender.
///
/// Laid out by hand: eight bytes that few segments need, what every segment of both directions
/// needs, then what the sender's segments need, and a [boxed part](Rare). So those of either side
/// touch four of the five cache lines of a connection.
///
/// A value that mostly equals another one is stored on its own only while it does not: see [`state`].
/// Memory is time: a connection that took 254 bytes more cost 400,000 connections alive 10 % more CPU time.
#[derive(Debug, Clone, Default)]
#[repr(C)]
pub struct Half {
    /// Sum in µs and count of how far round trips lie over the shortest one, for those close to it. No more
    /// are counted once the count is full.
    over_us: u32,
    pub rtt_samples: u16,
    /// The MSS its SYN announced, in bytes: 0 for none, [`MSS_CUT`] if it is not known.
    pub mss_option: u16,

    /// Last data sent, retransmissions included.
    pub last_data: Mark,
    /// The ACK that covered the last small segment.
    small_acked: Mark,
    pub sequence: Sequence,
    state: Flags,
    /// Segments captured; saturates.
    pub segments: u32,
    /// The end of the timestamp of the last ACK of new data; 0 for none.
    ack_tsval: u16,
    /// How often messages were cut at `carried` bytes, less how often elsewhere; up to `MOST_CUTS`.
    cuts: u8,
    small_ack_facts: AckFacts,

    /// Stream offset of SND.NXT: payload bytes before it.
    pub offset: u64,
    /// Shortest round trip between the capture point and this host, in ns; `i64::MAX` unknown.
    rtt_ns: i64,
    /// Latest segment of this host.
    pub last_ns: i64,
    rare: Option<Box<Rare>>,
    /// Length of the last data that was new, in bytes.
    pub last_len: u32,
    /// Room left in the peer's window after the last data, in bytes.
    pub room: i32,
    /// Largest payload, in bytes; saturates.
    largest: u16,
    /// Where messages were cut last, in bytes: see [`Half::carried`].
    carried: u16,
    /// Timestamp value of the last data, if it has one.
    last_tsval: u32,
    /// Small segments of the peer that it acknowledged late, with a pure ACK, and with data; both saturate.
    pub late_acks: u8,
    acks_with_data: u8,
    ids: IpIds,
    /// Pure ACKs whose timestamps it was seen to echo; saturates. Each stall adds one.
    echoes: u8,
    /// Round trips that were seen; saturates.
    round_trips: u8,
    /// A message of it left in two small pieces, and the first was acknowledged at once.
    pub is_split: bool,
}

const _: () =
    assert!(size_of::<Half>() == 120, "two directions and the rest take five cache lines");

impl Half {
    pub fn new() -> Self {
        Self { rtt_ns: i64::MAX, ..Self::default() }
    }

    /// This host sent RST.
    pub fn reset(&mut self) {
        self.state.set(state::RESET);
    }

    /// Counts a segment.
    #[inline]
    pub fn count(&mut self, segment: &Header, now: Mark) {
        self.last_ns = self.last_ns.max(now.time_ns);
        self.segments = self.segments.saturating_add(1);
        self.state.set_if(segment.options.tsval().is_some(), state::TIMESTAMPS);
    }

    /// A segment of it is stamped earlier than its own data before, or than the other side's.
    #[cold]
    pub fn take_earlier(&mut self, than_own: bool) {
        let odd = self.odd_mut();
        odd.earlier = odd.earlier.saturating_add((than_own || !odd.is_set_back).into());
        odd.is_set_back |= than_own;
    }

    /// From now on it is counted how soon its program reacts: data looked as if it had let something go.
    pub fn count_reactions(&mut self) {
        self.state.set_once(state::REACTIONS);
    }

    /// It has sent an ACK without anything else.
    #[inline]
    pub fn note_pure_ack(&mut self) {
        self.state.set_once(state::PURE_ACKS);
        self.state.set_if(self.sequence.in_flight() == 0, state::ACKED_IDLY);
    }

    /// Starts the sequence space at `seq`, the number of the first payload byte.
    pub fn begin(&mut self, seq: u32) {
        self.settle_timing();
        self.state.set(state::SEQ_KNOWN);
        self.sequence.begin(seq);
    }

    /// Does the segment bring the byte at SND.NXT?
    pub fn continues_with(&self, segment: &Header) -> bool {
        let missing = self.sequence.nxt.wrapping_sub(segment.seq);
        self.state.is(state::SEQ_KNOWN) && missing < segment.len
    }

    /// Is `seq` within reach of SND.NXT? A number far ahead (a forged or damaged segment)
    /// is believed only when another one goes on from there.
    #[inline]
    pub fn is_plausible(&mut self, seq: u32) -> bool {
        if self.sequence.reaches(seq) {
            // The bit is read first for the reason that `Flags::set_once` names.
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
        let believed = self.state.is(state::STRAY) && goes_on(self.odd().stray);
        self.odd_mut().stray = seq;
        self.state.put(state::STRAY, !believed);
        if believed {
            // Nobody knows which of the missing bytes were acknowledged: begin anew.
            (self.sequence.una, self.sequence.sml) = (seq, seq);
        }
        believed
    }
}
