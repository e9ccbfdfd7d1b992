//! Yes-or-no facts of a direction: bits in the cache line that every segment needs.
//!
//! A value that mostly equals another one is stored on its own, in a [box](super::boxes), only
//! while it does not; bits say which of both holds.

use crate::track::half::Half;

/// Declares the bits, each with what it means if it is set, and with the question that it answers outside.
macro_rules! bits {
    ($($(#[$doc:meta])* $bit:ident $(: $question:ident)?,)+) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "numbers the bits")]
        enum StateBit { $($bit,)+ }

        $($(#[$doc])* pub const $bit: u32 = 1 << StateBit::$bit as u32;)+

        impl Half {
            $($(
                #[inline]
                pub fn $question(&self) -> bool {
                    self.state.is($bit)
                }
            )?)+
        }
    };
}

bits! {
    /// Its next sequence number and its window mean something.
    SEQ_KNOWN: is_seq_known,
    /// Its SYN was captured.
    SYN: has_syn,
    /// Its FIN was captured, just before SND.NXT.
    FIN_SENT: has_finished,
    /// It has sent RST.
    RESET: has_reset,
    /// It sends timestamps.
    TIMESTAMPS: has_timestamps,
    /// The scale of its window is known.
    SCALE_KNOWN: is_window_scale_known,
    /// A sequence number was too far ahead to be believed at once.
    STRAY,
    /// Some of its segments were inferred from what a text printed around them: which data was
    /// unacknowledged is not sure.
    INFERRED: is_inferred,
    /// The capture has shown an ACK of it without anything else.
    PURE_ACKS: has_pure_acks,
    /// It has sent a bare ACK since all its data was acknowledged: it had nothing to send then.
    ACKED_IDLY: has_acked_idly,
    /// Its IP identifications count the packets of this connection, and some are missing.
    COUNTS_IDS: counts_ids,
    /// Two segments of new data had one IP identification: it tells no copies apart (RFC 6864).
    SAME_IDS,
    /// How soon its program reacts to data is counted.
    REACTIONS: counts_reactions,
    /// Not all counts of missing bytes and closed windows in [`Odd`](super::boxes::Odd) are 0: to
    /// look there each time costs RPC a cache miss per segment.
    ODD_COUNTS,
    /// It has sent something small while something small was unacknowledged: to look at the count
    /// each time costs a cache miss per segment.
    CONTRADICTED: has_contradicted,
    /// An ACK, bare or with data, came so shortly before a small segment that it may have released it.
    MAY_BE_HELD: may_be_held,

    /// The last new data was small; else the last small segment is stored on its own.
    LAST_SMALL: is_last_small,
    /// The last new data was pushed: its sender had no more to send then (RFC 9293, section 3.9.1.2).
    PUSHED,
    /// The last new data is not the last data, and is stored on its own.
    NEW_APART,
    /// The last data carried a timestamp.
    TSVAL,
    /// It has sent bytes again since the last new data.
    RECOVERING: is_recovering,
    /// An initial window or more was in flight when the last data had left.
    LARGE_FLIGHT: is_flight_large,
    /// More than one packet was in flight when the last data had left.
    SEVERAL_IN_FLIGHT: is_flight_several,
    /// Data in flight besides the last is stored in bursts.
    BURSTS,
    /// The last data left before all that the peer had sent was acknowledged.
    CROSSED: has_crossed,
    /// Urgent data was unacknowledged when the last data had left. It switches Nagle's algorithm off (Linux
    /// `tcp_nagle_test`, `tcp_urg_mode`).
    URGENT: is_urgent,

    /// The newest segment, which ends at SND.NXT, is being timed.
    TIMED_LAST,
    /// An earlier segment is being timed, and is stored on its own.
    TIMED_APART,
    /// The ACK of the last small segment covered everything.
    ALL_WITH_SMALL,
    /// Another ACK covered everything, and is stored on its own.
    ALL_APART,
    /// The ACK of the last small segment was the first new one since the last data.
    ADVANCED_WITH_SMALL,
    /// Another ACK was the first new one since the last data, and is stored on its own.
    ADVANCED_APART,
}

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
#[derive(Debug, Clone, Copy, Default)]
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
