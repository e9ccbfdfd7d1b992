//! ACKs: what the first one that covered something says, what it changes in the direction that it
//! acknowledges, and the round trip that the timed segment measures.

use crate::capture::times::DAY_NS;
use crate::decode::{FIN, Header, seq};
use crate::track::Mark;
use crate::track::half::{Half, state};
use crate::track::thresholds::{ECHOES, SHORTEST_DELAYED_ACK_NS};
use crate::track::wait::{Facts, fact, when};

/// The first ACK that covered something: when it came, and what it says.
#[derive(Debug, Clone, Copy, Default)]
pub struct Release {
    pub mark: Mark,
    pub facts: AckFacts,
}

/// Facts of an ACK: those of the wait that it ends, and one of its own.
#[derive(Debug, Clone, Copy, Default)]
pub struct AckFacts(u8);

/// A fact of the ACK, not of a wait: it covers the last small segment and nothing after it.
const EXACT: u8 = 1 << 7;

impl Release {
    pub const NONE: Self = Self { mark: Mark::NONE, facts: AckFacts(0) };
}

impl AckFacts {
    /// Facts of the ACK in `segment`, when the last small segment ends at `snd_sml`.
    #[inline]
    pub fn of(segment: &Header, snd_sml: u32) -> Self {
        let facts = when(segment.len == 0, fact::PURE_ACK) | when(segment.has(FIN), fact::ACK_FIN);
        Self(facts.ack_bits() | if segment.ack == snd_sml { EXACT } else { 0 })
    }

    /// The facts of the wait that the ACK ends.
    pub fn facts(self) -> Facts {
        Facts::of_ack(self.0 & !EXACT)
    }

    pub fn is(self, fact: Facts) -> bool {
        self.facts().has_any(fact)
    }

    pub fn is_exact(self) -> bool {
        self.0 & EXACT != 0
    }
}

/// A segment that is being timed, though it is not the last new data any more.
#[derive(Debug, Clone, Copy)]
#[repr(C, packed(4))]
pub struct Timed {
    pub end: u32,
    pub time_ns: i64,
}

impl Half {
    /// The ACK that covered the last small segment.
    pub fn small_acked(&self) -> Release {
        Release { mark: self.small_acked, facts: self.small_ack_facts }
    }

    /// The bare ACK that covered the last data, a small segment, late: where no round trip to `peer` was
    /// measured, which sent it.
    pub fn late_ack(&self, peer: &Self) -> Option<Mark> {
        let Release { mark, facts } = self.small_acked();
        let late_ns = mark.time_ns - self.last_data.time_ns;
        let is_late = facts.is(fact::PURE_ACK) && late_ns >= SHORTEST_DELAYED_ACK_NS;
        let is_unmeasured = peer.measured_rtt_ns().is_none();
        (self.is_last_small() && is_late && is_unmeasured).then_some(mark)
    }

    /// The ACK that covered everything.
    pub fn all_acked(&self) -> Release {
        match (self.state.is(state::ALL_WITH_SMALL), self.state.is(state::ALL_APART)) {
            (true, _) => self.small_acked(),
            (_, true) => self.odd().all_acked,
            _ => Release::NONE,
        }
    }

    /// The first ACK since the last data that advanced SND.UNA; frame 0 where none did.
    pub fn advanced(&self) -> Mark {
        match (self.state.is(state::ADVANCED_WITH_SMALL), self.state.is(state::ADVANCED_APART)) {
            (true, _) => self.small_acked,
            (_, true) => self.odd().advanced,
            _ => Mark::NONE,
        }
    }

    /// Forgets the ACK that covered everything: later data is not its doing.
    pub fn forget_all_acked(&mut self) {
        self.state.clear(state::ALL_WITH_SMALL | state::ALL_APART);
    }

    /// The end of the timestamp of the last ACK of new data.
    pub fn ack_tsval(&self) -> Option<u16> {
        (self.ack_tsval != 0).then_some(self.ack_tsval)
    }

    /// It echoed the timestamp of a pure ACK.
    pub fn note_echo(&mut self) {
        self.echoes = self.echoes.saturating_add(1);
    }

    /// Does it echo the timestamps of pure ACKs, as RFC 7323 stacks do and strict RFC 1323 stacks do not?
    pub fn echoes_acks(&self) -> bool {
        self.echoes >= ECHOES
    }

    /// Stores the last small segment on its own: it will no longer be the last new data.
    pub(super) fn settle_small(&mut self) {
        if self.is_last_small() {
            let small_sent = self.small_sent();
            let odd = self.odd_mut();
            (odd.small_sent, odd.small_len) = small_sent;
            self.state.clear(state::LAST_SMALL);
        }
    }

