//! Each cause beside a look-alike that must not get its name.

use super::{Cause, explain, ledger};
use crate::judge::ack_delay::AckDelay;
use crate::judge::causes::cork::Corks;
use crate::judge::causes::patterns::Patterns;
use crate::judge::causes::slow_link::SlowLink;
use crate::judge::direction::Direction;
use crate::judge::doubts::size::may_hold;
use crate::judge::doubts::{Doubts, hides};
use crate::judge::model::Held;
use crate::judge::path::{Basis, Path};
use crate::track::ending::Ending;
use crate::track::wait::{End, Facts, Wait, fact};
use crate::track::{Mark, Side};

const HELD: Facts =
    Facts::of([fact::OWN_DATA_BEFORE, fact::PURE_ACK, fact::SMALL, fact::UNACKED_SMALL]);

/// A small segment 44 ms after another, 30 us after the pure ACK; captured at the sender, 2 ms of
/// round trip away from the receiver.
fn held() -> Wait {
    let at = |time_ns: i64, frame| Mark { time_ns, frame };
    Wait {
        facts: HELD,
        from: at(0, 10),
        to: at(44_030_000, 12),
        ack: at(44_000_000, 11),
        rel_seq: 100,
        len: 6,
        unacked_len: 143,
        ..Wait::unknown(0, Side::Client)
    }
}

/// Waits for delayed ACKs, where Nagle's algorithm may hold data.
fn direction() -> Direction {
    let path = Path { rtt_ms: Some(0.02), samples: 20, basis: Basis::Handshake, ..Path::default() };
    Direction { path, acks: AckDelay::of_round_trip(2.0), ..Direction::default() }
}

fn cause_of(wait: &Wait, direction: &Direction) -> Cause {
    cause_by(wait, held_if_possible(wait), direction, Patterns::default())
}

fn held_if_possible(wait: &Wait) -> Held {
    let freed = wait.has_pure_ack() || wait.is(fact::DATA_ACK);
    let probability = if freed && may_hold(wait) { 1.0 } else { 0.0 };
    Held { probability, ..Held::NOT }
}

fn cause_by(wait: &Wait, held: Held, direction: &Direction, patterns: Patterns) -> Cause {
    ledger::ROWS[usize::from(ledger::row_of(wait, held, direction, &patterns))].cause
}

fn cause(wait: Wait) -> Cause {
    cause_of(&wait, &direction())
}

/// An example of each cause: a new one needs its own.
fn example(cause: Cause) -> (Wait, Direction, Patterns) {
    let own = |facts| Wait { facts: fact::OWN_DATA_BEFORE | facts, ..held() };
    let prompt = Direction { acks: AckDelay::default(), ..direction() };
    let mut patterns = Patterns::default();
    let (wait, direction) = match cause {
        Cause::NagleDelack => (held(), direction()),
        Cause::NagleReply => (own(HELD.without(fact::PURE_ACK) | fact::DATA_ACK), prompt),
        Cause::NagleRtt => (held(), prompt),
        Cause::Retransmission => (own(fact::RETRANSMITTED), direction()),
        Cause::Connect => (Wait { end: End::Syn, ..own(fact::RETRANSMITTED) }, direction()),
        Cause::StopAndWait => {
            patterns.one_at_a_time = true;
            (own(fact::PURE_ACK), direction())
        }
        Cause::Cork => {
            patterns.corks = Corks { longest_ns: i64::MAX, is_repeated: true, ..Corks::default() };
            (Wait { ack: Mark::NONE, ..own(fact::SMALL) }, direction())
        }
        Cause::SlowLink => {
            let queued = Wait { ack: Mark::NONE, tsval: 7, ..own(Facts::NONE) };
            let quickest = (queued.from.time_ns, 7);
            patterns.link = SlowLink { step_ns: 1e6, ticks: 1, quickest, is_shown: true };
            (queued, direction())
        }
        Cause::Unanswered => {
            (Wait { end: End::InVain(Ending::Capture), facts: Facts::NONE, ..held() }, direction())
        }
        Cause::ZeroWindow => (own(fact::ZERO_WINDOW), direction()),
        Cause::PassedOn => (own(HELD | fact::PASSED_ON), direction()),
        Cause::CongestionWindow => (own(fact::PURE_ACK | fact::LARGE_FLIGHT), direction()),
        Cause::DelayedAck => (own(fact::PURE_ACK), direction()),
        Cause::SenderApp => (Wait { ack: Mark::NONE, facts: Facts::NONE, ..held() }, direction()),
        Cause::Unknown => (Wait { ack: Mark::NONE, ..own(fact::UNSEEN) }, direction()),
    };
    (wait, direction, patterns)
}

#[test]
fn each_cause_is_recognised() {
    for name in Cause::NAMES {
        let row = ledger::ROWS.iter().find(|row| row.cause.name() == name).unwrap();
        let (wait, direction, patterns) = example(row.cause);
        let held = held_if_possible(&wait);
        assert_eq!(cause_by(&wait, held, &direction, patterns), row.cause);
    }
}

