//! Small segments that Nagle's algorithm would have held: they left while an earlier one was
//! unacknowledged.

use super::Observation;
use crate::decode::{FIN, PSH, URG};
use crate::track::half::Half;
use crate::track::thresholds::NETWORK_RTT_NS;
use crate::track::thresholds::{
    HALF_WAY_ONE_OF, IN_TRANSIT_ONE_OF, JIFFY_NS, KERNEL_RELEASE_NS, KNOWN_ROUND_TRIPS, LEAST_MSS,
    PROBE_NS,
};

impl Observation<'_> {
    /// True if it is small and left while a small one was unacknowledged: `TCP_NODELAY` is set.
    #[inline]
    pub fn is_unheld(&self) -> bool {
        // Few are.
        self.half.is_last_small()
            && self.left_unacked()
            && self.len < self.mss
            && !self.is_exempt()
            && self.acks_are_seen()
            && !self.echoes_unseen()
            && !self.carries_ack()
            && self.are_surely_small()
    }

    /// True for a segment that proves nothing: Nagle's algorithm does not hold FIN, urgent data, what
    /// follows unacknowledged urgent data, or a tail-loss probe. After bytes that were never captured, or
    /// were inferred, it is not known what was unacknowledged, and after a step of the clock backwards not
    /// how long ago anything was.
    pub(super) fn is_exempt(&self) -> bool {
        let half = self.half;
        self.segment.has(FIN | URG)
            || half.is_urgent()
            || half.is_inferred()
            || half.is_recovering()
            || half.unseen().1 == self.now.frame
            || !(0..PROBE_NS - JIFFY_NS).contains(&(self.now.time_ns - half.last_data.time_ns))
    }

    /// True if the capture has shown a pure ACK of this receiver, or the segment left before any ACK of the
    /// last one could have come. Where a filter or an export dropped pure ACKs, everything looks
    /// unacknowledged. Only pure ACKs show how soon one can come (data comes when a program likes), and only
    /// over a network: within a host a SYN takes longer than an ACK.
    fn acks_are_seen(&self) -> bool {
        let (half, peer) = (self.half, self.peer);
        if peer.has_pure_acks() {
            return true;
        }
        let known_ns = |half: &Half| {
            if half.is_path_measured() && half.rtt_samples > 0 { half.rtt_or_zero_ns() } else { 0 }
        };
        let rtt_ns = known_ns(half) + known_ns(peer);
        rtt_ns >= NETWORK_RTT_NS && self.now.time_ns - half.last_data.time_ns < rtt_ns
    }

    /// True if it is the first to acknowledge data of the peer: BSD and macOS send what Nagle's algorithm
    /// holds along with an ACK that they owe anyway (`tcp_output`, `TF_ACKNOW`).
    fn carries_ack(&self) -> bool {
        let frame = self.now.frame;
        self.peer.all_acked().mark.frame == frame || self.peer.advanced().frame == frame
    }

    /// True if it is small, and the first one that left while only full-sized ones were unacknowledged: the
    /// classic algorithm would have held it.
    #[inline]
    pub fn passes_full(&self) -> bool {
        let half = self.half;
        !half.is_last_small()
            && half.sequence.in_flight() > 0
            && !half.sequence.is_small_unacked()
            && !self.is_exempt()
            && self.acks_are_seen()
            && !self.echoes_unseen()
            && self.is_surely_small(self.len)
            && !self.is_cut()
            && half.odd().passed_full.0 == 0
    }

    /// True if the last segment and this one are surely below the MSS: neither was cut because the path
    /// carries no more.
    pub(super) fn are_surely_small(&self) -> bool {
        let (half, last_len) = (self.half, self.half.last_len);
        self.is_surely_small(last_len)
            && self.is_surely_small(self.len)
            && !half.is_last_cut()
            && !self.is_cut()
    }

    /// True if `len` is below any fallback MSS, or below the longest segment of this sender: the path may
    /// carry less than the SYN announced.
    fn is_surely_small(&self, len: u32) -> bool {
        len < self.mss && (len < LEAST_MSS || len < self.half.largest())
    }

    /// True if it may be the first part of more: it is long, and not pushed.
    pub(super) fn is_cut(&self) -> bool {
        self.len >= LEAST_MSS && !self.segment.has(PSH)
    }

    /// True if a small segment of the sender was unacknowledged when it sent this.
    ///
    /// Judged in the sender's time: an ACK that passed the capture point less than a round trip to the
    /// sender ago had not reached it when this segment left. Half of it is left to jitter, more while
    /// few round trips show how short they can be.
    fn left_unacked(&self) -> bool {
        let half = self.half;
        if half.sequence.is_small_unacked() {
            return true;
        }
        let acked = half.small_acked().mark;
        if !acked.is_set() {
            return false;
        }
        let since = self.now.time_ns - acked.time_ns;
        // Right behind the ACK it was released: the handshake took longer than the path.
        if (0..KERNEL_RELEASE_NS).contains(&since) {
            return false;
        }
        let one_of = match half.rtt_samples {
            ..KNOWN_ROUND_TRIPS => IN_TRANSIT_ONE_OF,
            _ => HALF_WAY_ONE_OF,
        };
        // Without a handshake the round trip is only known to be no longer than this.
        let measured = half.is_path_measured() && half.rtt_or_zero_ns() >= NETWORK_RTT_NS;
        measured && (0..half.rtt_or_zero_ns()).contains(&since.saturating_mul(one_of))
    }
}
