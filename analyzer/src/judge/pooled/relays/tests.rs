use super::*;
use crate::track::ends::Ends;
use crate::track::wait::{Facts, Wait};
use crate::track::{Connection, Endpoint, Mark};
use std::ops::RangeInclusive;

const MS: i64 = 1_000_000;
const US: i64 = 1_000;
const HELD: Facts =
    Facts::of([fact::OWN_DATA_BEFORE, fact::PURE_ACK, fact::SMALL, fact::UNACKED_SMALL]);

/// Connections on one host, each to a server of its own port, and the waits that ended there.
#[derive(Default)]
struct Host {
    block: Block,
}

impl Host {
    /// Connections to servers with these ports.
    fn with(ports: &[u16]) -> Self {
        let mut host = Self::default();
        for (id, &port) in ports.iter().enumerate() {
            let end = |port| Endpoint { addr: [127, 0, 0, 1].into(), port };
            let ends = Ends { client: end(50_000 + id as u16), server: end(port) };
            host.block.connections.push(Connection::new(id as u32, ends));
        }
        host.block.numbers = (0..ports.len() as u32).collect();
        host
    }

    /// The server of a connection sent `len` bytes then, 40 ms after its last ones, just after an ACK.
    fn sends(&mut self, connection: u32, time_ns: i64, len: u32) {
        self.held(Side::Server, connection, time_ns, len);
    }

    /// One side of it did.
    fn held(&mut self, by: Side, connection: u32, time_ns: i64, len: u32) {
        let frame = (time_ns / 1_000) as u32 + 1;
        let at = |time_ns, frame| Mark { time_ns, frame };
        self.block.waits.push(Wait {
            facts: HELD,
            from: at(time_ns - 40 * MS, frame),
            to: at(time_ns, frame),
            ack: at(time_ns - 60 * US, frame),
            rel_seq: time_ns as u64 / 1_000_000,
            len,
            ..Wait::unknown(connection, by)
        });
    }

    /// The relay's client asks connection 0 every 50 ms and has its reply after `wait_ns`; 80 us before, the
    /// relay sent the rest of its own request, which it had held for 40 ms, on connection 1.
    fn replies_after_held_requests(&mut self, turns: RangeInclusive<i64>, wait_ns: i64) {
        for turn in turns {
            let time_ns = turn * 50 * MS;
            self.held(Side::Client, 1, time_ns, 60);
            self.sends(0, time_ns + 80 * US, 90);
            if let Some(reply) = self.block.waits.last_mut() {
                reply.facts = Facts::NONE;
                reply.from.time_ns = reply.to.time_ns - wait_ns;
            }
        }
    }

    /// Connection 1 receives 12 bytes every 50 ms, and connection 0 passes on `len` 80 us later.
    fn relays(&mut self, turns: RangeInclusive<i64>, len: u32) {
        for turn in turns {
            self.sends(1, turn * 50 * MS, 12);
            self.sends(0, turn * 50 * MS + 80 * US, len);
        }
    }

    /// Connections that pass on, with the server they do it from, and how often.
    fn passed_on(self) -> Vec<(u32, u16, u32)> {
        let mut blocks = [self.block];
        let rows = mark(&mut blocks);
        let port = |id: u32| blocks[0].connections[id as usize].ends().server.port;
        let marked = |row: &&PassedOn, wait: &&Wait| {
            (wait.connection, wait.by) == (row.connection, row.by) && wait.is(fact::PASSED_ON)
        };
        let waits = |row: &PassedOn| {
            blocks[0].waits.iter().filter(|wait| marked(&row, wait)).count() as u32
        };
        rows.iter().map(|row| (row.connection, port(row.upstream), waits(row))).collect()
    }
}

#[test]
fn what_arrived_on_the_other_leg_was_passed_on() {
    let mut host = Host::with(&[8101, 8100]);
    // A proxy may add something.
    host.relays(1..=3, 90);
    assert_eq!(host.passed_on(), [(0, 8100, 3)]);
}

#[test]
fn a_chain_is_followed_hop_by_hop() {
    let mut host = Host::with(&[8102, 8101, 8100]);
    for turn in 1..=3 {
        for (hop, connection) in [2, 1, 0].into_iter().enumerate() {
            host.sends(connection, turn * 50 * MS + hop as i64 * 80 * US, 12);
        }
    }
    // From the leg before it, not from the one before that, though both are within the time.
    assert_eq!(host.passed_on(), [(0, 8101, 3), (1, 8100, 3)]);
}

#[test]
fn once_may_be_chance_unless_the_bytes_are_the_same() {
    for (len, known) in [(12, true), (90, false)] {
        let mut host = Host::with(&[8101, 8100]);
        host.relays(1..=1, len);
        assert_eq!(host.passed_on().len() == 1, known);
    }
}

/// A relay that sends its request in two pieces, of which Nagle's algorithm holds the second.
#[test]
fn a_reply_waited_while_the_relay_held_its_own_request() {
    let mut host = Host::with(&[8101, 8100]);
    host.replies_after_held_requests(1..=5, 41 * MS);
    assert_eq!(host.passed_on(), [(0, 8100, 5)]);
}

#[test]
fn a_plain_relay_may_hold_its_own_request_too() {
    let mut host = Host::with(&[8101, 8100]);
    host.relays(1..=3, 12);
    host.replies_after_held_requests(4..=8, 41 * MS);
    assert_eq!(host.passed_on(), [(0, 8100, 8)]);
}

#[test]
fn a_reply_that_took_much_longer_waited_for_something_else() {
    let mut host = Host::with(&[8101, 8100]);
    host.replies_after_held_requests(1..=5, 100 * MS);
    assert_eq!(host.passed_on(), []);
}

