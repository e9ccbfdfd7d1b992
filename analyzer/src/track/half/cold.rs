//! Cold state of a direction, boxed, as most directions never need it; and the facts of a direction about itself, wherever
//! they are stored.

use crate::decode::seq;
use crate::track::Mark;
use crate::track::half::acks::Timed;
use crate::track::half::bursts::Bursts;
use crate::track::half::contradictions::Contradictions;
use crate::track::half::repeated::{Repeats, Unseen};
use crate::track::half::sequence::ConnectTimes;
use crate::track::half::{Half, Release, ShortHolds, state};
use crate::track::prefetch::prefetch;
use crate::track::reactions::Reactions;
use crate::track::thresholds::ECHOES;

/// State of a direction that sends more while something is unacknowledged.
///
/// Apart from [`Frozen`], which few of these directions need: in one box they took 140 bytes more per
/// connection, and a tenth more CPU time with 400,000 connections alive.
#[derive(Debug, Clone, PartialEq, Eq)]
#[repr(C)]
pub struct Cold {
    /// The sequence number that the last data acknowledged, if that was not all.
    pub last_ack: u32,
    /// The segment whose ACK gives the next round-trip sample.
    pub timed: Timed,
    pub bursts: Bursts,
    pub contradictions: Contradictions,
    frozen: Option<Box<Frozen>>,
}

const _: () = assert!(size_of::<Cold>() <= 88, "allocators round 8 bytes more up to 112");