    /// Takes an ACK for what this half sent; returns the round trip to the peer it measured.
    #[expect(clippy::inline_always, reason = "calls take a twentieth of a scan")]
    #[inline(always)]
    pub fn take_ack(&mut self, segment: &Header, now: Mark) -> Option<i64> {
        let ack = segment.ack;
        if !seq::lt(self.sequence.una, ack) {
            return None;
        }
        let frees_small =
            seq::lt(self.sequence.una, self.sequence.sml) && seq::le(self.sequence.sml, ack);
        if frees_small {
            self.take_small_ack(segment, now);
        }
        if seq::lt(self.sequence.nxt, ack) {
            self.jump_to(ack, now.frame);
        }
        let frees_all = ack == self.sequence.nxt;
        let advances = !self.state.is(state::ADVANCED_WITH_SMALL | state::ADVANCED_APART);
        let is_data = self.is_data_unacked();
        if is_data {
            self.ack_tsval = segment.options.tsval_end();
        }
        if frees_small {
            self.state.set_if(frees_all, state::ALL_WITH_SMALL);
            self.state.set_if(advances, state::ADVANCED_WITH_SMALL);
        } else if is_data && (frees_all || advances) {
            self.take_other_ack(segment, now, frees_all, advances);
        }
        self.sequence.acknowledge(ack);
        self.round_trip(ack, now)
    }

    /// Is more unacknowledged than a SYN or a FIN? Nothing waits for the ACKs of those.
    fn is_data_unacked(&self) -> bool {
        let fin = u32::from(self.state.is(state::FIN_SENT));
        self.offset > 0 && seq::lt(self.sequence.una, self.sequence.nxt.wrapping_sub(fin))
    }

    fn take_small_ack(&mut self, segment: &Header, now: Mark) {
        if self.state.is(state::ALL_WITH_SMALL | state::ADVANCED_WITH_SMALL) {
            self.part_from_small();
        }
        self.small_acked = now;
        self.small_ack_facts = AckFacts::of(segment, self.sequence.sml);
    }

    /// Stores the other roles of the last small segment's ACK on their own, before the next one comes.
    #[cold]
    fn part_from_small(&mut self) {
        if self.state.is(state::ALL_WITH_SMALL) {
            self.odd_mut().all_acked = self.small_acked();
            self.state.set(state::ALL_APART);
        }
        if self.state.is(state::ADVANCED_WITH_SMALL) {
            self.odd_mut().advanced = self.small_acked;
            self.state.set(state::ADVANCED_APART);
        }
        self.state.clear(state::ALL_WITH_SMALL | state::ADVANCED_WITH_SMALL);
    }

    fn take_other_ack(&mut self, segment: &Header, now: Mark, all: bool, advances: bool) {
        if all {
            let facts = AckFacts::of(segment, self.sequence.sml);
            self.odd_mut().all_acked = Release { mark: now, facts };
            self.state.clear(state::ALL_WITH_SMALL);
            self.state.set(state::ALL_APART);
        }
        if advances {
            self.odd_mut().advanced = now;
            self.state.set(state::ADVANCED_APART);
        }
    }

    /// Times the last new data, unless a segment is being timed already.
    pub(super) fn time_last(&mut self, time_ns: i64) {
        let idle = !self.state.is(state::TIMED_LAST | state::TIMED_APART);
        self.state.set_if(idle && time_ns != 0, state::TIMED_LAST);
    }

    /// Stores the timed segment on its own: it will no longer be the last new data, or no longer end
    /// at `snd_nxt`.
    pub(super) fn settle_timing(&mut self) {
        if self.state.is(state::TIMED_LAST) {
            self.rare_mut().timed = self.timed_last();
            self.state.clear(state::TIMED_LAST);
            self.state.set(state::TIMED_APART);
        }
    }

    fn timed_last(&self) -> Timed {
        Timed { end: self.sequence.nxt, time_ns: self.last_new().time_ns }
    }

    /// Karn's rule (RFC 6298, section 3): a repeated segment gives no sample.
    pub fn stop_timing(&mut self) {
        self.state.clear(state::TIMED_LAST | state::TIMED_APART);
    }

    /// The round trip that an ACK up to `ack` measures. If it is negative or longer than a day, the clock was
    /// set.
    pub(super) fn round_trip(&mut self, ack: u32, now: Mark) -> Option<i64> {
        let timed = match self.state.is(state::TIMED_LAST) {
            true => self.timed_last(),
            false if self.state.is(state::TIMED_APART) => self.rare().timed,
            false => return None,
        };
        if seq::lt(ack, timed.end) {
            return None;
        }
        self.stop_timing();
        let sample_ns = now.time_ns - timed.time_ns;
        (0..=DAY_NS).contains(&sample_ns).then_some(sample_ns)
    }
}
