//! How fast a sender reacts to an ACK, where both ends are on one host: a kernel at once, a program not.

use crate::judge::pooled::host_frames::{HostFrames, may_be_relay, path_ns};
use crate::judge::statistics;
use crate::judge::thresholds::{
    KERNEL_FRAME_NS, KERNEL_QUARTILE_NS, KERNEL_QUARTILE_RTTS, KERNEL_RTTS_A_FRAME, SHORTEST_RTT_NS,
};
use crate::track::wait::{Wait, fact};
use crate::track::{Connection, Side};

/// May the holds of a direction be what a relay passed on?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MayBeRelay {
    No,
    /// They leave as slowly as a program reacts, and the round trip allows for one host, or the server sends
    /// more than it is asked for; or the sender passes on elsewhere.
    Perhaps,
    /// As slowly within one host: of 50 such directions one held.
    Probably,
}

impl MayBeRelay {
    /// Of `held`, the holds of `side` among its `waits`. A relay and a hold look the same where one host
    /// has both ends, so that the timers of both legs fire at the same time; a broker and a hold over any
    /// network, where the server sends more than it is asked for.
    pub fn of<'a>(
        connection: &Connection,
        side: Side,
        waits: &[Wait],
        held: impl Iterator<Item = &'a Wait>,
        frames: &HostFrames,
    ) -> Self {
        let held: Vec<&Wait> = held.collect();
        let passes_on = waits.iter().any(|wait| wait.by == side && wait.is(fact::PASSED_ON));
        if held.is_empty() || !passes_on && !may_be_relay(connection, side, held.len()) {
            Self::No
        } else if passes_on {
            Self::Perhaps
        } else if !is_slower_than_kernel(connection, side, &held, frames) {
            Self::No
        } else if connection.is_loopback() {
            Self::Probably
        } else {
            Self::Perhaps
        }
    }
}

/// Are the reactions to ACKs slower than the kernel's own? Frames between ACK and segment keep it busy.
fn is_slower_than_kernel(
    connection: &Connection,
    side: Side,
    held: &[&Wait],
    frames: &HostFrames,
) -> bool {
    let rtt_ns = path_ns(connection).map(|rtt_ns| rtt_ns.max(SHORTEST_RTT_NS));
    let at_most = |most_ns: i64, (rtts, of): (i64, i64)| {
        rtt_ns.map_or(most_ns, |rtt_ns| most_ns.min(rtts * rtt_ns / of))
    };
    let frame_ns = at_most(KERNEL_FRAME_NS, KERNEL_RTTS_A_FRAME);
    let host = connection.endpoint(side).addr;
    let busy_ns = |wait: &Wait| frame_ns * frames.between(host, wait) as i64;
    let mut reactions_ns: Vec<i64> =
        held.iter().map(|wait| wait.release_ns() - busy_ns(wait)).collect();
    let quartile_ns = at_most(KERNEL_QUARTILE_NS, (KERNEL_QUARTILE_RTTS, 1));
    statistics::lower_quartile(&mut reactions_ns).is_some_and(|ns| ns >= quartile_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::story::Story;
    use crate::track::{Endpoint, Ends, Mark};
    use std::ops::Range;

    const US: i64 = 1_000;

    fn connection(client: [u8; 4], server: [u8; 4]) -> Connection {
        let [client, server] =
            [client, server].map(|addr| Endpoint { addr: addr.into(), port: 80 });
        Connection::new(0, Ends { client, server })
    }

    /// Holds whose segments left so long after their ACKs, with so many frames between them.
    fn held_behind(between: u64, releases_us: &[i64]) -> Vec<Wait> {
        let wait = |us: &i64| Wait {
            ack: Mark { time_ns: 0, frame: 2 },
            to: Mark { time_ns: us * US, frame: 3 + between },
            ..Wait::unknown(0, Side::Server)
        };
        releases_us.iter().map(wait).collect()
    }

    /// What the holds of the server are that are among its waits. These frames are its host's.
    fn relay(
        connection: &Connection,
        (waits, held): (&[Wait], &[Wait]),
        frames: Range<u64>,
    ) -> MayBeRelay {
        let frames = HostFrames::with(connection.ends.server.addr, frames.collect());
        MayBeRelay::of(connection, Side::Server, waits, held.iter(), &frames)
    }

    fn may_be_relays(connection: &Connection, releases_us: &[i64]) -> bool {
        may_be_relays_behind(0, connection, releases_us)
    }

    fn may_be_relays_behind(between: u64, connection: &Connection, releases_us: &[i64]) -> bool {
        let held = held_behind(between, releases_us);
        relay(connection, (&held, &held), 3..3 + between) != MayBeRelay::No
    }

    #[test]
    fn a_program_on_the_host_reacts_more_slowly_than_its_kernel() {
        let loopback = connection([127, 0, 0, 1], [127, 0, 0, 1]);
        // As measured: a plain relay, and a server that holds; both under load.
        assert!(may_be_relays(&loopback, &[41, 85, 107, 166, 198]));
        assert!(!may_be_relays(&loopback, &[7, 8, 11, 17, 120]));
        assert!(may_be_relays_behind(21, &loopback, &[421, 440, 458, 470]));
        assert!(!may_be_relays_behind(19, &loopback, &[96, 120, 146, 180]));
        assert!(!may_be_relays(&loopback, &[]));
    }

    /// Where a round trip takes 3 us, a relay forwards after 15 us.
    #[test]
    fn on_a_fast_machine_programs_are_faster_too() {
        let story = Story::between([127, 0, 0, 1], [127, 0, 0, 1]).handshake(0.0015, 0.0015);
        let fast = story.end().connection;
        assert!(may_be_relays(&fast, &[14, 18, 22, 25, 31]));
        assert!(!may_be_relays(&fast, &[3, 4, 6, 9, 80]));
        assert!(!may_be_relays_behind(10, &fast, &[35, 38, 42, 44, 60]));
    }

    #[test]
    fn frames_of_strangers_do_not_keep_its_kernel_busy() {
        let loopback = connection([127, 0, 0, 1], [127, 0, 0, 1]);
        let held = held_behind(19, &[96, 120, 146, 180]);
        assert_eq!(relay(&loopback, (&held, &held), 0..0), MayBeRelay::Probably);
    }

    /// Far from its sender a release shows how long the way is, not how fast the sender.
    #[test]
    fn what_a_server_sends_unasked_over_a_network_may_come_from_elsewhere() {
        let network = connection([10, 0, 0, 1], [10, 0, 0, 2]);
        assert!(may_be_relays(&network, &[85, 107, 166, 198]));
        // At the sender, where its kernel is seen to release.
        assert!(!may_be_relays(&network, &[7, 8, 9, 30]));
    }

    #[test]
    fn what_a_server_answers_over_a_network_comes_from_itself() {
        let mut network = connection([10, 0, 0, 1], [10, 0, 0, 2]);
        network.exchanges.count = 4;
        assert!(!may_be_relays(&network, &[85, 107, 166, 198]));
    }

    #[test]
    fn who_passes_on_elsewhere_may_do_so_here() {
        let network = connection([10, 0, 0, 1], [10, 0, 0, 2]);
        let mut waits = held_behind(0, &[7, 8, 9]);
        waits[2].facts |= fact::PASSED_ON;
        assert_eq!(relay(&network, (&waits, &waits[..2]), 0..0), MayBeRelay::Perhaps);
    }
}
