//! How long the path to a host is, and how exactly that is known: what is needed to tell what an ACK freed.

use super::{Half, known};
use crate::flow::NETWORK_RTT_NS;
use crate::flow::pauses::Pause;
use crate::wait::Wait;

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
/// Data that follows an ACK by more than the round trip and this much was not released by it: well above
/// the jitter of any path that the judgement accepts.
const CANDIDATE_NS: i64 = 30_000_000;
/// So many waits of each direction that may be holds are kept whatever they are. After them it is known how
/// exactly releases follow ACKs, and what lies beside that is the rhythm of a program, of which there may
/// be millions: no rule asks for more events than twenty.
const FIRST: u8 = 64;

/// What may have ended a wait during which a pure ACK came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The ACK.
    Ack,
    /// Only the program.
    Program,
    /// Either, on a path of which nothing is known, after many others like it.
    Either,
}

/// How far from the round trip data may be that an ACK released, at both ends of a path with such a jitter.
pub fn tolerance_ns(rtt_ns: i64, jitter_ns: i64) -> i64 {
    match rtt_ns {
        ..NETWORK_RTT_NS => LOCAL_TOLERANCE_NS,
        _ => (NETWORK_TOLERANCE_NS + 3 * jitter_ns).min(MAX_TOLERANCE_NS),
    }
}

impl Half {
    /// What may have ended this wait of the host's own, as far as the path is known by now; the clock ticks
    /// every `clock_ns`.
    pub fn ending(&mut self, wait: &Wait, clock_ns: i64) -> Ending {
        let path_ns = self.path_ns(wait);
        let off_ns = wait.release_ns() - path_ns;
        let near_ns = (1 + NEAR) * (tolerance_ns(path_ns, self.jitter_ns()) + clock_ns);
        if off_ns > near_ns.max(CANDIDATE_NS) {
            Ending::Program
        } else if self.candidates < FIRST {
            self.candidates += 1;
            Ending::Ack
        } else if self.rtt_ns == i64::MAX {
            Ending::Either
        } else if off_ns.abs() <= near_ns {
            Ending::Ack
        } else {
            Ending::Program
        }
    }

    /// Adds a pause of the program, if it is one: what was sent before the ACK can have arrived is none.
    pub fn add_pause(&mut self, wait: &Wait) {
        if wait.release_ns() > known(self.rtt_ns) {
            self.rarest_mut().pauses.add(Pause::new(wait));
        }
    }

    /// The round trip between the capture point and this host, or, as far as it is not known, the shortest
    /// time in which data followed an ACK.
    fn path_ns(&mut self, wait: &Wait) -> i64 {
        if self.has_syn() && self.rtt_ns != i64::MAX {
            return self.rtt_ns;
        }
        let rtt_ns = self.rtt_ns;
        let shortest_ns = &mut self.rarest_mut().shortest_release_ns;
        // Clocks may step back: a negative time is no measurement.
        *shortest_ns = wait.release_ns().max(0).min(*shortest_ns);
        rtt_ns.min(*shortest_ns)
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
