//! Stalls in groups, as the owner of a service counts them: by server, side that holds and cause.
//!
//! A thousand clients of one server are one group: the pair of hosts that loses most stands for it.

mod pairs;
mod pieces;
mod sockets;
mod sums;

pub use self::pairs::HostPair;

use self::pairs::{of_hosts, pairs};
use self::sums::StallSums;

use crate::judge::causes::Cause;
use crate::judge::finding::judged::JudgedConnection;
use crate::judge::nagle::nodelay::{Nagle, NagleTotals};
use crate::result::scan::Scan;
use crate::result::sums::Sum;
use crate::track::{Endpoint, Side};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::net::IpAddr;

/// Stalls of one side of one server's connections, with one cause.
#[derive(Debug, Clone)]
pub struct ServerGroup {
    /// The pair of hosts that loses most.
    pub worst: HostPair,
    pub sums: StallSums,
    /// Hosts at the other end of the server.
    pub clients: u64,
    /// Unknown unless all pairs agree.
    pub nagle: Nagle,
    /// The sockets of that side, on all connections to the server.
    pub sockets: NagleTotals,
    /// The stack that delays the ACKs; empty if it is unknown, or not the same for all.
    pub consistent_with: &'static str,
    /// Does every receiver acknowledge at once while a connection is young?
    pub quick_acks: bool,
    /// Is there a pair in which most of what was unacknowledged is full-sized?
    pub some_full_sized: bool,
}

/// All stalls by server, side and cause; the surest groups come first, then the costliest.
pub fn server_groups(scan: &Scan) -> Vec<ServerGroup> {
    let mut groups = merged(pairs(scan));
    sockets::count(scan, &mut groups);
    groups
}

/// Cause and side of the surest stalls of a connection, of equals those that lose most.
pub fn main_kind(scan: &Scan, connection: usize) -> Option<(Cause, Side)> {
    let connections = [connection];
    let kinds = of_hosts(scan, &connections);
    let main = kinds.min_by_key(|kind| order(&kind.sums));
    main.map(|kind| (kind.cause, kind.sender))
}

/// Cause, whether the server is the one that holds, and the server.
type GroupKey = (Cause, bool, IpAddr, u16);

/// `pairs` come with those first that lose most.
fn merged(pairs: Vec<HostPair>) -> Vec<ServerGroup> {
    let mut places: HashMap<GroupKey, usize, RandomState> = HashMap::default();
    let mut groups: Vec<ServerGroup> = Vec::new();
    for pair in pairs {
        let key = (pair.cause, pair.sender == Side::Server, pair.server_addr(), pair.server_port);
        let place = *places.entry(key).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.add(&pair),
            None => groups.push(ServerGroup::new(pair)),
        }
    }
    groups.sort_by_key(|group| order(&group.sums));
    groups
}

/// The surest come first, of equals those that lose most.
fn order(sums: &StallSums) -> impl Ord + use<> {
    (Reverse(sums.by_confidence.surest()), sums.by_confidence.order())
}

impl ServerGroup {
    fn new(worst: HostPair) -> Self {
        Self {
            sums: worst.sums,
            clients: 1,
            nagle: worst.nagle,
            sockets: NagleTotals::default(),
            consistent_with: worst.consistent_with(),
            quick_acks: worst.has_quick_acks(),
            some_full_sized: worst.pieces.unacked_full_sized,
            worst,
        }
    }

    /// The cause, and the side that holds.
    pub fn kind(&self) -> (Cause, Side) {
        (self.worst.cause, self.worst.sender)
    }

    /// Is the connection one to its server?
    pub fn is_of(&self, judged: &JudgedConnection) -> bool {
        judged.half(Side::Server).endpoint == self.server()
    }

    fn server(&self) -> Endpoint {
        Endpoint { addr: self.worst.server_addr(), port: self.worst.server_port }
    }

