//! The round trip to a host and its tolerance: they tell whether an ACK released what followed it.

use crate::track::band::Band;
use crate::track::half::Half;
use crate::track::thresholds::{
    ABOUT, IN_TRANSIT_ONE_OF, LATE_ONE_OF, LEAST_REORDER_NS, MAX_TOLERANCE_NS, MOST_UNKNOWN,
    NETWORK_RTT_NS, OUTWEIGHED_STAMP, REORDER_NS, SHORTEST_DELAYED_ACK_NS,
};
use crate::track::wait::Wait;
use std::mem;

/// Round trips that differ by less are about as long.
fn about_ns(rtt_ns: i64) -> i64 {
    ABOUT.0 + rtt_ns / ABOUT.1
}

/// Ways in which a wait may have ended during which a pure ACK came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndedBy {
    /// The ACK.
    Ack,
    /// Only the program.
    Program,
    /// Either: the round trip is unknown, and enough waits like it were kept.
    Either,
}

impl Half {
    /// A pure ACK came late: the round trip to this host is no longer than that.
    #[cold]
    pub fn bound_round_trip(&mut self, sample_ns: i64) {
        self.round_trips = self.round_trips.saturating_add(1);
        if sample_ns < self.odd().soonest_late_ack_ns {
            self.odd_mut().soonest_late_ack_ns = sample_ns;
        }
    }

    /// A round trip was measured. Only pure ACKs count for the jitter: data also takes the time in which the
    /// program answers.
    pub fn add_round_trip(&mut self, sample_ns: i64, pure: bool) {
        if self.round_trips >= OUTWEIGHED_STAMP && self.is_early(sample_ns) {
            self.add_early(sample_ns);
            return;
        }
        self.rtt_ns = self.rtt_ns.min(sample_ns);
        self.round_trips = self.round_trips.saturating_add(1);
        let over_ns = sample_ns - self.rtt_ns;
        // A late one is a delayed ACK or a queue; on a long path a part of the round trip is neither.
        let most_ns = MAX_TOLERANCE_NS.max(self.rtt_ns / LATE_ONE_OF);
        if pure && over_ns < most_ns && self.rtt_samples < u16::MAX {
            self.over_us += (over_ns / 1000) as u32;
            self.rtt_samples += 1;
        }
    }

    /// It acknowledged a small segment of the peer after `sample_ns`, with a `pure` ACK or not. Unless that
    /// came at once, the peer's next small segment would have been held until then.
    #[inline]
    pub fn count_delayed_ack(&mut self, sample_ns: i64, pure: bool) {
        let rtt_ns = self.rtt_or_zero_ns();
        let is_late = sample_ns - rtt_ns >= SHORTEST_DELAYED_ACK_NS.max(rtt_ns / LATE_ONE_OF);
        self.late_acks = self.late_acks.saturating_add((pure && is_late).into());
        self.acks_with_data = self.acks_with_data.saturating_add((!pure).into());
    }

    /// Small segments of the peer that it did not acknowledge at once, as far as they are counted.
    pub fn delayed_acks(&self) -> u32 {
        u32::from(self.late_acks) + u32::from(self.acks_with_data)
    }

    /// Is a round trip much shorter than all others?
    fn is_early(&self, sample_ns: i64) -> bool {
        let shortest_ns = match self.rtt_ns {
            i64::MAX => self.odd().soonest_late_ack_ns,
            rtt_ns => rtt_ns,
        };
        sample_ns < shortest_ns.saturating_sub(about_ns(shortest_ns))
    }

    /// A round trip much shorter than several others: a wrong stamp, until another one agrees.
    #[cold]
    fn add_early(&mut self, sample_ns: i64) {
        let before_ns = mem::replace(&mut self.odd_mut().early_ns, sample_ns);
        if before_ns.abs_diff(sample_ns) < about_ns(sample_ns).unsigned_abs() {
            self.rtt_ns = sample_ns;
            (self.over_us, self.rtt_samples) = (0, 1);
        }
    }

    /// Round trip between the capture point and this host, in ns.
    #[inline]
    pub fn measured_rtt_ns(&self) -> Option<i64> {
        (self.rtt_ns != i64::MAX).then_some(self.rtt_ns)
    }

    /// The measured round trip in ns; 0 while there is none.
    #[inline]
    pub fn rtt_or_zero_ns(&self) -> i64 {
        self.measured_rtt_ns().unwrap_or(0)
    }

    /// Is the host known to be across a network?
    #[inline]
    pub fn is_far(&self) -> bool {
        self.rtt_ns != i64::MAX && self.rtt_ns >= NETWORK_RTT_NS
    }

    /// Missing bytes that come sooner than this were reordered by the network: too soon for the
    /// sender to have heard of a loss.
    pub fn reorder_ns(&self) -> i64 {
        match self.rtt_ns {
            i64::MAX => REORDER_NS,
            rtt_ns => (rtt_ns - rtt_ns / IN_TRANSIT_ONE_OF).clamp(LEAST_REORDER_NS, REORDER_NS),
        }
    }

    /// Mean distance of this host's round trips from the shortest one, in ns.
    pub fn jitter_ns(&self) -> i64 {
        i64::from(self.over_us) * 1000 / i64::from(self.rtt_samples.max(1))
    }

    /// The way this wait ended, by the round trip known so far; the clock ticks every `clock_ns`.
    /// The round trip can only become shorter, so `Program` is final.
    pub fn ended_by(&mut self, wait: &Wait, clock_ns: i64) -> EndedBy {
        let path_ns = self.path_ns(wait);
        if Band::widest(path_ns, clock_ns).is_before(wait.release_ns()) {
            EndedBy::Program
        } else if self.measured_rtt_ns().is_some() {
            EndedBy::Ack
        } else if wait.is_evidence() && self.odd().candidates < MOST_UNKNOWN {
            self.odd_mut().candidates += 1;
            EndedBy::Ack
        } else {
            EndedBy::Either
        }
    }

    /// The round trip to this host in ns. Without a handshake the shortest reply bounds it from above only,
    /// and so does the shortest time in which data followed an ACK, as in this wait; 0 if there is neither.
    fn path_ns(&mut self, wait: &Wait) -> i64 {
        if self.is_path_measured() {
            return self.rtt_ns;
        }
        // Clocks may step back: a negative time is not a measurement.
        let shortest_ns = wait.release_ns().max(0).min(self.odd().shortest_release_ns);
        if wait.is_evidence() {
            self.odd_mut().shortest_release_ns = shortest_ns;
        }
        match self.rtt_ns.min(shortest_ns) {
            i64::MAX => 0,
            bound_ns => bound_ns,
        }
    }

    /// No ACK explains data that follows it later than this, in ns; `None` if the path is not known.
    #[inline]
    pub fn latest_release_ns(&self, clock_ns: i64) -> Option<i64> {
        let band = Band::widest(self.rtt_ns, clock_ns);
        self.is_path_measured().then(|| band.center_ns + band.tolerance_ns)
    }

    /// Was the round trip between the capture point and this host measured, from the handshake on?
    pub fn is_path_measured(&self) -> bool {
        self.has_syn() && self.measured_rtt_ns().is_some()
    }

    /// No round trip to this host is longer, in ns, as far as one is known: its fastest reply or ACK.
    pub fn longest_rtt_ns(&self) -> Option<i64> {
        Some(self.rtt_ns.min(self.odd().soonest_late_ack_ns)).filter(|&rtt_ns| rtt_ns != i64::MAX)
    }
}
