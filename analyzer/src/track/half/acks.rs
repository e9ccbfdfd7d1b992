//! What an ACK changes in the direction it acknowledges, and the round trip it measures.

use crate::capture::times::DAY_NS;
use crate::decode::Header;
use crate::decode::seq;
use crate::track::Mark;
use crate::track::half::release::AckFacts;
use crate::track::half::state;
use crate::track::half::{Half, Release};

impl Half {
    /// Times the last new data, unless a segment is being timed already.
    pub(super) fn time_last(&mut self, time_ns: i64) {
        let idle = !self.state.is(state::TIMED_LAST | state::TIMED_APART);
        self.state.set_if(idle && time_ns != 0, state::TIMED_LAST);
    }

    /// Stores the timed segment on its own: it will no longer be the last new data, or no longer end
    /// at `snd_nxt`.
    pub(super) fn settle_timing(&mut self) {
        if self.state.is(state::TIMED_LAST) {
            let timed = (self.snd_nxt, self.last_new().time_ns);
            let cold = self.cold_mut();
            (cold.timed_end, cold.timed_ns) = timed;
            self.state.clear(state::TIMED_LAST);
            self.state.set(state::TIMED_APART);
        }
    }

    /// Stores the last small segment on its own: it will no longer be the last new data.
    pub(super) fn settle_small(&mut self) {
        if self.state.is(state::SMALL_IS_NEW) {
            let small_sent = self.small_sent();
            let frozen = self.frozen_mut();
            (frozen.small_sent, frozen.small_len) = small_sent;
            self.state.clear(state::SMALL_IS_NEW);
        }
    }

    /// Karn's rule (RFC 6298, section 3): a repeated segment gives no sample.
    pub fn stop_timing(&mut self) {
        self.state.clear(state::TIMED_LAST | state::TIMED_APART);
    }

    /// Takes an ACK for what this half sent; returns the round trip to the peer it measured.
    #[expect(clippy::inline_always, reason = "calls take a twentieth of a scan")]
    #[inline(always)]
    pub fn take_ack(&mut self, segment: &Header, now: Mark) -> Option<i64> {
        let ack = segment.ack;
        if !seq::lt(self.snd_una, ack) {
            return None;
        }
        let frees_small = seq::lt(self.snd_una, self.snd_sml) && seq::le(self.snd_sml, ack);
        if frees_small {
            self.take_small_ack(segment, now);
        }
        if seq::lt(self.snd_nxt, ack) {
            self.jump_to(ack, now.frame);
        }
        let frees_all = ack == self.snd_nxt;
        let advances = !self.state.is(state::ADVANCED_WITH_SMALL | state::ADVANCED_APART);
        if frees_small {
            self.state.set_if(frees_all, state::ALL_WITH_SMALL);
            self.state.set_if(advances, state::ADVANCED_WITH_SMALL);
        } else if self.is_data_unacked() && (frees_all || advances) {
            self.take_other_ack(segment, now, frees_all, advances);
        }
        self.acknowledge(ack);
        self.round_trip(ack, now)
    }

    /// Is more unacknowledged than a SYN or a FIN? Nothing waits for the ACKs of those.
    fn is_data_unacked(&self) -> bool {
        let fin = u32::from(self.state.is(state::FIN_SENT));
        self.offset > 0 && seq::lt(self.snd_una, self.snd_nxt.wrapping_sub(fin))
    }

    fn take_small_ack(&mut self, segment: &Header, now: Mark) {
        if self.state.is(state::ALL_WITH_SMALL | state::ADVANCED_WITH_SMALL) {
            self.part_from_small();
        }
        self.small_acked = now;
        self.small_ack_facts = AckFacts::of(segment, self.snd_sml);
        self.small_ack_tsval = segment.options.tsval_end();
    }

    /// Stores the other roles of the last small segment's ACK on their own, before the next one comes.
    #[cold]
    fn part_from_small(&mut self) {
        if self.state.is(state::ALL_WITH_SMALL) {
            self.frozen_mut().all_acked = self.small_acked();
            self.state.set(state::ALL_APART);
        }
        if self.state.is(state::ADVANCED_WITH_SMALL) {
            self.frozen_mut().advanced = self.small_acked;
            self.state.set(state::ADVANCED_APART);
        }
        self.state.clear(state::ALL_WITH_SMALL | state::ADVANCED_WITH_SMALL);
    }

    fn take_other_ack(&mut self, segment: &Header, now: Mark, all: bool, advances: bool) {
        if all {
            let facts = AckFacts::of(segment, self.snd_sml);
            self.frozen_mut().all_acked = Release { mark: now, facts };
            self.state.clear(state::ALL_WITH_SMALL);
            self.state.set(state::ALL_APART);
        }
        if advances {
            self.frozen_mut().advanced = now;
            self.state.set(state::ADVANCED_APART);
        }
    }

    /// Moves SND.UNA; packets in flight shrink in proportion to the bytes.
    fn acknowledge(&mut self, ack: u32) {
        if ack == self.snd_nxt {
            (self.snd_una, self.packets) = (ack, 0);
            return;
        }
        let before = u64::from(self.in_flight().max(1));
        self.snd_una = ack;
        let rest = u64::from(self.in_flight()) * u64::from(self.packets);
        // No more than before: the rest in flight is a part of it.
        self.packets = rest.div_ceil(before) as u16;
    }

    /// If it is negative or longer than a day, the clock was set.
    fn round_trip(&mut self, ack: u32, now: Mark) -> Option<i64> {
        let (timed_end, timed_ns) = match self.state.is(state::TIMED_LAST) {
            true => (self.snd_nxt, self.last_new().time_ns),
            false if self.state.is(state::TIMED_APART) => {
                (self.cold().timed_end, self.cold().timed_ns)
            }
            false => return None,
        };
        if seq::lt(ack, timed_end) {
            return None;
        }
        self.stop_timing();
        let sample_ns = now.time_ns - timed_ns;
        (0..=DAY_NS).contains(&sample_ns).then_some(sample_ns)
    }
}
