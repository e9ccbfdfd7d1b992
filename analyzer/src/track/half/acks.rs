//! An ACK: it changes the direction that it acknowledges, and measures a round trip.

use crate::decode::Header;
use crate::decode::seq;
use crate::track::Mark;
use crate::track::half::release::AckFacts;
use crate::track::half::state;
use crate::track::half::{Half, Release};

impl Half {
    /// Stores the last small segment on its own: it will no longer be the last new data.
    pub(super) fn settle_small(&mut self) {
        if self.is_last_small() {
            let small_sent = self.small_sent();
            let frozen = self.frozen_mut();
            (frozen.small_sent, frozen.small_len) = small_sent;
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
            let facts = AckFacts::of(segment, self.sequence.sml);
            self.frozen_mut().all_acked = Release { mark: now, facts };
            self.state.clear(state::ALL_WITH_SMALL);
            self.state.set(state::ALL_APART);
        }
        if advances {
            self.frozen_mut().advanced = now;
            self.state.set(state::ADVANCED_APART);
        }
    }
}
