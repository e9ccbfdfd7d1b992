//! The round trip to a host and its tolerance: they tell whether an ACK released what followed it.

use crate::track::band::Band;
use crate::track::half::Half;
use crate::track::half::pauses::Pause;
use crate::track::thresholds::{MOST_UNKNOWN, NETWORK_RTT_NS};
use crate::track::wait::Wait;

/// What may have ended a wait during which a pure ACK came.
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
    /// What may have ended this wait, by the round trip known so far; the clock ticks every `clock_ns`.
    /// The round trip can only become shorter, so `Program` is final.
    pub fn ended_by(&mut self, wait: &Wait, clock_ns: i64) -> EndedBy {
        let path_ns = self.path_ns(wait);
        if path_ns >= NETWORK_RTT_NS {
            self.watch_reactions();
        }
        let is_beyond = |rtt_ns| Band::widest(rtt_ns, clock_ns).is_before(wait.release_ns());
        if is_beyond(path_ns) {
            match path_ns >= NETWORK_RTT_NS && self.reacts_as_late(wait, is_beyond) {
                true => EndedBy::Ack,
                false => EndedBy::Program,
            }
        } else if self.rtt_ns != i64::MAX {
            EndedBy::Ack
        } else if self.candidates < MOST_UNKNOWN && wait.is_evidence() {
            self.candidates += 1;
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
        let shortest_ns = wait.release_ns().max(0).min(self.frozen().shortest_release_ns);
        if wait.is_evidence() {
            self.frozen_mut().shortest_release_ns = shortest_ns;
        }
        match self.rtt_ns.min(shortest_ns) {
            i64::MAX => 0,
            bound_ns => bound_ns,
        }
    }

    /// Where data lies that an ACK released, by what is known so far.
    pub(super) fn band(&self, clock_ns: i64) -> Band {
        Band::new(self.rtt_or_zero_ns(), self.jitter_ns(), clock_ns)
    }

    /// No ACK explains data that follows it later than this, in ns; `None` if the path is not known.
    #[inline]
    pub fn latest_release_ns(&self, clock_ns: i64) -> Option<i64> {
        let band = Band::widest(self.rtt_ns, clock_ns);
        self.is_path_measured().then(|| band.center_ns + band.tolerance_ns)
    }

    /// Adds a pause of the program, if it is evidence.
    pub fn add_pause(&mut self, wait: &Wait) {
        if wait.is_evidence() {
            self.frozen_mut().pauses.add(Pause::new(wait));
        }
    }

    /// Was the round trip between the capture point and this host measured, from the handshake on?
    pub fn is_path_measured(&self) -> bool {
        self.has_syn() && self.rtt_ns != i64::MAX
    }

    /// No round trip to this host is longer, in ns: its fastest reply or ACK; `i64::MAX` for none.
    pub fn rtt_bound_ns(&self) -> i64 {
        self.rtt_ns.min(self.frozen().soonest_late_ack_ns)
    }

    /// That, if anything is known of it.
    pub fn longest_rtt_ns(&self) -> Option<i64> {
        Some(self.rtt_bound_ns()).filter(|&rtt_ns| rtt_ns != i64::MAX)
    }
}
