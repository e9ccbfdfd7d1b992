//! A wait: who kept the connection waiting, between which frames, and the facts around it.
//!
//! The tracker writes waits while it streams and judges nothing; `judge` decides at the end, when
//! the whole connection is known.

use crate::track::longest::Longest;
use crate::track::{ByBlock, Mark, Side};
use std::mem;

/// Facts about a wait, as bits of [`Wait::facts`].
pub mod fact {
    /// The frame before the wait is the sender's own data (else the peer's).
    pub const OWN_DATA_BEFORE: u32 = 1 << 0;
    /// The ACK that covers the unacked segment carries no payload.
    pub const PURE_ACK: u32 = 1 << 1;
    /// A small segment was unacked: its length is no whole number of effective MSS. It is the last
    /// one before the wait, or one before it that the same ACK covers first.
    pub const UNACKED_SMALL: u32 = 1 << 2;
    /// The segment after the wait is shorter than the effective MSS.
    pub const SMALL: u32 = 1 << 3;
    /// The segment after the wait carries FIN, which Nagle's algorithm lets go at once.
    pub const FIN: u32 = 1 << 4;
    /// The segment after the wait repeats bytes sent before.
    pub const RETRANSMITTED: u32 = 1 << 5;
    /// Something was retransmitted between the unacked segment and the end of the wait.
    pub const RECOVERY: u32 = 1 << 6;
    /// The receiver announced a window of zero during the wait.
    pub const ZERO_WINDOW: u32 = 1 << 7;
    /// The receiver's window had no room for the segment after the wait.
    pub const WINDOW_FULL: u32 = 1 << 8;
    /// The segment after the wait is marked urgent.
    pub const URGENT: u32 = 1 << 9;
    /// A delayed ACK with no data after it.
    pub const ACK_ONLY: u32 = 1 << 10;
    /// Bytes are missing from the capture around the wait.
    pub const UNSEEN: u32 = 1 << 11;
    /// The ACK also carries FIN.
    pub const ACK_FIN: u32 = 1 << 12;
    /// More was in flight than an initial window of ten segments (RFC 6928).
    pub const LARGE_FLIGHT: u32 = 1 << 13;
    /// The segment after the wait left while the segment before it was still unacknowledged.
    pub const UNACKED_AT_SEND: u32 = 1 << 14;
    /// The ACK covers the last small segment but not everything outstanding.
    pub const PARTIAL_ACK: u32 = 1 << 15;
    /// The ACK advanced `snd_una` but left data unacknowledged: only a congestion window or the
    /// receiver's window can have waited for it.
    pub const ADVANCING_ACK: u32 = 1 << 17;
    /// The bytes missing before the segment after the wait were sent again later.
    pub const LOST_BEFORE: u32 = 1 << 18;
    /// The unacked segment was sent again before it was acknowledged, alone in flight: if the
    /// receiver had it all the time, the sender's timer was shorter than that of the delayed ACK.
    pub const RESENT: u32 = 1 << 19;
    /// The whole wait lies within an exchange: the other end waited for what came after it.
    pub const IN_EXCHANGE: u32 = 1 << 16;
    /// It is listed for its length, where others like it are only counted: it says nothing of them.
    pub const LONGEST: u32 = 1 << 20;
    /// It ended long after the ACK that came during it: the program paused of its own.
    pub const OWN_PAUSE: u32 = 1 << 21;

    /// Something but the sender's program may have made it wait.
    pub const HINDERED: u32 = RECOVERY | ZERO_WINDOW | WINDOW_FULL | UNSEEN;
}

/// `fact` if `condition` holds.
pub fn when(condition: bool, fact: u32) -> u32 {
    if condition { fact } else { 0 }
}

/// One wait. Times are ns since the epoch, lengths bytes, frames count from 1.
#[derive(Debug, Clone, Copy)]
pub struct Wait {
    pub connection: u32,
    /// Who ended the wait: the sender of frame `to`.
    pub by: Side,
    pub facts: u32,
    /// The last data before the wait; the unacked segment **A** of a stall.
    pub from: Mark,
    /// The segment that ended it; the held segment **B** of a stall.
    pub to: Mark,
    /// The ACK **K** between them that freed the sender; frame 0 where there is none.
    pub ack: Mark,
    /// Stream offset of the first byte of `to`.
    pub rel_seq: u64,
    pub len: u32,
    pub unacked_len: u32,
    /// When the segment was sent whose ACK freed the sender: `from`, or a small one before it.
    pub unacked_ns: i64,
    /// Small segments this sender had sent, up to here, while a small one was unacknowledged.
    pub contradictions: u32,
}

impl Wait {
    pub fn is(&self, facts: u32) -> bool {
        self.facts & facts == facts
    }

