//! The round trip to a host and its tolerance: they tell whether an ACK released what followed it.

use crate::track::NETWORK_RTT_NS;
use crate::track::half::Half;
use crate::track::half::pauses::Pause;
use crate::track::wait::Wait;

/// At the sender's own capture point only the kernel lies between ACK and release: 3-140 us
/// measured on Linux 6.18, idle and overloaded. 0.5 ms leaves room for slower machines, and is
/// short enough to tell an application that wakes up 0.2-4 ms after the ACK.
const LOCAL_TOLERANCE_NS: i64 = 500_000;
/// What scheduling on two hosts adds to the path's own jitter.
const NETWORK_TOLERANCE_NS: i64 = 2_000_000;
/// Beyond this, 'the path's jitter' would explain anything.
const MAX_TOLERANCE_NS: i64 = 8_000_000;
/// The neighbourhood in which releases that were *not* locked to the ACK are counted, as a
/// multiple of the tolerance.
pub const NEAR: i64 = 3;
/// Possible holds that are kept per direction while its round trip is unknown: a program's own rhythm
/// looks like them.
const MOST_UNKNOWN: u8 = 64;

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

/// How far a release may be off the round trip, on a path with this jitter.
pub fn tolerance_ns(rtt_ns: i64, jitter_ns: i64) -> i64 {
    match rtt_ns {
        ..NETWORK_RTT_NS => LOCAL_TOLERANCE_NS,
        _ => (NETWORK_TOLERANCE_NS + 3 * jitter_ns).min(MAX_TOLERANCE_NS),
    }
}

impl Half {
    /// What may have ended this wait, by the round trip known so far; the clock ticks every `clock_ns`.
    /// The round trip can only become shorter, so `Program` is final.
    pub fn ended_by(&mut self, wait: &Wait, clock_ns: i64) -> EndedBy {
        if !self.is_path_measured() {
            // Clocks may step back: a negative time is no measurement.
            let shortest_ns = &mut self.rarest_mut().shortest_release_ns;
            *shortest_ns = wait.release_ns().max(0).min(*shortest_ns);
        }
        let path_ns = self.path_ns(self.rarest().shortest_release_ns);
        // The largest tolerance: more jitter may follow.
        let tolerance_ns = tolerance_ns(path_ns, MAX_TOLERANCE_NS) + clock_ns;
        if wait.release_ns() - path_ns > (1 + NEAR) * tolerance_ns {
            EndedBy::Program
        } else if self.rtt_ns != i64::MAX {
            EndedBy::Ack
        } else if self.candidates < MOST_UNKNOWN {
            self.candidates += 1;
            EndedBy::Ack
        } else {
            EndedBy::Either
        }
    }

    /// Adds a pause of the program.
    pub fn add_pause(&mut self, wait: &Wait) {
        self.rarest_mut().pauses.add(Pause::new(wait));
    }

    /// Was the round trip between the capture point and this host measured, from the handshake on?
    pub fn is_path_measured(&self) -> bool {
        self.has_syn() && self.rtt_ns != i64::MAX
    }

    /// That round trip in ns. Without a handshake the shortest reply bounds it from above only, and so
    /// does the shortest time in which data followed an ACK (`i64::MAX` for none); 0 if there is neither.
    pub fn path_ns(&self, shortest_release_ns: i64) -> i64 {
        match self.is_path_measured() {
            true => self.rtt_ns,
            false => match self.rtt_ns.min(shortest_release_ns) {
                i64::MAX => 0,
                bound_ns => bound_ns,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerance_follows_the_path_not_a_share_of_the_round_trip() {
        assert_eq!(tolerance_ns(20_000, 5_000_000), LOCAL_TOLERANCE_NS);
        assert_eq!(tolerance_ns(1_900_000, 0), 2_000_000);
        assert_eq!(tolerance_ns(88_000_000, 100_000), 2_300_000);
        assert_eq!(tolerance_ns(88_000_000, 1_500_000), 6_500_000);
        assert_eq!(tolerance_ns(88_000_000, 7_000_000), MAX_TOLERANCE_NS);
    }
}