/// Declares each part of a state with what it is before anything has happened.
macro_rules! beginning_with {
    ($(#[$meta:meta])* $state:ident { $($(#[$doc:meta])* $part:ident: $type:ty = $none:expr,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $state {
            $($(#[$doc])* pub $part: $type,)+
        }

        impl $state {
            const NONE: Self = Self { $($part: $none),+ };
        }
    };
}

beginning_with! {
    /// Counts, and what is kept apart where it is not what it mostly is: see [`super::state`].
    Frozen {
        /// A full-sized segment and a small one that left while only full-sized ones were
        /// unacknowledged; frames, 0 for none.
        tail: (u32, u32) = (0, 0),
        all_acked: Release = Release::NONE,
        advanced: Mark = Mark::NONE,
        /// The last data that was new.
        last_new: Mark = Mark::NONE,
        /// The last small segment and its length.
        small_sent: Mark = Mark::NONE,
        small_len: u32 = 0,
        /// Sequence number that was too far ahead to be believed at once, if there is one.
        stray: u32 = 0,
        unseen: Unseen = Unseen::NONE,
        /// Segments that are stamped earlier than one before them.
        earlier: u32 = 0,
        /// Was its own clock set back? Then the other side's last data may lie ahead for good.
        is_set_back: bool = false,
        /// ACKs of it that came just behind what they may have released.
        acks_behind: u32 = 0,
        /// Contradictions that were taken back for them.
        taken_back: u32 = 0,
        /// End of the last segment that was marked urgent.
        urgent_end: u32 = 0,
        /// Last frame in which this host advertised a window of zero.
        zero_window_frame: u32 = 0,
        /// Where it began to do so last, and what that segment acknowledged.
        closed: (Mark, u32) = (Mark::NONE, 0),
        repeats: Repeats = Repeats::NONE,
        /// Where the bytes began that were sent again last, and in which frame; 0 for none.
        repeated: (u32, u32) = (0, 0),
        /// The shortest time from an ACK to data that followed it, in ns, where the handshake tells no round
        /// trip; `i64::MAX` for none.
        shortest_release_ns: i64 = i64::MAX,
        /// The soonest of its late pure ACKs, which may have been delayed, where the handshake tells no round
        /// trip, in ns; `i64::MAX` for none.
        soonest_late_ack_ns: i64 = i64::MAX,
        /// A round trip much shorter than several others, seen once; `i64::MAX` for none.
        early_ns: i64 = i64::MAX,
        /// Waits that were kept as possible holds though nothing is known of the path.
        candidates: u8 = 0,
        short: ShortHolds = ShortHolds::NONE,
        /// Reactions of its program, once a segment looked as if data had released it.
        reactions: Reactions = Reactions::NONE,
        /// The opening of the connection, if this is its server.
        connecting: ConnectTimes = ConnectTimes::NONE,
    }
}

impl Cold {
    /// Nothing of it has happened.
    pub const NONE: Self = Self {
        last_ack: 0,
        contradictions: Contradictions::NONE,
        timed: Timed { end: 0, time_ns: 0 },
        bursts: Bursts::NONE,
        frozen: None,
    };

    /// Prefetches both its cache lines.
    #[inline]
    pub fn fetch(&self) {
        prefetch(&self.last_ack);
        prefetch(&self.frozen);
    }

    pub fn frozen(&self) -> &Frozen {
        static NONE: Frozen = Frozen::NONE;
        self.frozen.as_deref().unwrap_or(&NONE)
    }

    /// Like `frozen`, to write to.
    pub fn frozen_mut(&mut self) -> &mut Frozen {
        self.frozen.get_or_insert_with(|| Box::new(Frozen::NONE))
    }
}

/// Declares what a bit of the state answers.
macro_rules! bits {
    ($($(#[$doc:meta])* $name:ident: $bit:ident,)+) => {
        impl Half {
            $(
                $(#[$doc])*
                #[inline]
                pub fn $name(&self) -> bool {
                    self.state.is(state::$bit)
                }
            )+
        }
    };
}

bits! {
    /// Is its next sequence number known?
    is_seq_known: SEQ_KNOWN,
    /// Has it sent RST?
    has_reset: RESET,
    /// Has it sent FIN?
    has_finished: FIN_SENT,
    /// Was its SYN captured?
    has_syn: SYN,
    has_timestamps: TIMESTAMPS,
    is_window_scale_known: SCALE_KNOWN,
    /// Was the last data small?
    is_last_small: LAST_SMALL,
    /// Has it sent bytes again since the last new data?
    is_recovering: RECOVERING,
    /// Has the capture shown an ACK of it without anything else?
    has_pure_acks: PURE_ACKS,
    /// Was urgent data unacknowledged when the last data had left? It switches Nagle's algorithm off
    /// (Linux `tcp_nagle_test`, `tcp_urg_mode`).
    is_urgent: URGENT,
    /// Was more than an initial window in flight when the last data had left?
    is_flight_large: LARGE_FLIGHT,
    /// Was more than one packet in flight when the last data had left?
    is_flight_several: SEVERAL_IN_FLIGHT,
    /// Are those counted?
    counts_reactions: REACTIONS,
    /// Has it sent an ACK alone since all its data was acknowledged?
    has_acked_idly: ACKED_IDLY,
    /// Did its last data leave before all of the peer's had come?
    has_crossed: CROSSED,
}

impl Half {
    /// Stream offset of the byte with this sequence number. FIN takes a number behind the last byte.
    pub fn offset_of(&self, seq: u32) -> u64 {
        let fin = i64::from(self.state.is(state::FIN_SENT));
        let ahead = i64::from(seq::distance(self.sequence.nxt, seq));
        self.offset.saturating_add_signed(ahead + fin)
    }

    /// Stream offset of the first byte that no ACK covered, if one was sent.
    pub fn never_acked(&self) -> Option<u64> {
        let is_open = self.offset > 0 && self.sequence.in_flight() > 0;
        is_open.then(|| self.offset_of(self.sequence.una))
    }

    /// Sequence number of the first byte of its direction.
    pub fn first_seq(&self) -> u32 {
        let fin = u32::from(self.state.is(state::FIN_SENT));
        self.sequence.nxt.wrapping_sub(self.offset as u32).wrapping_sub(fin)
    }

    /// Its largest payload, in bytes.
    pub fn largest(&self) -> u32 {
        self.largest.into()
    }

    /// Has it ever sent something new while something was unacknowledged?
    pub fn has_pipelined(&self) -> bool {
        self.cold().bursts.is_used()
    }

    /// Last frame in which this host advertised a window of zero; 0 for none.
    pub fn zero_window_frame(&self) -> u32 {
        if self.state.is(state::FROZEN_COUNTS) { self.frozen().zero_window_frame } else { 0 }
    }

    /// Frames of a full-sized segment and a small one that left while only full-sized ones were
    /// unacknowledged; 0 for none.
    pub fn passed_full_ones(&self) -> (u32, u32) {
        self.frozen().tail
    }

    /// A segment of it is stamped earlier than its own data before, or than the other side's.
    #[cold]
    pub fn take_earlier(&mut self, than_own: bool) {
        let frozen = self.frozen_mut();
        frozen.earlier = frozen.earlier.saturating_add((than_own || !frozen.is_set_back).into());
        frozen.is_set_back |= than_own;
    }

    /// How many are.
    pub fn earlier(&self) -> u32 {
        self.frozen().earlier
    }

    pub fn repeats(&self) -> Repeats {
        self.frozen().repeats
    }

    /// How soon its program reacts to data while nothing of its own is outstanding.
    pub fn reactions(&self) -> &Reactions {
        &self.frozen().reactions
    }

    /// From now on they are: data looked as if it had let something go.
    pub fn count_reactions(&mut self) {
        self.state.set_once(state::REACTIONS);
    }

    /// It left later than a kernel sends, where data may have let it go.
    pub fn note_late_reaction(&mut self) {
        if self.counts_reactions() {
            let late = &mut self.frozen_mut().reactions.late;
            *late = late.saturating_add(1);
        }
    }

    pub fn note_reaction(&mut self, after_ns: i64) {
        self.frozen_mut().reactions.add(after_ns);
    }

    /// The last data that was new.
    #[inline]
    pub fn last_new(&self) -> Mark {
        if self.state.is(state::NEW_APART) { self.frozen().last_new } else { self.last_data }
    }

    /// The last small segment, and its length.
    pub fn small_sent(&self) -> (Mark, u32) {
        if self.is_last_small() {
            (self.last_new(), self.last_len)
        } else {
            (self.frozen().small_sent, self.frozen().small_len)
        }
    }

    /// The ACK that covered the last small segment.
    pub fn small_acked(&self) -> Release {
        Release { mark: self.small_acked, facts: self.small_ack_facts }
    }

    /// The end of the timestamp of the last ACK of new data.
    pub fn ack_tsval(&self) -> Option<u16> {
        (self.ack_tsval != 0).then_some(self.ack_tsval)
    }

    /// The timestamp of its last data.
    pub fn last_tsval(&self) -> Option<u32> {
        self.state.is(state::TSVAL).then_some(self.last_tsval)
    }

    /// Does it end so?
    pub fn is_last_tsval(&self, end: u16) -> bool {
        self.last_tsval().is_some_and(|tsval| tsval as u16 == end)
    }

    /// It echoed the timestamp of a pure ACK.
    pub fn note_echo(&mut self) {
        self.echoes = self.echoes.saturating_add(1);
    }

    /// Does it echo the timestamps of pure ACKs, as RFC 7323 stacks do and strict RFC 1323 stacks do not?
    pub fn echoes_acks(&self) -> bool {
        self.echoes >= ECHOES
    }

    /// The ACK that covered everything.
    pub fn all_acked(&self) -> Release {
        match (self.state.is(state::ALL_WITH_SMALL), self.state.is(state::ALL_APART)) {
            (true, _) => self.small_acked(),
            (_, true) => self.frozen().all_acked,
            _ => Release::default(),
        }
    }

    /// The first ACK since the last data that advanced `snd_una`; frame 0 where none did.
    pub fn advanced(&self) -> Mark {
        match (self.state.is(state::ADVANCED_WITH_SMALL), self.state.is(state::ADVANCED_APART)) {
            (true, _) => self.small_acked,
            (_, true) => self.frozen().advanced,
            _ => Mark::default(),
        }
    }
}