    pub fn has_any(&self, facts: u32) -> bool {
        self.facts & facts != 0
    }

    pub fn wait_ns(&self) -> i64 {
        self.to.time_ns - self.from.time_ns
    }

    /// Does it lie within `other`, a wait of the same sender?
    pub fn is_within(&self, other: &Self) -> bool {
        self.by == other.by
            && self.from.frame >= other.from.frame
            && self.to.frame <= other.to.frame
    }

    /// From the segment that had to be acknowledged to its ACK, at the capture point.
    pub fn ack_ns(&self) -> i64 {
        self.ack.time_ns - self.unacked_ns
    }

    /// From the ACK to the next segment, at the capture point.
    pub fn release_ns(&self) -> i64 {
        self.to.time_ns - self.ack.time_ns
    }

    /// Did the client do nothing, with an answer in its hands, and nothing keep it from asking more?
    fn is_pause(&self) -> bool {
        let others = fact::OWN_DATA_BEFORE | fact::ACK_ONLY | fact::HINDERED;
        self.by == Side::Client && !self.has_any(others)
    }

    pub fn has_ack(&self) -> bool {
        self.ack.frame != 0
    }

    /// Did a pure ACK come during this wait of the sender's own?
    pub fn has_pure_ack(&self) -> bool {
        self.is(fact::OWN_DATA_BEFORE | fact::PURE_ACK) && self.has_ack()
    }

    /// May that ACK have ended it, whatever followed?
    pub fn is_freed(&self) -> bool {
        self.has_pure_ack() && !self.is(fact::OWN_PAUSE)
    }

    /// Who sent the ACK.
    pub fn acknowledged_by(&self) -> Side {
        if self.is(fact::ACK_ONLY) { self.by } else { self.by.other() }
    }

    /// How long the receiver, which is `rtt_ns` away, sat on the ACK; 0 where there is none.
    pub fn ack_delay_ns(&self, rtt_ns: Option<i64>) -> i64 {
        match self.has_ack() {
            true => (self.ack_ns() - rtt_ns.unwrap_or(0)).max(0),
            false => 0,
        }
    }
}

/// Waits that may be stalls are all kept, as far as that is seen while they come. Of the others a tracker
/// keeps up to this many of each kind and the [`Longest`] of those that follow, and counts the rest: so
/// memory does not follow the packets. Kinds are told by side, so that what a slow server did is not lost
/// among what its clients did, and by what was before the wait and after it.
const MAX_OTHER_WAITS: usize = 1 << 16;
/// Pauses of clients, which most waits are, have room of their own: for fewer, as they are no problem.
const MAX_PAUSES: usize = 1 << 14;

/// See [`MAX_OTHER_WAITS`].
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// The other end waited for an answer.
    Answer,
    AfterOwnData,
    AckOnly,
}

impl Kind {
    const COUNT: usize = 3;

    fn of(wait: &Wait) -> Self {
        match (wait.is(fact::OWN_DATA_BEFORE), wait.is(fact::ACK_ONLY)) {
            (true, _) => Self::AfterOwnData,
            (false, true) => Self::AckOnly,
            (false, false) => Self::Answer,
        }
    }
}

/// The waits that a tracker has seen; those of a block of connections in the order in which they ended,
/// at the [`end`](Self::end) but for the longest.
#[derive(Debug, Default)]
pub struct Waits {
    /// They are judged where they lie, when all is known.
    pub kept: ByBlock<Wait>,
    pauses: usize,
    /// By who ended them, and by their kind.
    others: [[usize; Kind::COUNT]; 2],
    /// By who ended them.
    longest: [Longest; 2],
    pub unlisted: u64,
    pub unlisted_ns: i64,
}

impl Waits {
    /// What was missing before `frame`, which ended a wait, has been sent again: it was lost.
    pub fn mark_lost(&mut self, connection: u32, by: Side, frame: u64) {
        /// Waits of neighbouring connections that may have ended since.
        const RECENT: usize = 64;
        let waits = self.kept.of(connection).iter_mut().rev().take(RECENT);
        let longest = self.longest[by as usize].iter_mut();
        let is_own = |wait: &&mut Wait| (wait.connection, wait.by) == (connection, by);
        let mut own = waits.chain(longest).filter(is_own);
        if let Some(wait) = own.find(|wait| wait.to.frame == frame) {
            wait.facts |= fact::LOST_BEFORE;
        }
    }

    /// Keeps a wait, whatever room there is.
    pub fn keep(&mut self, wait: Wait) {
        self.kept.push(wait.connection, wait);
    }

    /// Is there room for a wait before an answer of `by` that nothing hindered?
    pub fn has_room_for_reply(&self, by: Side, wait_ns: i64) -> bool {
        match by {
            Side::Client => self.pauses < MAX_PAUSES,
            Side::Server => {
                self.others[Side::Server as usize][Kind::Answer as usize] < MAX_OTHER_WAITS
                    || self.longest[Side::Server as usize].has_room_for(wait_ns)
            }
        }
    }

