//! Small segments that left soon after an ACK of their sender's own data, and so may have been held, if
//! only for a short time.

use super::Observation;
use crate::decode::{FIN, URG};
use crate::track::thresholds::{EVIDENCE_NS, JIFFY_NS, PROBE_NS, SHORT_HOLD_NS};
use crate::track::wait::{Wait, fact};

/// Evidence against a hold, whatever its length.
const NEVER_HELD: u32 =
    fact::FIN | fact::URGENT | fact::LARGE_FLIGHT | fact::ACK_FIN | fact::HINDERED;

impl Observation<'_> {
    /// Is its sender's last data long enough ago that holding this segment would have cost anything?
    #[inline]
    pub(super) fn may_have_waited(&self) -> bool {
        self.now.time_ns - self.half.last_data.time_ns >= SHORT_HOLD_NS
    }

    /// Had the ACK of the sender's own data, of whatever kind, come so lately that it may have let this
    /// segment go? If not, nothing held it when it was written, or it was not yet written then.
    #[inline]
    pub(super) fn may_have_been_held(&self, clock_ns: i64) -> bool {
        let half = self.half;
        let small = self.len < self.mss && !self.segment.has(FIN | URG);
        let acked_ns = half.last_acked_ns();
        let limit_ns = half.latest_release_ns(clock_ns);
        let lately = acked_ns != 0
            && limit_ns.is_none_or(|limit_ns| self.now.time_ns - acked_ns <= limit_ns);
        // A tail-loss probe may be a held segment, too: it leaves while all is unacknowledged.
        let since_ns = self.now.time_ns - half.last_data.time_ns;
        let probes = half.sequence.in_flight() > 0 && since_ns >= PROBE_NS - JIFFY_NS;
        small && half.bytes() > 0 && (probes || lately)
    }

    /// Did a pure ACK of a small segment come since, but so soon that the wait is too short to be evidence?
    #[inline]
    pub(super) fn is_short(&self, listed_ns: i64) -> bool {
        let half = self.half;
        let freed = half.small_acked().facts.is(fact::PURE_ACK) && half.measured_rtt_ns().is_some();
        let short_ns = SHORT_HOLD_NS..EVIDENCE_NS.min(listed_ns);
        freed && short_ns.contains(&(self.now.time_ns - half.last_data.time_ns))
    }

    /// The wait that ends with this segment, a short one, if that may have been held.
    #[cold]
    pub(super) fn short_wait(&self) -> Option<Wait> {
        let wait = self.wait(&self.idle(SHORT_HOLD_NS)?);
        let held = wait.is(fact::SMALL | fact::UNACKED_SMALL) && !wait.has_any(NEVER_HELD);
        (wait.is_freed() && held).then_some(wait)
    }
}
