//! Yes-or-no facts of a direction: bits in the cache line that every segment needs.

/// Next sequence number and window mean something.
pub const SEQ_KNOWN: u32 = 1 << 0;
/// Its SYN was captured.
pub const SYN: u32 = 1 << 1;
/// It sends timestamps.
pub const TIMESTAMPS: u32 = 1 << 2;
/// The scale of its window is known.
pub const SCALE_KNOWN: u32 = 1 << 3;
/// A sequence number was too far ahead to be believed at once.
pub const STRAY: u32 = 1 << 4;
/// The last new data was small; else the last small segment is stored on its own.
pub const LAST_SMALL: u32 = 1 << 5;
/// It has sent bytes again since the last new data.
pub const RECOVERING: u32 = 1 << 6;
/// More than an initial window was in flight when the last data had left.
pub const LARGE_FLIGHT: u32 = 1 << 7;
/// More than one packet was in flight then.
pub const SEVERAL_IN_FLIGHT: u32 = 1 << 8;
/// The last data carried a timestamp.
pub const TSVAL: u32 = 1 << 9;
/// The counts of missing bytes and closed windows in [`Frozen`](crate::track::half::cold::Frozen) are not all
/// 0: to look there each time costs RPC a cache miss per segment.
pub const FROZEN_COUNTS: u32 = 1 << 10;

/// It has sent something small while something small was unacknowledged: to look at the count each time costs a
/// cache miss per segment.
pub const CONTRADICTED: u32 = 1 << 11;

/// It has sent an ACK without anything else since all its data was acknowledged: it had nothing to send then.
pub const ACKED_IDLY: u32 = 1 << 14;

/// The last new data was pushed: its sender had no more to send then (RFC 9293, section 3.9.1.2).
pub const PUSHED: u32 = 1 << 12;

/// The last new data is not the last data: it is stored on its own.
pub const NEW_APART: u32 = 1 << 13;
/// The newest segment, which ends at SND.NXT, is being timed.
pub const TIMED_LAST: u32 = 1 << 15;
/// An earlier segment is being timed; it is stored on its own.
pub const TIMED_APART: u32 = 1 << 16;

/// The ACK of the last small segment covered everything.
pub const ALL_WITH_SMALL: u32 = 1 << 17;
/// Another ACK covered everything; it is stored on its own.
pub const ALL_APART: u32 = 1 << 18;
/// The ACK of the last small segment was the first new one since the last data.
pub const ADVANCED_WITH_SMALL: u32 = 1 << 19;
/// Another ACK was the first new one since the last data; it is stored on its own.
pub const ADVANCED_APART: u32 = 1 << 20;

/// Its FIN was captured, just before `snd_nxt`.
pub const FIN_SENT: u32 = 1 << 21;

/// It has sent RST.
pub const RESET: u32 = 1 << 22;

/// Its IP identifications count the packets of this connection, and some are missing.
pub const COUNTS_IDS: u32 = 1 << 23;

/// Data in flight besides the last is stored in bursts.
pub const BURSTS: u32 = 1 << 24;

/// When the last data left, not all that the peer had sent was acknowledged.
pub const CROSSED: u32 = 1 << 25;

/// Urgent data was unacknowledged when the last data had left.
pub const URGENT: u32 = 1 << 26;

/// It has sent an ACK without anything else.
pub const PURE_ACKS: u32 = 1 << 27;

/// How soon its program reacts to data is counted.
pub const REACTIONS: u32 = 1 << 28;

/// Some of its segments were inferred: which data was unacknowledged is not sure.
pub const INFERRED: u32 = 1 << 29;

/// An ACK came so shortly before a small segment that it may have let it go.
pub const MAY_BE_HELD: u32 = 1 << 31;

/// Cleared by new data.
pub const OF_LAST_DATA: u32 = ALL_WITH_SMALL
    | ALL_APART
    | ADVANCED_WITH_SMALL
    | ADVANCED_APART
    | RECOVERING
    | LARGE_FLIGHT
    | SEVERAL_IN_FLIGHT
    | CROSSED
    | ACKED_IDLY;

/// A set of the bits above.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags(u32);

impl Flags {
    /// Is one of `bits` set?
    #[inline]
    pub fn is(self, bits: u32) -> bool {
        self.0 & bits != 0
    }

    #[inline]
    pub fn set(&mut self, bits: u32) {
        self.0 |= bits;
    }

    /// Sets a bit that is mostly set already: storing a single byte delays the next look at all of them.
    #[inline]
    pub fn set_once(&mut self, bit: u32) {
        if !self.is(bit) {
            self.set(bit);
        }
    }

    #[inline]
    pub fn clear(&mut self, bits: u32) {
        self.0 &= !bits;
    }

    #[inline]
    pub fn set_if(&mut self, condition: bool, bit: u32) {
        self.0 |= if condition { bit } else { 0 };
    }

    /// Sets or clears.
    #[inline]
    pub fn put(&mut self, bit: u32, value: bool) {
        self.clear(bit);
        self.set_if(value, bit);
    }
}