    /// Keeps or counts any other wait.
    pub fn push_other(&mut self, wait: Wait) {
        let by = wait.by as usize;
        let (kept, most, longest) = if wait.is_pause() {
            (&mut self.pauses, MAX_PAUSES, None)
        } else {
            let kept = &mut self.others[by][Kind::of(&wait) as usize];
            (kept, MAX_OTHER_WAITS, Some(&mut self.longest[by]))
        };
        if *kept < most {
            *kept += 1;
            self.keep(wait);
        } else if let Some(left) = longest.map_or(Some(wait), |longest| longest.push(wait)) {
            self.count_other(left.wait_ns());
        }
    }

    /// No wait follows: keeps the longest of those for which there was no room.
    pub fn end(&mut self) {
        for mut wait in mem::take(&mut self.longest).into_iter().flat_map(Longest::into_iter) {
            wait.facts |= fact::LONGEST;
            self.keep(wait);
        }
    }

    /// Counts a wait for which there is no room.
    pub fn count_other(&mut self, wait_ns: i64) {
        self.unlisted += 1;
        self.unlisted_ns = self.unlisted_ns.saturating_add(wait_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::longest;

    impl Wait {
        /// A wait of which nothing is known.
        pub fn unknown(connection: u32, by: Side) -> Self {
            Self {
                connection,
                by,
                facts: 0,
                from: Mark::NONE,
                to: Mark::NONE,
                ack: Mark::NONE,
                rel_seq: 0,
                len: 0,
                unacked_len: 0,
                unacked_ns: 0,
                contradictions: 0,
            }
        }
    }

    #[test]
    fn what_one_side_did_takes_no_room_from_the_other() {
        let slow_server = Wait::unknown(0, Side::Server);
        let of_client = |facts| Wait { facts, ..Wait::unknown(0, Side::Client) };
        let most = MAX_OTHER_WAITS + longest::MOST;
        let kinds = [
            (of_client(0), MAX_PAUSES),
            (of_client(fact::OWN_DATA_BEFORE), most),
            (of_client(fact::ACK_ONLY), most),
            (of_client(fact::WINDOW_FULL), most),
        ];
        for (many, most_of_many) in kinds {
            let mut waits = Waits::default();
            for frame in 0..=most as u64 {
                let to = Mark { time_ns: 0, frame };
                waits.push_other(Wait { to, ..many });
                waits.push_other(Wait { to, ..slow_server });
            }
            waits.end();
            let kept = waits.kept.of(0);
            let of_server = kept.iter().filter(|row| row.by == Side::Server).count();
            assert_eq!((kept.len() - of_server, of_server), (most_of_many, most));
            assert_eq!(waits.unlisted as usize, 2 * (most + 1) - kept.len());
        }
    }

    #[test]
    fn a_long_wait_for_what_was_lost_is_marked_wherever_it_is() {
        let mut waits = Waits::default();
        for frame in 1..=MAX_OTHER_WAITS as u64 + 1 {
            let to = Mark { time_ns: 0, frame };
            waits.push_other(Wait { to, ..Wait::unknown(7, Side::Server) });
        }
        let last = MAX_OTHER_WAITS as u64 + 1;
        for frame in [last, last - 1, 1] {
            waits.mark_lost(7, Side::Server, frame);
        }
        waits.mark_lost(7, Side::Client, 2);
        waits.end();
        let marked = waits.kept.of(7).iter().filter(|row| row.is(fact::LOST_BEFORE));
        // The first was too long ago.
        assert!(marked.map(|row| row.to.frame).eq([last - 1, last]));
    }

    /// A client 26 ms away acknowledges after its timer of 40 ms; its ACK is all that comes.
    #[test]
    fn the_way_to_who_acknowledges_is_no_delay() {
        let at = |time_ns: i64, frame| Mark { time_ns, frame };
        let late = Wait {
            facts: fact::ACK_ONLY | fact::PURE_ACK,
            from: at(0, 1),
            to: at(66_000_000, 2),
            ack: at(66_000_000, 2),
            unacked_len: 100,
            ..Wait::unknown(0, Side::Client)
        };
        assert_eq!(late.acknowledged_by(), Side::Client);
        assert_eq!(late.ack_delay_ns(Some(26_000_000)), 40_000_000);
        let held = Wait { facts: fact::OWN_DATA_BEFORE | fact::PURE_ACK, ..late };
        assert_eq!(held.acknowledged_by(), Side::Server);
        assert_eq!(Wait { ack: Mark::NONE, ..held }.ack_delay_ns(None), 0);
    }
}
