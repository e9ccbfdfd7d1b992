//! A wait: who kept the connection waiting, between which frames, and the facts around it.
//!
//! The tracker writes waits while it streams and judges nothing; `judge` decides at the end, when
//! the whole connection is known.

use crate::capture::times::DAY_NS;
use crate::track::ending::Ending;
use crate::track::thresholds::EVIDENCE_NS;
use crate::track::{Mark, Side};

/// Facts about a wait, as bits of [`Wait::facts`].
pub mod fact {
    /// The ACK that covers the unacked segment carries no payload.
    pub const PURE_ACK: u32 = 1 << 0;
    /// It also carries FIN.
    pub const ACK_FIN: u32 = 1 << 1;
    /// The segment that ended the wait echoes the timestamp of the ACK, or an earlier one, so that it
    /// had left before the ACK came.
    pub const ECHOES_ACK: u32 = 1 << 2;
    pub const ECHOES_EARLIER: u32 = 1 << 3;
    /// The ACK that let the sender go on carries data of the peer.
    pub const DATA_ACK: u32 = 1 << 4;
    /// Data of its sender was unacknowledged when the segment after the wait left.
    pub const IN_FLIGHT: u32 = 1 << 5;
    /// The segment after the wait is long and not pushed: its sender had more to send.
    pub const CUT: u32 = 1 << 6;
    /// The ACK of the wait was captured just behind the segment that it may have released.
    pub const ACK_BEHIND: u32 = 1 << 7;

    /// The frame before the wait is the sender's own data (else the peer's).
    pub const OWN_DATA_BEFORE: u32 = 1 << 8;
    /// A small segment was unacked: its length is not a multiple of the effective MSS. It is the last
    /// one before the wait, or one before it that the same ACK covers first.
    pub const UNACKED_SMALL: u32 = 1 << 9;
    /// The segment after the wait is shorter than the effective MSS.
    pub const SMALL: u32 = 1 << 10;
    /// The segment after the wait carries FIN, which Nagle's algorithm lets go at once.
    pub const FIN: u32 = 1 << 11;
    /// The segment after the wait repeats bytes sent before.
    pub const RETRANSMITTED: u32 = 1 << 12;
    /// Something was retransmitted between the unacked segment and the end of the wait.
    pub const RECOVERY: u32 = 1 << 13;
    /// The receiver announced a window of zero during the wait.
    pub const ZERO_WINDOW: u32 = 1 << 14;
    /// The receiver's window had no room for the segment after the wait.
    pub const WINDOW_FULL: u32 = 1 << 15;
    /// The segment after the wait is marked urgent, or urgent data was unacked: nothing waits for that.
    pub const URGENT: u32 = 1 << 16;
    /// A delayed ACK with no data after it.
    pub const ACK_ONLY: u32 = 1 << 17;
    /// Bytes are missing from the capture around the wait.
    pub const UNSEEN: u32 = 1 << 18;
    /// More was in flight than an initial window of ten segments (RFC 6928).
    pub const LARGE_FLIGHT: u32 = 1 << 19;
    /// The segment after the wait left while the segment before it was still unacknowledged.
    pub const UNACKED_AT_SEND: u32 = 1 << 20;
    /// The ACK covers the last small segment but not everything outstanding.
    pub const PARTIAL_ACK: u32 = 1 << 21;
    /// The ACK advanced `snd_una` but left data unacknowledged: only a congestion window or the
    /// receiver's window can have waited for it.
    pub const ADVANCING_ACK: u32 = 1 << 22;
    /// The bytes missing before the segment after the wait were sent again later; or that segment brings
    /// such bytes, which the capture had not seen before.
    pub const LOST_BEFORE: u32 = 1 << 23;
    /// The unacked segment was sent again before it was acknowledged, alone in flight: if the
    /// receiver had it all the time, the sender's timer was shorter than that of the delayed ACK.
    pub const RESENT: u32 = 1 << 24;
    /// The whole wait lies within an exchange: the other end waited for what came after it.
    pub const IN_EXCHANGE: u32 = 1 << 25;
    /// Kept as one of the longest after the list was full: not a sample of the rest.
    pub const LONGEST: u32 = 1 << 26;
    /// It ended long after the ACK that came during it: the program paused of its own.
    pub const OWN_PAUSE: u32 = 1 << 27;
    /// The segment after the wait acknowledges data of the peer that reached its sender during the wait,
    /// before the ACK.
    pub const DATA_CAME: u32 = 1 << 28;
    /// Its program passed on what had just arrived on another connection. Set before judging.
    pub const PASSED_ON: u32 = 1 << 29;

    /// The program saw something of the peer during the wait, and may have answered it.
    pub const ANSWERABLE: u32 = ACK_FIN | DATA_CAME;

    /// The bytes that were sent again had arrived: the receiver said so, or both copies were seen to arrive.
    pub const NEEDLESS: u32 = 1 << 30;

    /// Handshake wait: a SYN retransmission, or a late SYN-ACK.
    pub const CONNECTING: u32 = 1 << 31;

