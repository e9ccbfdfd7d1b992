use super::*;
use crate::track::arrivals::Arrival;
use crate::track::ends::Ends;
use crate::track::wait::Facts;
use crate::track::{Connection, Mark};

const MS: i64 = 1_000_000;
const US: i64 = 1_000;
const HELD: Facts =
    Facts::of([fact::OWN_DATA_BEFORE, fact::PURE_ACK, fact::SMALL, fact::UNACKED_SMALL]);

/// A server, captured there, and its clients: what it sends them, and when they send something.
struct Server {
    block: Block,
}

impl Server {
    fn with(clients: u16) -> Self {
        let mut block = Block::default();
        for id in 0..clients {
            let client = Endpoint { addr: [10, 0, 0, 1].into(), port: 50_000 + id };
            let server = Endpoint { addr: [10, 0, 0, 2].into(), port: 6379 };
            block.connections.push(Connection::new(id.into(), Ends { client, server }));
        }
        block.numbers = (0..clients.into()).collect();
        Self { block }
    }

    fn receives(&mut self, connection: u32, time_ns: i64) {
        self.block.arrivals.push(Arrival { connection, time_ns });
    }

    /// It sends something so long after an ACK.
    fn sends(&mut self, connection: u32, time_ns: i64, acked_ns: i64) {
        let at = |time_ns| Mark { time_ns, frame: (time_ns / 100) as u32 };
        self.block.waits.push(Wait {
            facts: HELD,
            from: at(time_ns - 40 * MS),
            to: at(time_ns),
            ack: at(time_ns - acked_ns),
            len: 12,
            ..Wait::unknown(connection, Side::Server)
        });
    }

    /// How many waits of each connection ended because something arrived.
    fn passed_on(self) -> Vec<usize> {
        let mut blocks = [Block::default(), self.block];
        mark(&mut blocks, 2);
        let [_, block] = blocks;
        let marked = |id| {
            let own = block.waits.iter().filter(|wait| wait.connection == id);
            own.filter(|wait| wait.is(fact::PASSED_ON)).count()
        };
        (0..block.connections.len() as u32).map(marked).collect()
    }
}

/// Sums of this many different steps: numbers that follow no rule, the same each time.
fn uneven(turn: i64, most: i64) -> i64 {
    (turn * 7_919 + turn * turn * 104_729) % most
}

/// The publisher's next message comes after the subscriber's ACK, for both took the same round trip.
#[test]
fn a_broker_sends_to_a_subscriber_what_a_publisher_sent() {
    let mut server = Server::with(2);
    for turn in 1..=20 {
        let arrived_ns = turn * 50 * MS;
        server.receives(1, arrived_ns);
        server.sends(0, arrived_ns + 90 * US + turn % 5 * US, 150 * US + uneven(turn, 400 * US));
    }
    assert_eq!(server.passed_on(), [20, 0]);
}

/// A server that answers in two pieces each time it is asked.
#[test]
fn who_sends_no_more_often_than_it_is_asked_is_no_broker() {
    for (asked, passed_on) in [(19, 20), (20, 0)] {
        let mut server = Server::with(2);
        server.block.connections[0].exchanges.count = asked;
        for turn in 1..=20 {
            server.receives(1, turn * 50 * MS);
            server.sends(0, turn * 50 * MS + 90 * US, 150 * US + uneven(turn, 400 * US));
        }
        assert_eq!(server.passed_on(), [passed_on, 0]);
    }
}

/// A broker without `TCP_NODELAY`: data that arrived long before left when the ACK came.
#[test]
fn a_broker_may_hold_too() {
    let mut server = Server::with(2);
    for turn in 1..=20 {
        let arrived_ns = turn * 50 * MS;
        server.receives(1, arrived_ns);
        if turn % 2 == 0 {
            server.sends(0, arrived_ns + 90 * US, 150 * US + uneven(turn, 400 * US));
        } else {
            server.sends(0, arrived_ns + 3 * MS + uneven(turn, MS), 10 * US);
        }
    }
    assert_eq!(server.passed_on(), [10, 0]);
}

/// Something arrives on some connection all the time.
#[test]
fn a_busy_server_that_holds_passes_nothing_on() {
    let mut server = Server::with(40);
    for turn in 1..=2_000 {
        server.receives(1 + turn as u32 % 39, turn * MS / 2 + uneven(turn, 400 * US));
    }
    for turn in 1..=20 {
        server.sends(0, turn * 47 * MS + uneven(turn, 5 * MS), 10 * US + uneven(turn, 20 * US));
    }
    assert_eq!(server.passed_on().iter().sum::<usize>(), 0);
}

/// The delayed-ACK timers of all clients fire in the same ticks. Each asks again when it has its answer.
#[test]
fn clients_in_lock_step_pass_nothing_on_to_each_other() {
    let mut server = Server::with(40);
    for turn in 1..=10 {
        for client in 0..40 {
            let acked_ns = turn * 44 * MS + i64::from(client) * 20 * US;
            server.sends(
                client,
                acked_ns + 8 * US + uneven(turn, 9 * US),
                8 * US + uneven(turn, 9 * US),
            );
            server.receives(client, acked_ns + 90 * US + uneven(turn, 30 * US));
        }
    }
    assert_eq!(server.passed_on().iter().sum::<usize>(), 0);
}

/// Its data for one client never came from the other server.
#[test]
fn another_server_on_the_host_receives_nothing_for_it() {
    let mut server = Server::with(2);
    server.block.connections[1].change_ends(|ends| ends.server.port = 80);
    for turn in 1..=20 {
        server.receives(1, turn * 50 * MS);
        server.sends(0, turn * 50 * MS + 90 * US, 150 * US + uneven(turn, 400 * US));
    }
    assert_eq!(server.passed_on(), [0, 0]);
}
