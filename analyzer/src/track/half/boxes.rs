//! State that few directions need, in two boxes that are made on first use: [`Rare`] where a
//! direction sends more before all is acknowledged, [`Odd`] where something is lost, repeated, out
//! of order or closed, or a value differs from the one that it mostly equals.
//!
//! In one box they took 140 bytes more a connection, and at 400,000 a tenth more CPU time.

use crate::track::Mark;
use crate::track::half::acks::Timed;
use crate::track::half::bursts::Bursts;
use crate::track::half::contradictions::Contradictions;
use crate::track::half::repeated::{Probes, Repeats, Tries, Unseen};
use crate::track::half::sequence::ConnectTimes;
use crate::track::half::{Half, Release, ShortHolds};
use crate::track::prefetch::prefetch;
use crate::track::reactions::Reactions;

/// Declares each part of a box with its value before anything has happened.
macro_rules! beginning_with {
    ($(#[$meta:meta])* $state:ident { $($(#[$doc:meta])* $part:ident: $type:ty = $none:expr,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone)]
        pub struct $state {
            $($(#[$doc])* pub $part: $type,)+
        }

        impl $state {
            const NONE: Self = Self { $($part: $none),+ };
        }
    };
}

beginning_with! {
    /// State of a direction that sends more while something is unacknowledged.
    #[repr(C)]
    Rare {
        /// The sequence number that the last data acknowledged, if that was not all.
        last_ack: u32 = 0,
        /// The segment whose ACK gives the next round-trip sample.
        timed: Timed = Timed { end: 0, time_ns: 0 },
        bursts: Bursts = Bursts::NONE,
        contradictions: Contradictions = Contradictions::NONE,
        odd: Option<Box<Odd>> = None,
    }
}

const _: () = assert!(size_of::<Rare>() <= 88, "allocators round 8 bytes more up to 112");

beginning_with! {
    /// Counters, and values that differ from the common case: see [`super::state`].
    Odd {
        /// A full-sized segment and a small one that left while only full-sized ones were
        /// unacknowledged; frames, 0 for none.
        passed_full: (u32, u32) = (0, 0),
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
        /// Its own clock was set back: then the other side's last data may lie ahead for good.
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
        /// Where it opened again last.
        opened: Mark = Mark::NONE,
        probes: Probes = Probes::NONE,
        tries: Tries = Tries::NONE,
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
        short_holds: ShortHolds = ShortHolds::NONE,
        /// Reactions of its program, once a segment looked as if data had released it.
        reactions: Reactions = Reactions::NONE,
        /// The opening of the connection, if this is its server.
        connecting: ConnectTimes = ConnectTimes::NONE,
    }
}

impl Half {
    /// The rare state, as far as there is some.
    #[inline]
    pub(super) fn rare(&self) -> &Rare {
        static NONE: Rare = Rare::NONE;
        self.rare.as_deref().unwrap_or(&NONE)
    }

    /// Like `rare`, to write to.
    #[inline]
    pub(super) fn rare_mut(&mut self) -> &mut Rare {
        self.rare.get_or_insert_with(|| Box::new(Rare::NONE))
    }

    /// The odd state, as far as there is some.
    pub fn odd(&self) -> &Odd {
        static NONE: Odd = Odd::NONE;
        self.rare().odd.as_deref().unwrap_or(&NONE)
    }

    /// Like `odd`, to write to.
    pub fn odd_mut(&mut self) -> &mut Odd {
        self.rare_mut().odd.get_or_insert_with(|| Box::new(Odd::NONE))
    }

    /// Has anything odd happened?
    pub fn has_odd(&self) -> bool {
        self.rare().odd.is_some()
    }

    /// Is nothing boxed?
    pub fn is_plain(&self) -> bool {
        self.rare.is_none()
    }

    /// Prefetches both cache lines of the rare state, if there is some.
    #[inline]
    pub fn fetch_rare(&self) {
        let rare = self.rare();
        prefetch(&rare.last_ack);
        prefetch(&rare.odd);
    }
}
