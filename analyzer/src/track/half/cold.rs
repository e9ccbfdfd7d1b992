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

/// State of a direction that sends more while something small is unacknowledged.
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

/// Counts, and what is kept apart where it is not what it mostly is: see [`super::state`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frozen {
    /// A full-sized segment and a small one that left while only full-sized ones were
    /// unacknowledged; frames, 0 for none.
    pub tail: (u32, u32),
    pub all_acked: Release,
    pub advanced: Mark,
    /// The last data that was new.
    pub last_new: Mark,
    /// The last small segment and its length.
    pub small_sent: Mark,
    pub small_len: u32,
    /// Sequence number that was too far ahead to be believed at once, if there is one.
    pub stray: u32,
    pub unseen: Unseen,
    /// Segments that are stamped earlier than one before them.
    pub earlier: u32,
    /// Was its own clock set back? Then the other side's last data may lie ahead for good.
    pub is_set_back: bool,
    /// ACKs of it that came just behind what they may have released.
    pub acks_behind: u32,
    /// Contradictions that were taken back for them.
    pub taken_back: u32,
    /// End of the last segment that was marked urgent.
    pub urgent_end: u32,
    /// Last frame in which this host advertised a window of zero.
    pub zero_window_frame: u32,
    pub repeats: Repeats,
    /// Where the bytes began that were sent again last, and in which frame; 0 for none.
    pub repeated: (u32, u32),
    /// The shortest time from an ACK to data that followed it, in ns, where the handshake tells no round
    /// trip; `i64::MAX` for none.
    pub shortest_release_ns: i64,
    /// The soonest of its late pure ACKs, which may have been delayed, where the handshake tells no round
    /// trip, in ns; `i64::MAX` for none.
    pub soonest_late_ack_ns: i64,
    /// A round trip much shorter than several others, seen once; `i64::MAX` for none.
    pub early_ns: i64,
    /// Waits that were kept as possible holds though nothing is known of the path.
    pub candidates: u8,
    pub short: ShortHolds,
    /// Of its program, once something of it looked as if data had let it go.
    pub reactions: Reactions,
    /// The opening of the connection, if this is its server.
    pub connecting: ConnectTimes,
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

impl Frozen {
    const NONE: Self = Self {
        tail: (0, 0),
        all_acked: Release::NONE,
        advanced: Mark::NONE,
        last_new: Mark::NONE,
        small_sent: Mark::NONE,
        small_len: 0,
        stray: 0,
        unseen: Unseen::NONE,
        earlier: 0,
        is_set_back: false,
        acks_behind: 0,
        taken_back: 0,
        urgent_end: 0,
        zero_window_frame: 0,
        repeats: Repeats::NONE,
        repeated: (0, 0),
        shortest_release_ns: i64::MAX,
        soonest_late_ack_ns: i64::MAX,
        early_ns: i64::MAX,
        candidates: 0,
        short: ShortHolds::NONE,
        reactions: Reactions::NONE,
        connecting: ConnectTimes::NONE,
    };
}