#[test]
fn another_host_holds_no_request_for_this_reply() {
    let mut host = Host::with(&[8101, 8100]);
    host.block.connections[1].change_ends(|ends| ends.client.addr = [10, 0, 0, 7].into());
    host.replies_after_held_requests(1..=5, 41 * MS);
    assert_eq!(host.passed_on(), []);
}

/// A relay with Nagle's algorithm on both its sockets: both timers fire in one tick.
#[test]
fn a_reply_held_beside_a_request_was_not_passed_on() {
    let mut host = Host::with(&[8101, 8100]);
    for turn in 1..=5 {
        host.held(Side::Client, 1, turn * 50 * MS, 60);
        host.sends(0, turn * 50 * MS + 80 * US, 90);
    }
    assert_eq!(host.passed_on(), []);
}

/// A plain relay with Nagle's algorithm: data that it held itself left long after it had arrived.
#[test]
fn a_relay_may_hold_too() {
    let mut host = Host::with(&[8101, 8100]);
    host.relays(1..=3, 12);
    for turn in 4..=12 {
        // Released in the same tick as the next piece upstream.
        host.sends(1, turn * 50 * MS, 12);
        host.sends(0, turn * 50 * MS + 20 * US, 30);
    }
    assert_eq!(host.passed_on(), [(0, 8100, 3)]);
}

/// Kernels release what many connections hold in the same tick, one right after the other.
#[test]
fn two_servers_that_hold_in_step_are_no_relays() {
    let mut host = Host::with(&[8101, 8100]);
    for turn in 1..=20 {
        host.sends(1, turn * 44 * MS, 12);
        host.sends(0, turn * 44 * MS + 6 * US, 12);
    }
    assert_eq!(host.passed_on(), []);
}

#[test]
fn in_no_order_nothing_is_passed_on() {
    let mut host = Host::with(&[8101, 8100]);
    for turn in 1..=20 {
        let first = turn as u32 % 2;
        host.sends(first, turn * 44 * MS, 12);
        host.sends(1 - first, turn * 44 * MS + 100 * US, 12);
    }
    assert_eq!(host.passed_on(), []);
}

/// A stalling server under load: something arrives on some connection all the time.
#[test]
fn clients_of_one_server_pass_nothing_on_to_each_other() {
    let mut host = Host::with(&[8100; 40]);
    for turn in 1..=5 {
        for connection in 0..40 {
            host.sends(connection, turn * 44 * MS + i64::from(connection) * 20 * US, 12);
        }
    }
    assert_eq!(host.passed_on(), []);
}

#[test]
fn another_host_passes_nothing_on() {
    let mut host = Host::with(&[8101, 8100]);
    host.block.connections[1].change_ends(|ends| ends.client.addr = [10, 0, 0, 7].into());
    host.relays(1..=5, 12);
    assert_eq!(host.passed_on(), []);
}

/// A relay in a container is called at the address of its host, and calls from its own.
fn two_addresses(client: [u8; 4], tsval: u32) -> Vec<(u32, u16, u32)> {
    let mut host = Host::with(&[8101, 8100]);
    let addrs = [(client, [10, 7, 1, 254]), ([10, 7, 2, 254], [10, 7, 2, 2])];
    for (connection, (client, server)) in host.block.connections.iter_mut().zip(addrs) {
        connection.change_ends(|ends| {
            (ends.client.addr, ends.server.addr) = (client.into(), server.into());
        });
    }
    host.relays(1..=5, 12);
    for (wait, turn) in host.block.waits.iter_mut().zip(0..) {
        wait.tsval = if turn % 2 == 0 { 700 + turn } else { tsval + turn - 1 };
    }
    host.passed_on()
}

#[test]
fn a_relay_may_have_two_addresses() {
    assert_eq!(two_addresses([10, 7, 1, 1], 90_000), [(0, 8100, 5)]);
}

#[test]
fn replicas_under_one_load_are_no_relays() {
    assert_eq!(two_addresses([10, 7, 2, 254], 90_000), []);
}

/// A connection before and after its addresses were translated.
#[test]
fn a_segment_captured_twice_was_not_passed_on() {
    assert_eq!(two_addresses([10, 7, 1, 1], 700), []);
}

#[test]
fn a_pool_of_connections_is_one_upstream() {
    let mut host = Host::with(&[8101, 8100, 8100, 8100]);
    for turn in 1..=9 {
        host.sends(1 + turn as u32 % 3, turn * 50 * MS, 12);
        host.sends(0, turn * 50 * MS + 80 * US, 90);
    }
    assert_eq!(host.passed_on(), [(0, 8100, 9)]);
}

/// A number of connections of which a sample is looked at first.
#[test]
fn of_many_waits_all_are_marked() {
    let mut host = Host::with(&[8101, 8100, 9000]);
    let turns = 30_000;
    for turn in 1..=turns {
        host.sends(1, turn * 50 * MS, 12);
        host.sends(0, turn * 50 * MS + 80 * US, 90);
        host.sends(2, turn * 50 * MS + 20 * MS, 12);
    }
    assert_eq!(host.passed_on(), [(0, 8100, turns as u32)]);
}

/// Short connections to two instances, each with one reply of 12 bytes: one in twenty follows one of the other's.
#[test]
fn instances_with_equal_replies_pass_nothing_on() {
    let ports: Vec<u16> = (0..80).map(|at| 8101 + at % 2).collect();
    let mut host = Host::with(&ports);
    for connection in 0..80 {
        let late_ns = if connection % 20 == 1 { 50 * MS - 80 * US } else { 0 };
        host.sends(connection, i64::from(connection + 1) * 50 * MS - late_ns, 12);
    }
    assert_eq!(host.passed_on(), []);
}