#[test]
fn where_the_answer_to_the_syn_took_as_long_the_first_ack_is_not_late() {
    let mut acks = direction().acks;
    acks.syn_took_ns = Some(230_000_000);
    let slow = Direction { acks, ..direction() };
    let first = Wait { rel_seq: 143, ..held() };
    assert_eq!(cause_of(&first, &slow), Cause::NagleRtt);
    assert_eq!(cause_of(&Wait { rel_seq: 500, ..held() }, &slow), Cause::NagleDelack);
}

#[test]
fn what_was_not_held_is_the_programs_pause() {
    for held_or_not in [Held::NOT, Held { is_open: true, ..Held::NOT }] {
        let cause = cause_by(&held(), held_or_not, &direction(), Patterns::default());
        assert_eq!(cause, Cause::SenderApp);
    }
}

#[test]
fn a_closed_window_is_not_a_hold_and_its_probe_no_loss() {
    assert_eq!(cause(Wait { facts: HELD | fact::ZERO_WINDOW, ..held() }), Cause::ZeroWindow);
    let probe = fact::RETRANSMITTED | fact::ZERO_WINDOW;
    assert_eq!(cause(Wait { facts: probe, ..held() }), Cause::ZeroWindow);
}

#[test]
fn without_the_receivers_acks_neither_the_program_nor_a_loss_is_blamed() {
    let facts = fact::OWN_DATA_BEFORE | fact::UNACKED_AT_SEND;
    let no_ack = Mark { time_ns: 0, frame: 0 };
    let wait = Wait { facts, ack: no_ack, ..held() };
    let one_way = Direction { doubts: Doubts::hiding(hides::ACKS), ..direction() };
    assert_eq!(cause(wait), Cause::SenderApp);
    assert_eq!(cause_of(&wait, &one_way), Cause::Unknown);
}

/// A receiver may keep its ACK for 250 ms: only bytes that come again show a loss.
#[test]
fn new_data_after_200_ms_is_a_probe_if_the_bytes_before_it_come_again() {
    let facts = fact::OWN_DATA_BEFORE | fact::UNACKED_AT_SEND | fact::IN_FLIGHT;
    let to = Mark { time_ns: 220_000_000, frame: 12 };
    let late = Wait { facts, ack: Mark::NONE, to, ..held() };
    let probe = Wait { facts: facts | fact::LOST_BEFORE, ..late };
    assert_eq!((cause(late), cause(probe)), (Cause::SenderApp, Cause::Retransmission));
    let soon = Wait { to: Mark { time_ns: 13_000_000, ..to }, ..probe };
    assert_eq!(cause(soon), Cause::SenderApp);
}

#[test]
fn every_cause_has_its_name_its_file_and_its_documentation() {
    let headings =
        ["What happens", "How it is recognised", "What it is not", "What to do", "References"];
    for name in Cause::NAMES {
        let sections: Vec<_> = explain(name)
            .unwrap_or_default()
            .split("# ")
            .skip(1)
            .map(|section| section.split_once('\n').unwrap_or((section, "")))
            .collect();
        assert!(sections.iter().map(|(heading, _)| *heading).eq(headings), "{name}");
        assert!(sections.iter().all(|(_, text)| !text.trim().is_empty()), "{name}");
    }
}

#[test]
fn nothing_else_is_explained() {
    assert!(["", "mod", "tests", "nagle"].iter().all(|name| explain(name).is_none()));
}

#[test]
fn a_full_window_seen_from_afar_is_told_by_data_that_no_ack_of_the_last_can_have_freed() {
    let path = Path { rtt_ms: Some(26.0), ..direction().path };
    let afar = Direction { path, ..direction() };
    let stream = Wait {
        facts: fact::OWN_DATA_BEFORE | fact::PURE_ACK | fact::LARGE_FLIGHT,
        to: Mark { time_ns: 15_000_000, frame: 12 },
        ack: Mark { time_ns: 10_000, frame: 11 },
        ..held()
    };
    assert_eq!(cause_of(&stream, &afar), Cause::CongestionWindow);
    assert_eq!(cause_of(&Wait { ack: Mark::default(), ..stream }, &afar), Cause::CongestionWindow);
    let late = Wait { to: Mark { time_ns: 40_000_000, frame: 12 }, ..stream };
    assert_eq!(cause_of(&late, &afar), Cause::Unknown);
    let small = Wait { facts: stream.facts | fact::SMALL, ..stream };
    assert_eq!(cause_by(&small, Held::NOT, &afar, Patterns::default()), Cause::SenderApp);
    let few = Wait { facts: stream.facts.without(fact::LARGE_FLIGHT), ..stream };
    assert_eq!(cause_of(&few, &afar), Cause::Unknown);
}
