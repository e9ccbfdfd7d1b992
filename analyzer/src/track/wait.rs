//! A wait: who kept the connection waiting, between which frames, and the facts around it.
//!
//! The tracker writes waits while it streams and judges nothing; `judge` decides at the end, when
//! the whole connection is known.

use crate::capture::times::DAY_NS;
use crate::track::ending::Ending;
use crate::track::thresholds::EVIDENCE_NS;
use crate::track::{Mark, Side};
use std::ops::{BitOr, BitOrAssign};

/// The event that ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// A late answer to a SYN, or the SYN again.
    Syn,
    /// Data: new, or bytes that had been sent before.
    Data,
    /// A late ACK that no data followed.
    Ack,
    /// Nothing: the data or ACK that was waited for never came.
    InVain(Ending),
}

/// A set of the facts in [`fact`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(Rust, packed(4))]
pub struct Facts(u64);

impl Facts {
    pub const NONE: Self = Self(0);

    /// The set for a constant, which cannot use operators.
    pub const fn of<const N: usize>(facts: [Self; N]) -> Self {
        let (mut all, mut at) = (0, 0);
        while at < N {
            all |= facts[at].0;
            at += 1;
        }
        Self(all)
    }

    /// The facts of an ACK, which is kept in one byte until it ends a wait.
    pub fn of_ack(bits: u8) -> Self {
        Self(bits.into())
    }

    pub fn ack_bits(self) -> u8 {
        self.0 as u8
    }

    pub fn has_all(self, facts: Self) -> bool {
        self.0 & facts.0 == facts.0
    }

    pub fn has_any(self, facts: Self) -> bool {
        self.0 & facts.0 != 0
    }

    pub fn without(self, facts: Self) -> Self {
        Self(self.0 & !facts.0)
    }
}

impl BitOr for Facts {
    type Output = Self;

    fn bitor(self, facts: Self) -> Self {
        Self(self.0 | facts.0)
    }
}

impl BitOrAssign for Facts {
    fn bitor_assign(&mut self, facts: Self) {
        self.0 |= facts.0;
    }
}