    /// Adds a pair that loses no more than the worst.
    fn add(&mut self, pair: &HostPair) {
        self.sums.add_up(pair.sums);
        self.clients += 1;
        if pair.nagle != self.nagle {
            self.nagle = Nagle::Unknown;
        }
        if pair.consistent_with() != self.consistent_with {
            self.consistent_with = "";
        }
        self.quick_acks &= pair.has_quick_acks();
        self.some_full_sized |= pair.pieces.unacked_full_sized;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::nagle::timers::Timer;
    use crate::result::groups::pieces::Pieces;
    use crate::result::totals::ByConfidence;

    const MS: i64 = 1_000_000;

    /// A client of 10.0.0.9:443 that holds two segments.
    fn pair(client: u8, stalled_ms: i64) -> HostPair {
        HostPair {
            cause: Cause::NagleDelack,
            sender: Side::Client,
            sender_addr: [10, 0, 0, client].into(),
            receiver_addr: [10, 0, 0, 9].into(),
            server_port: 443,
            sums: sums([0, 0, 2], [0, 0, stalled_ms]),
            connections: 1,
            exchanges: 5,
            nagle: Nagle::On,
            nagle_proof: (2, 3),
            ack_delays: timer(40),
            ack_after: None,
            pieces: Pieces::default(),
        }
    }

    fn sums(stalls: [u64; 3], stalled_ms: [i64; 3]) -> StallSums {
        let mut sums = StallSums::default();
        sums.by_confidence = ByConfidence { stalls, stalled_ns: stalled_ms.map(|ms| ms * MS) };
        sums
    }

    fn timer(delay_ms: i64) -> Option<Timer> {
        Timer::of(&mut [delay_ms * MS])
    }

    #[test]
    fn clients_of_one_server_are_one_group_and_the_worst_stands_for_them() {
        let groups = merged(vec![pair(1, 80), pair(2, 70), pair(3, 10)]);
        let [group] = &groups[..] else { panic!("{groups:#?}") };
        assert_eq!((group.clients, group.sums.by_confidence.total()), (3, (6, 160 * MS)));
        assert_eq!(group.worst.sender_addr, pair(1, 80).sender_addr);
        assert_eq!(
            (group.nagle, group.consistent_with),
            (Nagle::On, "Linux, or Windows 8 and later, 40 ms")
        );
        assert!(group.quick_acks && !group.some_full_sized);
    }

    #[test]
    fn what_pairs_do_not_share_is_not_said_of_the_group() {
        let slow = HostPair { ack_delays: timer(200), nagle: Nagle::Off, ..pair(2, 70) };
        let tail = Pieces { unacked_full_sized: true, ..Pieces::default() };
        let unmeasured = HostPair { ack_delays: None, pieces: tail, ..pair(3, 60) };
        for other in [slow, unmeasured] {
            let full_sized = other.pieces.unacked_full_sized;
            let nagle = if other.nagle == Nagle::On { Nagle::On } else { Nagle::Unknown };
            let groups = merged(vec![pair(1, 80), other, pair(4, 10)]);
            let [group] = &groups[..] else { panic!("{groups:#?}") };
            assert_eq!((group.nagle, group.consistent_with), (nagle, ""));
            assert_eq!((group.quick_acks, group.some_full_sized), (false, full_sized));
        }
    }

    #[test]
    fn a_group_may_be_a_relay_if_most_of_its_stalls_may_be() {
        let mut maybe = pair(2, 70);
        maybe.sums.as_of_relay = 2;
        let may_be_relay = |pairs| merged(pairs)[0].sums.may_be_of_relay();
        assert!(may_be_relay(vec![pair(1, 80), maybe.clone(), maybe.clone()]));
        assert!(!may_be_relay(vec![pair(1, 80), maybe]));
    }

    #[test]
    fn another_server_port_side_or_cause_is_another_group() {
        let pairs = vec![
            pair(1, 80),
            HostPair { cause: Cause::NagleRtt, ..pair(1, 70) },
            HostPair { receiver_addr: [10, 0, 0, 8].into(), ..pair(1, 60) },
            HostPair { server_port: 80, ..pair(1, 50) },
            HostPair { sender: Side::Server, sender_addr: [10, 0, 0, 9].into(), ..pair(1, 40) },
        ];
        let groups = merged(pairs);
        assert!(groups.iter().all(|group| group.clients == 1));
        assert_eq!(groups.len(), 5);
    }

    #[test]
    fn the_surest_group_comes_first_and_of_equals_the_one_that_loses_most() {
        let one = HostPair { server_port: 80, ..pair(1, 50) };
        let unsure =
            HostPair { server_port: 81, sums: sums([90, 0, 0], [90, 0, 0]), ..pair(1, 90) };
        let mixed = sums([99, 80, 1], [99, 80, 1]);
        let likely = HostPair { server_port: 82, sums: mixed, ..pair(1, 180) };
        let groups = merged(vec![unsure, one, likely, pair(1, 40), pair(2, 30)]);
        let lost: Vec<i64> =
            groups.iter().map(|group| group.sums.by_confidence.total().1 / MS).collect();
        assert_eq!(lost, [180, 70, 50, 90]);
    }
}
