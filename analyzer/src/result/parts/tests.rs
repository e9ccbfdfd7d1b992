use super::*;
use crate::judge::causes::{Cause, ledger};
use crate::judge::findings::Ruling;
use crate::judge::model::Held;
use crate::track::story::{Story, client, server};
use crate::track::wait::Wait;
use crate::track::{Mark, Side};

const MS: i64 = 1_000_000;
const SURE: Held = Held { probability: 1.0, ..Held::NOT };

fn wait(by: Side, from_ms: i64, to_ms: i64) -> Wait {
    let [from, to] = [from_ms, to_ms].map(|ms| Mark { time_ns: ms * MS, frame: ms as u32 });
    Wait::between(0, by, from, to)
}

/// Request from 100 to 120 ms, response from 200 to 260 ms; one frame each ms.
fn parts(waits: &[(Wait, Cause, Held)], round_trip_ms: i64) -> [i64; 6] {
    let mark = |ms: i64| Mark { time_ns: ms * MS, frame: ms as u32 };
    let (asked_ns, answered_ns) = (120 * MS, 200 * MS);
    let exchange = Exchange { asked_ns, answered_ns, ..Exchange::between(0, mark(100), mark(260)) };
    let rulings: Vec<Ruling> =
        waits.iter().map(|&(_, cause, held)| Ruling::of(cause, held)).collect();
    let waits: Vec<Wait> = waits.iter().map(|(wait, ..)| *wait).collect();
    let parts = parts_of(&exchange, Findings::new(&waits, &rulings), round_trip_ms * MS);
    assert_eq!(parts.iter().sum::<i64>(), exchange.latency_ns());
    parts.map(|part_ns| part_ns / MS)
}

#[test]
fn what_no_wait_explains_goes_by_the_marks_of_the_exchange() {
    assert_eq!(parts(&[], 0), [20, 60, 0, 0, 0, 80]);
    assert_eq!(parts(&[], 30), [20, 90, 0, 0, 0, 50]);
    assert_eq!(parts(&[], 300), [20, 140, 0, 0, 0, 0]);
}

#[test]
fn each_wait_takes_its_time_from_the_part_in_which_it_lies() {
    let (client, server) = (Side::Client, Side::Server);
    let lost = (wait(client, 120, 150), Cause::Retransmission, Held::NOT);
    assert_eq!(parts(&[lost], 0), [20, 60, 30, 0, 0, 50]);
    let held = (wait(server, 210, 250), Cause::NagleDelack, SURE);
    assert_eq!(parts(&[held], 0), [20, 20, 0, 0, 40, 80]);
    let paused = (wait(server, 210, 250), Cause::SenderApp, Held::NOT);
    assert_eq!(parts(&[paused], 0), [20, 20, 0, 0, 0, 120]);
    let full = (wait(client, 105, 115), Cause::ZeroWindow, Held::NOT);
    assert_eq!(parts(&[full, held], 0), [10, 20, 0, 10, 40, 80]);
}

#[test]
fn a_stall_that_is_only_possible_is_no_held_time() {
    let maybe = Held { probability: 0.5, ..Held::NOT };
    let perhaps = (wait(Side::Server, 210, 250), Cause::NagleDelack, maybe);
    assert_eq!(parts(&[perhaps], 0), [20, 20, 0, 0, 0, 120]);
}

/// The request was lost behind the capture point and sent again while the server seemed to think.
#[test]
fn the_server_is_not_blamed_while_its_request_is_sent_again() {
    let again = (wait(Side::Client, 120, 190), Cause::Retransmission, Held::NOT);
    let thinks = (wait(Side::Server, 120, 200), Cause::SenderApp, Held::NOT);
    assert_eq!(parts(&[again, thinks], 0), [20, 60, 70, 0, 0, 10]);
}

#[test]
fn time_outside_of_the_exchange_is_no_part_of_it() {
    let idle = (wait(Side::Client, 10, 100), Cause::SenderApp, Held::NOT);
    let early = (wait(Side::Server, 90, 140), Cause::SenderApp, Held::NOT);
    let late = (wait(Side::Server, 250, 300), Cause::Retransmission, Held::NOT);
    assert_eq!(parts(&[idle, early, late], 0), parts(&[], 0));
}

/// The request reached the server, which is 30 ms away, at 140 ms by the round trip of that time.
#[test]
fn the_server_takes_what_its_wait_says_wherever_it_is_told() {
    let mut thinks = (wait(Side::Server, 120, 200), Cause::SenderApp, Held::NOT);
    assert_eq!(parts(&[thinks], 30), [20, 60, 0, 0, 0, 80]);
    thinks.0.turn_ns = 140 * MS;
    assert_eq!(parts(&[thinks], 30), [20, 80, 0, 0, 0, 60]);
}

/// Whatever waits there are, however they overlap, the parts are the latency: `parts` asserts it.
#[test]
fn no_instant_is_counted_twice() {
    let mut state = 1_u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    for _ in 0..1000 {
        let count = random(8);
        let mut waits: Vec<(Wait, Cause, Held)> = (0..count)
            .map(|_| {
                let from_ms = random(300) as i64;
                let by = if random(2) == 0 { Side::Client } else { Side::Server };
                let cause = ledger::ROWS[random(ledger::ROWS.len() as u64) as usize].cause;
                (wait(by, from_ms, from_ms + random(150) as i64), cause, SURE)
            })
            .collect();
        waits.sort_by_key(|(wait, ..)| wait.to.time_ns);
        assert!(parts(&waits, random(50) as i64).iter().all(|&part| part >= 0));
    }
}

#[test]
fn the_marks_of_an_exchange_are_those_of_request_and_response() {
    let ended = Story::new()
        .handshake(0.1, 1.0)
        .after_ms(1.0, client(100))
        .after_ms(2.0, client(1460))
        .after_ms(50.0, server(1460))
        .after_ms(0.1, client(0))
        .after_ms(3.0, server(1460))
        .after_ms(4.0, server(30))
        .after_ms(5.0, client(10))
        .after_ms(6.0, server(10))
        .end();
    let parts = ended.exchanges.iter().map(|row| parts_of(row, Findings::default(), MS));
    let us = parts.map(|parts| parts.map(|part_ns| part_ns / 1000)).collect::<Vec<Parts>>();
    assert_eq!(us, [[2000, 8100, 0, 0, 0, 49_000], [0, 1000, 0, 0, 0, 5000]]);
}

/// A resent response does not move the end of its request, nor where the response began.
#[test]
fn bytes_that_are_sent_again_move_no_mark() {
    let ended = Story::new()
        .handshake(0.1, 1.0)
        .after_ms(1.0, client(100))
        .after_ms(20.0, client(100).again())
        .after_ms(30.0, server(1460))
        .after_ms(2.0, server(10))
        .after_ms(9.0, server(10).again())
        .end();
    let [exchange] = &ended.exchanges[..] else { panic!("one exchange") };
    let begin_ns = exchange.begin.time_ns;
    assert_eq!(exchange.asked_ns, begin_ns);
    assert_eq!(exchange.answered_ns - begin_ns, 50 * MS);
    assert_eq!(exchange.latency_ns(), 52 * MS);
}
