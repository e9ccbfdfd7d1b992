//! Small segments that left soon after an ACK of their sender's data, and so may have been held for a
//! short time.

use super::Observation;
use crate::decode::{FIN, URG};
use crate::track::thresholds::{EVIDENCE_NS, JIFFY_NS, PROBE_NS, SHORT_HOLD_NS};
use crate::track::wait::{Facts, Wait, fact};

/// Evidence against a hold, whatever its length.
const NEVER_HELD: Facts =
    Facts::of([fact::FIN, fact::URGENT, fact::LARGE_FLIGHT, fact::ACK_FIN, fact::HINDERED]);

impl Observation<'_> {
    /// True if an ACK of the sender's data, with data or without, came so shortly before that it may have
    /// let this segment go, after a hold that cost time. Once one small segment went out unheld, later ones
    /// prove nothing.
    #[inline]
    pub fn may_be_held(&self, clock_ns: i64) -> bool {
        let half = self.half;
        let since_ns = self.now.time_ns - half.last_data.time_ns;
        let is_small = self.len < self.mss && !self.segment.has(FIN | URG);
        if since_ns < SHORT_HOLD_NS || half.may_be_held() || half.has_contradicted() || !is_small {
            return false;
        }
        let acked_ns = half.small_acked().mark.time_ns.max(half.all_acked().mark.time_ns);
        let limit_ns = half.latest_release_ns(clock_ns);
        let is_within = |limit_ns| self.now.time_ns - acked_ns <= limit_ns;
        let lately = acked_ns != 0 && limit_ns.is_none_or(is_within);
        // A tail-loss probe may be a held segment, too: it leaves while all is unacknowledged.
        let probes = half.sequence.in_flight() > 0 && since_ns >= PROBE_NS - JIFFY_NS;
        half.bytes() > 0 && (probes || lately)
    }

    /// True for the first small segment that follows one of its own message within a millisecond, but behind
    /// its ACK: had that been delayed, Nagle's algorithm would have held it.
    #[inline]
    pub fn is_split(&self) -> bool {
        // Most data answers the peer's.
        self.half.last_data.frame > self.peer.last_data.frame
            && self.half.is_last_small()
            && !self.half.is_split
            && self.is_quickly_acked()
            && self.now.time_ns - self.half.last_data.time_ns < SHORT_HOLD_NS
            && !self.is_exempt()
            && self.are_surely_small()
    }

    /// True if nothing but a pure ACK of the last segment made room for this one: its receiver closes neither
    /// the connection nor its window.
    fn is_quickly_acked(&self) -> bool {
        let facts = self.half.small_acked().facts;
        let had_room = i64::from(self.half.room) >= i64::from(self.len);
        facts.is(fact::PURE_ACK) && !facts.is(fact::ACK_FIN) && had_room
    }

    /// True if a pure ACK of a small segment came since, and the wait is too short to be evidence.
    #[inline]
    pub(super) fn is_short(&self, listed_ns: i64) -> bool {
        let half = self.half;
        let freed = half.small_acked().facts.is(fact::PURE_ACK) && half.measured_rtt_ns().is_some();
        let short_ns = SHORT_HOLD_NS..EVIDENCE_NS.min(listed_ns);
        freed && short_ns.contains(&(self.now.time_ns - half.last_data.time_ns))
    }

    /// The short wait that ends with this segment, if that may have been held.
    #[cold]
    pub(super) fn short_wait(&self) -> Option<Wait> {
        let wait = self.wait(&self.idle(SHORT_HOLD_NS)?);
        let held = wait.is(fact::SMALL | fact::UNACKED_SMALL) && !wait.has_any(NEVER_HELD);
        (wait.is_freed() && held).then_some(wait)
    }
}