    /// Something but the sender's program may have made it wait.
    pub const HINDERED: u32 = RECOVERY | ZERO_WINDOW | WINDOW_FULL | UNSEEN;
}

/// `fact` if `condition` holds.
pub fn when(condition: bool, fact: u32) -> u32 {
    if condition { fact } else { 0 }
}

/// One wait. Times are ns since the epoch, lengths bytes, frames count from 1.
#[derive(Debug, Clone, Copy)]
#[repr(Rust, packed(4))]
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
    /// When the segment was sent whose ACK freed the sender: `from`, or a small one before it. Of a wait in
    /// vain, when the other end was last heard of.
    pub unacked_ns: i64,
    /// When the peer data this sender may be answering reached it, shifted to the capture point;
    /// [`Self::NO_TURN`] if the wait began with `from` itself; or the [`Ending`] of a wait in vain.
    pub turn_ns: i64,
    /// Small segments this sender had sent, up to here, while a small one was unacknowledged.
    pub contradictions: u32,
    /// IP identifications that this sender left out before `to`, if it counts them: packets that the
    /// capture did not see.
    pub skipped_ids: u8,
    /// Bytes of data in the ACK; saturates.
    pub ack_len: u16,
    /// Timestamp value (RFC 7323) of the segment that ended it; 0 for none.
    pub tsval: u32,
    /// Timestamp of the last data before it, where that is `from`.
    pub from_tsval: u32,
}

const _: () = assert!(size_of::<Wait>() == 92, "a capture may hold a million");

impl Wait {
    pub const NO_TURN: i64 = Ending::NO_TURN;

    /// A wait without an ACK, of which no more is known.
    pub fn between(connection: u32, by: Side, from: Mark, to: Mark) -> Self {
        Self {
            connection,
            by,
            facts: 0,
            from,
            to,
            ack: Mark::NONE,
            rel_seq: 0,
            len: 0,
            unacked_len: 0,
            unacked_ns: from.time_ns,
            turn_ns: Self::NO_TURN,
            contradictions: 0,
            skipped_ids: 0,
            ack_len: 0,
            tsval: 0,
            from_tsval: 0,
        }
    }

    pub fn is(&self, facts: u32) -> bool {
        self.facts & facts == facts
    }

    pub fn has_any(&self, facts: u32) -> bool {
        self.facts & facts != 0
    }

    /// Upper bound: since the sender last sent data or received data it may be answering.
    pub fn wait_ns(&self) -> i64 {
        self.to.time_ns - self.from.time_ns.max(self.turn_ns)
    }

    /// Is it one at all? It has a first frame, and takes no longer than a day: within a longer one the clock was set, or
    /// files were put together.
    pub fn is_possible(&self) -> bool {
        self.from.is_set() && self.span_ns() <= DAY_NS
    }

    /// The ending, if what was waited for never came.
    pub fn ending(&self) -> Option<Ending> {
        Ending::of(self.turn_ns)
    }

    /// From frame to frame.
    pub fn span_ns(&self) -> i64 {
        self.to.time_ns - self.from.time_ns
    }

    /// Is it evidence for others, whatever is listed?
    pub fn is_evidence(&self) -> bool {
        self.span_ns() >= EVIDENCE_NS
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

    pub fn has_ack(&self) -> bool {
        self.ack.frame != 0
    }

    /// Did a pure ACK come during this wait of the sender's own?
    pub fn has_pure_ack(&self) -> bool {
        self.is(fact::OWN_DATA_BEFORE | fact::PURE_ACK) && self.has_ack()
    }

    /// May that ACK have ended it, whatever followed?
    pub fn is_freed(&self) -> bool {
        self.has_pure_ack() && !self.has_any(fact::OWN_PAUSE | fact::PASSED_ON)
    }

    /// Who sent the ACK.
    pub fn acknowledged_by(&self) -> Side {
        if self.is(fact::ACK_ONLY) { self.by } else { self.by.other() }
    }

    /// How long the receiver, which is `rtt_ns` away, kept the ACK back; 0 where there is none.
    pub fn ack_delay_ns(&self, rtt_ns: Option<i64>) -> i64 {
        if self.has_ack() { (self.ack_ns() - rtt_ns.unwrap_or(0)).max(0) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Wait {
        /// A wait of which nothing is known.
        pub fn unknown(connection: u32, by: Side) -> Self {
            Self::between(connection, by, Mark::NONE, Mark::NONE)
        }
    }

    #[test]
    fn no_wait_begins_before_the_capture_or_lasts_for_more_than_a_day() {
        let at = |time_ns, frame| Mark { time_ns, frame };
        let wait = |from, to| Wait { from, to, ..Wait::unknown(0, Side::Client) };
        assert!(wait(at(0, 1), at(DAY_NS, 2)).is_possible());
        assert!(!wait(at(0, 1), at(DAY_NS + 1, 2)).is_possible());
        assert!(!wait(Mark::NONE, at(5, 2)).is_possible());
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
