//! Cold state of a direction, boxed: most directions never need it.

use crate::track::half::bursts::Bursts;
use crate::track::half::contradictions::Contradictions;
use crate::track::half::repeated::Repeats;
use crate::track::half::syn::ConnectTimes;
use crate::track::half::timing::Timed;
use crate::track::half::unseen::Unseen;
use crate::track::half::{Release, ShortHolds};
use crate::track::prefetch::prefetch;
use crate::track::{Mark, Reactions};

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