/// Declares the facts, one bit each, in this order.
macro_rules! facts {
    ($($(#[$doc:meta])* $fact:ident,)+) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "numbers the bits")]
        enum FactBit { $($fact,)+ }

        $($(#[$doc])* pub const $fact: Facts = Facts(1 << FactBit::$fact as u32);)+
    };
}

/// The facts of a wait. "The segment" is the one that ended it.
pub mod fact {
    use super::Facts;

    facts! {
        /// The ACK that covers the unacked segment carries no payload.
        PURE_ACK,
        /// The ACK carries FIN.
        ACK_FIN,
        // Above are the facts that an ACK brings along: at most seven.

        /// The ACK carries data of the peer, and let the sender go on.
        DATA_ACK,
        /// The ACK was captured just behind the segment that it may have released.
        ACK_BEHIND,
        /// The ACK advanced SND.UNA but left data unacknowledged: only a congestion window or the
        /// receiver's window can have waited for it.
        ADVANCING_ACK,
        /// The segment echoes the timestamp of the ACK.
        ECHOES_ACK,
        /// The segment echoes an earlier timestamp: it had left before the ACK came.
        ECHOES_EARLIER,
        /// The segment acknowledges data of the peer that reached its sender during the wait, before
        /// the ACK.
        DATA_CAME,

        /// The frame before the wait is the sender's own data; else it is the peer's.
        OWN_DATA_BEFORE,
        /// A small segment was unacked: its length is not a multiple of the effective MSS. It is the
        /// last one before the wait, or one before it that the same ACK covers first.
        UNACKED_SMALL,
        /// The unacked segment was sent again before it was acknowledged, alone in flight: if the
        /// receiver had it all the time, the sender's timer was shorter than that of the delayed ACK.
        RESENT,
        /// The unacked segment itself had left while a small one was unacknowledged.
        UNACKED_UNHELD,
        /// An initial window of ten segments (RFC 6928), or more, was in flight before the wait.
        LARGE_FLIGHT,

        /// Data of its sender was unacknowledged when the segment left.
        IN_FLIGHT,
        /// A small segment was unacknowledged when the segment left.
        UNACKED_AT_SEND,
        /// The segment is shorter than the effective MSS.
        SMALL,
        /// The segment is long and not pushed: its sender had more to send.
        CUT,
        /// The segment carries FIN, which Nagle's algorithm lets go at once.
        FIN,
        /// The segment is marked urgent, or urgent data was unacked: nothing waits for that.
        URGENT,
        /// The segment repeats bytes sent before.
        RETRANSMITTED,
        /// The bytes that were sent again had arrived: the receiver said so, or both copies were seen
        /// to arrive.
        NEEDLESS,

        /// Something was retransmitted between the unacked segment and the end of the wait.
        RECOVERY,
        /// The receiver announced a window of zero during the wait.
        ZERO_WINDOW,
        /// The receiver's window had no room for the segment.
        WINDOW_FULL,
        /// Bytes are missing from the capture around the wait.
        UNSEEN,
        /// The bytes missing before the segment were sent again later; or the segment brings such
        /// bytes, which the capture had not seen before.
        LOST_BEFORE,
        /// The sender numbers its packets in IP identifications, and the capture lacks some before the
        /// segment.
        SKIPPED_IDS,

        /// The wait, or the sender's turn in it, began within an exchange: the other end waited for
        /// what came after it.
        IN_EXCHANGE,
        /// The ACK came, and the segment long after it; or the sender had nothing to send when the ACK
        /// came. The program paused of its own.
        OWN_PAUSE,
        /// It was kept as one of the longest after the list was full: not a sample of the rest.
        LONGEST,
        /// Probes of the other end got no answer.
        PROBED,
        /// The client waited for leave to send the content of its request (RFC 9110, section 10.1.1).
        AWAITS_LEAVE,
        /// Data of the peer was on its way to the sender when the segment left, which had not seen it.
        CROSSES,
        /// The window had opened again, and probes followed, or the end.
        REOPENED,
        /// A FIN was not acknowledged, or not answered by one.
        CLOSING,
        /// A SYN was not answered, or the answer not acknowledged.
        OPENING,
        /// It was sent again within a wait in vain, with which that is told. Set when causes are ruled on.
        TRIED,
        /// The program passed on what had just arrived on another connection. Set before judging.
        PASSED_ON,
    }

    /// The program saw something of the peer during the wait, and may have answered it.
    pub const ANSWERABLE: Facts = Facts::of([ACK_FIN, DATA_CAME]);

    /// Something but the sender's program may have made it wait.
    pub const HINDERED: Facts = Facts::of([RECOVERY, ZERO_WINDOW, WINDOW_FULL, UNSEEN]);
}

/// `fact` if `condition` holds.
pub fn when(condition: bool, fact: Facts) -> Facts {
    if condition { fact } else { Facts::NONE }
}

/// One wait. Times are ns since the epoch, lengths bytes, frames count from 1.
#[derive(Debug, Clone, Copy)]
#[repr(Rust, packed(4))]
pub struct Wait {
    pub connection: u32,
    /// Who ended the wait: the sender of frame `to`. Of a wait in vain, who should have.
    pub by: Side,
    pub end: End,
    pub facts: Facts,
    /// The last data before the wait; the unacked segment **A** of a stall.
    pub from: Mark,
    /// The segment that ended it; the held segment **B** of a stall.
    pub to: Mark,

    /// Stream offset of the first byte of `to`; of a late ACK, of the first byte that it does not cover.
    pub rel_seq: u64,
    /// New bytes in `to`, or all of those that were sent again. Of a wait in vain: see [`Self::tries`].
    pub len: u32,
    /// Length of the unacked segment; of bytes sent again, or waited for in vain, all that was in flight. Of
    /// the rest of a message that announced its length, that.
    pub unacked_len: u32,
    /// Small segments this sender had sent, up to here, while a small one was unacknowledged.
    pub contradictions: u32,
    /// Timestamp value (RFC 7323) of `to`; 0 for none.
    pub tsval: u32,
    /// Timestamp value of the last data before the wait, where that is `from`; else 0. Of a wait in vain: see
    /// [`Self::tries`].
    pub from_tsval: u32,

    /// The ACK **K** between them that freed the sender; frame 0 where there is none.
    pub ack: Mark,
    /// Bytes of data in the ACK; saturates.
    pub ack_len: u16,
    /// When the segment was sent that the ACK covers first: `from`, or a small one before it. Of a wait in
    /// vain: see [`Self::heard_ns`].
    pub unacked_ns: i64,
    /// When the peer data this sender may be answering reached it, shifted to the capture point;
    /// [`Self::NO_TURN`] if the wait began with `from`, its own.
    pub turn_ns: i64,
}

const _: () = assert!(size_of::<Wait>() == 96, "a capture may hold a million");

impl Wait {
    pub const NO_TURN: i64 = i64::MIN;

    /// A wait that data ended, without an ACK, of which no more is known.
    pub fn between(connection: u32, by: Side, from: Mark, to: Mark) -> Self {
        Self {
            connection,
            by,
            end: End::Data,
            facts: Facts::NONE,
            from,
            to,
            ack: Mark::NONE,
            rel_seq: 0,
            len: 0,
            unacked_len: 0,
            unacked_ns: from.time_ns,
            turn_ns: Self::NO_TURN,
            contradictions: 0,
            ack_len: 0,
            tsval: 0,
            from_tsval: 0,
        }
    }

    /// The wait in a capture whose frames follow after so many others.
    pub fn moved(self, frames_before: u32) -> Self {
        let Self { from, ack, to, .. } = self;
        let [from, ack, to] = [from, ack, to].map(|mark| mark.moved(frames_before));
        Self { from, to, ack, ..self }
    }

    pub fn is(&self, facts: Facts) -> bool {
        self.facts.has_all(facts)
    }

    pub fn has_any(&self, facts: Facts) -> bool {
        self.facts.has_any(facts)
    }

    /// When the sender last sent data, or received data that it may be answering.
    pub fn since_ns(&self) -> i64 {
        self.from.time_ns.max(self.turn_ns)
    }

    /// How long it took, at most.
    pub fn wait_ns(&self) -> i64 {
        self.to.time_ns - self.since_ns()
    }

    /// True with a first frame and a length of at most a day: within a longer one the clock was set, or
    /// files were put together.
    pub fn is_possible(&self) -> bool {
        self.from.is_set() && self.span_ns() <= DAY_NS
    }

    /// True for a wait of the handshake. A SYN that was turned down waited in vain.
    pub fn is_connecting(&self) -> bool {
        self.end == End::Syn || self.ending().is_some_and(Ending::is_of_syn)
    }

    /// True for a wait for the first data of a reply.
    pub fn is_reply(&self) -> bool {
        self.by == Side::Server && self.is(fact::IN_EXCHANGE) && !self.is(fact::OWN_DATA_BEFORE)
    }

    /// The ending, if what was waited for never came.
    pub fn ending(&self) -> Option<Ending> {
        if let End::InVain(ending) = self.end { Some(ending) } else { None }
    }

    /// When the other end was last heard of, of a wait in vain for an answer.
    pub fn heard_ns(&self) -> i64 {
        self.unacked_ns
    }

    /// How often the end that waited in vain sent again, or probed, and up to how long after the time before, in ms.
    pub fn tries(&self) -> (u32, u32) {
        if self.ending().is_some() { (self.len, self.from_tsval) } else { (0, 0) }
    }

    /// From frame to frame.
    pub fn span_ns(&self) -> i64 {
        self.to.time_ns - self.from.time_ns
    }

    /// True if it is long enough to be evidence for others, whatever is listed.
    pub fn is_evidence(&self) -> bool {
        self.span_ns() >= EVIDENCE_NS
    }

    /// True within `other`, a wait of the same sender.
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

    /// True if data ended it, and a pure ACK of the sender's own data came before that.
    pub fn has_pure_ack(&self) -> bool {
        self.is(fact::OWN_DATA_BEFORE | fact::PURE_ACK) && self.has_ack()
    }

    /// True if that ACK may have ended it: neither the program's own pause nor another connection did.
    pub fn is_freed(&self) -> bool {
        self.has_pure_ack() && !self.has_any(fact::OWN_PAUSE | fact::PASSED_ON)
    }

    /// Who sent the ACK.
    pub fn acknowledged_by(&self) -> Side {
        if self.end == End::Ack { self.by } else { self.by.other() }
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
            end: End::Ack,
            facts: fact::PURE_ACK,
            from: at(0, 1),
            to: at(66_000_000, 2),
            ack: at(66_000_000, 2),
            unacked_len: 100,
            ..Wait::unknown(0, Side::Client)
        };
        assert_eq!(late.acknowledged_by(), Side::Client);
        assert_eq!(late.ack_delay_ns(Some(26_000_000)), 40_000_000);
        let facts = fact::OWN_DATA_BEFORE | fact::PURE_ACK;
        let held = Wait { end: End::Data, facts, ..late };
        assert_eq!(held.acknowledged_by(), Side::Server);
        assert_eq!(Wait { ack: Mark::NONE, ..held }.ack_delay_ns(None), 0);
    }
}
