//! The end of a wait, fact by fact. The client is captured at home, 1 ms away from its server.

use crate::track::story::{Story, StorySegment, client, server};
use crate::track::wait::{Wait, fact};
use crate::track::{Mark, Side};

const MS: i64 = 1_000_000;

fn connected() -> Story {
    Story::new().handshake(0.02, 1.0)
}

/// A small segment, its delayed ACK, and what the ACK released.
fn held(released: StorySegment) -> Wait {
    let story = connected().after_ms(0.0, client(100)).after_ms(40.0, server(0));
    only(story.after_ms(0.02, released))
}

fn only(story: Story) -> Wait {
    *story.end().wait()
}

fn contradictions(story: Story) -> u32 {
    story.half(Side::Client).contradictions()
}

#[test]
fn a_held_segment_has_its_unacked_one_and_its_ack() {
    let wait = held(client(50));
    assert!(wait.is(fact::OWN_DATA_BEFORE | fact::PURE_ACK | fact::UNACKED_SMALL | fact::SMALL));
    assert_eq!((wait.from.frame, wait.ack.frame, wait.to.frame), (4, 5, 6));
    assert_eq!((wait.ack_ns(), wait.release_ns()), (40 * MS, MS / 50));
    assert_eq!((wait.unacked_len, wait.rel_seq, wait.len), (100, 100, 50));
    assert!(!wait.has_any(fact::HINDERED | fact::FIN | fact::URGENT | fact::LARGE_FLIGHT));
}

/// A FIN, urgent data and full-sized segments leave at once; a FIN with the ACK comes from the program.
#[test]
fn what_nagle_lets_go_is_marked() {
    assert!(held(client(50).fin()).is(fact::FIN));
    assert!(held(client(50).urg()).is(fact::URGENT));
    assert!(!held(client(1460)).is(fact::SMALL));
    let story = connected().after_ms(0.0, client(100)).after_ms(40.0, server(0).fin());
    assert!(only(story.after_ms(0.02, client(50))).is(fact::ACK_FIN));
}

/// The server, where the capture was taken, has spoken last; it is idle until it is asked, which crosses
/// its data, and holds the answer.
#[test]
fn what_was_idle_before_it_was_asked_is_not_held() {
    let asked = |acked: i64| {
        let spoken = Story::new().handshake(26.0, 0.02).after_ms(0.0, server(100));
        let crossed = spoken.after_ms(6.0, client(50).ack(0));
        let told = crossed.after_ms(60.0, client(0)).after_ms(0.02, server(80).ack(acked)).end();
        *told.waits.iter().rfind(|wait| wait.by == Side::Server).unwrap()
    };
    let answer = asked(50);
    assert!(answer.is(fact::OWN_DATA_BEFORE | fact::PURE_ACK | fact::DATA_CAME));
    assert_eq!((answer.span_ns(), answer.wait_ns()), (66 * MS + MS / 50, 60 * MS));
    assert!(answer.is(fact::IN_EXCHANGE));
    // It left before the request came.
    assert_eq!(asked(0).wait_ns(), 66 * MS + MS / 50);
}

#[test]
fn an_answer_is_a_wait_of_who_was_asked_if_it_is_long_without_the_way() {
    let wait = only(connected().after_ms(0.0, client(100)).after_ms(30.0, server(100)));
    assert_eq!((wait.by, wait.from.frame, wait.to.frame), (Side::Server, 4, 5));
    assert!(!wait.has_any(fact::OWN_DATA_BEFORE | fact::PURE_ACK));
    assert_eq!(wait.ack, Mark::NONE);
    for (rtt_ms, answer_ms) in [(1.0, 9.0), (30.0, 35.0)] {
        let asked = Story::new().handshake(0.02, rtt_ms).after_ms(0.0, client(100));
        assert!(asked.after_ms(answer_ms, server(100)).end().waits.is_empty());
    }
}

#[test]
fn an_ack_with_data_is_answered_by_the_program() {
    let story = connected().after_ms(0.0, client(100)).after_ms(1.0, server(10));
    let wait = only(story.after_ms(40.0, client(50)));
    assert!(!wait.has_any(fact::OWN_DATA_BEFORE | fact::PURE_ACK));
}

/// A burst of the peer; the ACK that may have freed the sender is as old as the burst's first segment.
fn crossing(acknowledged: i64) -> Vec<Wait> {
    let told = connected()
        .after_ms(0.0, client(100))
        .after_ms(40.0, server(0))
        .after_ms(0.01, server(10))
        .after_ms(0.01, server(10))
        .after_ms(3.0, server(10))
        .after_ms(12.0, client(50).ack(acknowledged));
    told.end().waits
}

#[test]
fn what_a_segment_answers_is_told_by_its_own_ack() {
    // It acknowledges all, or what came together with the ACK: it may be the answer.
    for (acknowledged, frame) in [(30, 8), (20, 6), (10, 6)] {
        let waits = crossing(acknowledged);
        let last = waits.last().unwrap();
        assert_eq!((last.from.frame, last.to.frame), (frame, 9), "{acknowledged}");
        assert!(!last.has_any(fact::OWN_DATA_BEFORE | fact::PURE_ACK));
    }
    // Nothing of the burst had come when it left.
    assert!(crossing(0)[1].is(fact::OWN_DATA_BEFORE | fact::PURE_ACK));
}

#[test]
fn the_ack_tells_what_was_unacked_before_it() {
    let freed = |sent: &[u32], acked: i64, next: u32| {
        let send = |story: Story, &len| story.after_ms(0.0, client(len));
        let story = sent.iter().fold(connected(), send).after_ms(40.0, server(0).ack(acked));
        only(story.after_ms(0.02, client(next)))
    };
    // The small segment before a full-sized one was unacked, too.
    assert!(freed(&[100, 1460], 1560, 50).is(fact::UNACKED_SMALL | fact::PURE_ACK));
    assert!(!freed(&[1460], 1460, 50).is(fact::UNACKED_SMALL));
    assert!(freed(&[100, 1460], 100, 50).is(fact::PURE_ACK));
    // The ACK only makes room.
    let wait = freed(&[1460, 1460], 1460, 1460);
    assert!(wait.is(fact::ADVANCING_ACK) && !wait.is(fact::PURE_ACK));
    assert_eq!(wait.ack.frame, 6);
}

#[test]
fn a_segment_that_leaves_before_any_ack_shows_that_nothing_held_it() {
    let wait = only(connected().after_ms(0.0, client(100)).after_ms(40.0, client(50)));
    assert!(wait.is(fact::OWN_DATA_BEFORE | fact::UNACKED_AT_SEND));
    assert!(!wait.has_ack());
}

#[test]
fn more_than_an_initial_window_in_flight_may_have_filled_the_congestion_window() {
    for (segments, large) in [(9, false), (10, true)] {
        let flight = connected().times(segments, |story| story.after_ms(0.0, client(1460)));
        let story = flight.after_ms(40.0, server(0)).after_ms(0.02, client(50));
        assert_eq!(only(story).is(fact::LARGE_FLIGHT), large);
    }
}

/// A window counts 128 bytes.
#[test]
fn a_window_without_room_is_a_reason_to_wait() {
    let sent = |window: u16, len: u32| {
        connected().after_ms(0.0, server(0).window(window)).after_ms(0.0, client(len))
    };
    let acked = |story: Story| story.after_ms(40.0, server(0)).after_ms(0.02, client(50));
    assert!(only(acked(sent(512, 100).after_ms(1.0, server(0).window(0)))).is(fact::ZERO_WINDOW));
    assert!(only(acked(sent(1, 100))).is(fact::WINDOW_FULL));
    // A sender waits before it fills a window below the MSS (RFC 1122, section 4.2.3.4).
    let small = || sent(7, 400).after_ms(1.0, server(0).window(7));
    assert!(only(small().after_ms(200.0, client(896))).is(fact::WINDOW_FULL));
    assert!(!only(small().after_ms(200.0, client(500))).is(fact::WINDOW_FULL));
}

/// Bytes of the sender, or an answer that it acknowledges.
#[test]
fn bytes_missing_from_the_capture_leave_the_reason_open() {
    let acked =
        |bytes: i64| connected().after_ms(0.0, client(100)).after_ms(40.0, server(0).ack(bytes));
    assert!(only(acked(300).after_ms(0.02, client(50).seq(300))).is(fact::UNSEEN));
    assert!(only(acked(100).after_ms(0.02, client(50).ack(300))).is(fact::UNSEEN));
    // The answer before that one is missing: it came before the wait.
    let story = connected()
        .after_ms(0.0, client(100).ack(300))
        .after_ms(40.0, server(0).seq(300))
        .after_ms(0.02, client(50));
    assert!(!only(story).is(fact::UNSEEN));
}

#[test]
fn missing_bytes_that_are_sent_again_were_lost() {
    let told = connected()
        .after_ms(0.0, client(100).ip_id(1))
        .after_ms(40.0, client(50).seq(200).ip_id(3))
        .after_ms(20.0, client(100).seq(100).ip_id(4))
        .end();
    assert!(told.waits[0].is(fact::LOST_BEFORE));
}

#[test]
fn new_data_after_a_retransmission_waited_for_its_recovery() {
    let told = connected()
        .after_ms(0.0, client(1460).ip_id(1))
        .after_ms(200.0, client(1460).seq(0).ip_id(2))
        .after_ms(30.0, server(0))
        .after_ms(0.02, client(50).ip_id(3))
        .end();
    let facts: Vec<bool> = told.waits.iter().map(|wait| wait.is(fact::RECOVERY)).collect();
    assert_eq!(facts, [false, true]);
    assert!(told.waits[0].is(fact::RETRANSMITTED));
}

#[test]
fn a_hold_is_seen_over_the_retransmission_of_the_small_segment() {
    let told = connected()
        .after_ms(0.0, client(100).ip_id(1))
        .after_ms(30.0, client(100).seq(0).ip_id(2))
        .after_ms(10.0, server(0))
        .after_ms(0.02, client(50).ip_id(3))
        .end();
    let over = told.waits.iter().find(|wait| wait.is(fact::RESENT)).unwrap();
    assert!(over.is(fact::PURE_ACK) && !over.is(fact::RECOVERY));
    assert_eq!((over.from.frame, over.ack_ns()), (4, 40 * MS));
}

#[test]
fn within_an_exchange_the_other_end_waited_too() {
    assert!(held(client(50)).is(fact::IN_EXCHANGE));
    let greeting = connected().after_ms(0.0, server(20)).after_ms(40.0, client(0));
    assert!(!only(greeting.after_ms(1.0, server(20))).is(fact::IN_EXCHANGE));
}

#[test]
fn data_long_after_the_ack_is_a_pause_of_the_program() {
    let told = |ack_ms| {
        let story = connected().after_ms(0.0, client(100)).after_ms(ack_ms, server(0));
        story.after_ms(70.0 - ack_ms, client(50)).end()
    };
    for told in [20.0, 40.0].map(told) {
        assert!(told.wait().is(fact::OWN_PAUSE) && !told.wait().is_freed());
    }
}

#[test]
fn a_release_late_by_the_paths_jitter_is_still_the_acks_doing() {
    let far = Story::new().handshake(30.0, 0.02);
    let story = far.after_ms(0.0, client(100)).after_ms(40.0, server(0));
    assert!(story.after_ms(38.0, client(50)).end().wait().is_freed());
}

/// Captured at the server, 30 ms away from the client: an ACK needs 15 ms to reach it.
#[test]
fn where_the_round_trip_is_known_half_of_it_is_too_soon_for_the_ack_to_have_come() {
    let after = |round_trips: u32, ms: f64| {
        let turn = |story: Story| story.after_ms(5.0, server(10)).after_ms(30.0, client(0));
        let story = Story::new().handshake(30.0, 0.02).times(round_trips, turn);
        let story = story.after_ms(5.0, client(100)).after_ms(1.0, server(0));
        contradictions(story.after_ms(ms, client(50)))
    };
    let after_ms = [7.0, 14.0, 16.0];
    assert_eq!(after_ms.map(|ms| after(0, ms)), [1, 0, 0]);
    assert_eq!(after_ms.map(|ms| after(3, ms)), [1, 1, 0]);
}

#[test]
fn what_passes_nagle_anyway_does_not_contradict_it() {
    // The last one is a tail-loss probe.
    let after = [
        (1.0, client(50).fin()),
        (1.0, client(50).urg()),
        (1.0, client(1460)),
        (203.0, client(50)),
    ];
    for (ms, next) in after {
        assert_eq!(contradictions(connected().after_ms(0.0, client(100)).after_ms(ms, next)), 0);
    }
}

/// Captured without the ACKs that carry no data: 30 ms away from the server.
#[test]
fn where_no_pure_ack_was_captured_only_what_outran_any_ack_contradicts_nagle() {
    let after = |ms: f64, ack: u32| {
        let story = Story::new()
            .after_ms(0.0, client(0).syn())
            .after_ms(30.0, server(0).syn())
            .after_ms(0.02, client(100))
            .after_ms(31.0, server(100))
            .times(ack, |story| story.after_ms(5.0, client(10)).after_ms(30.0, server(0)))
            .after_ms(5.0, client(100))
            .after_ms(ms, client(50));
        contradictions(story)
    };
    assert_eq!([after(29.0, 0), after(40.0, 0)], [1, 0]);
    assert_eq!([after(29.0, 1), after(40.0, 1)], [1, 1]);
}

#[test]
fn unacknowledged_urgent_data_lets_go_all_that_follows_it() {
    let urgent = || connected().after_ms(0.0, client(1).urg());
    let follow = |story: Story| story.after_ms(0.1, client(50)).after_ms(0.1, client(50));
    assert_eq!(contradictions(follow(urgent())), 0);
    // Once it is acknowledged, small segments wait again.
    let acked = urgent().after_ms(1.0, server(0));
    assert_eq!(contradictions(follow(acked.after_ms(1.0, client(50)))), 2);
    // Nor does anything wait for its ACK.
    let after = urgent().after_ms(40.0, server(0)).after_ms(0.02, client(50));
    assert!(only(after).is(fact::URGENT));
}

#[test]
fn a_small_segment_behind_full_sized_ones_shows_minshalls_variant() {
    let told = connected().after_ms(0.0, client(1460)).after_ms(0.1, client(50)).end();
    assert_eq!(told.half(Side::Client).odd().passed_full, (4, 5));
    let small_first = connected().after_ms(0.0, client(50)).after_ms(0.1, client(1460));
    let told = small_first.after_ms(0.1, client(50)).end();
    assert_eq!(told.half(Side::Client).odd().passed_full, (0, 0));
}

#[test]
fn what_bytes_that_were_not_captured_separate_was_not_in_flight_together() {
    let hole = |seq| {
        contradictions(connected().after_ms(0.0, client(100)).after_ms(1.0, client(50).seq(seq)))
    };
    assert_eq!([100, 140].map(hole), [1, 0]);
    let full = connected().after_ms(0.0, client(1460)).after_ms(0.1, client(50).seq(1600));
    assert_eq!(full.end().half(Side::Client).odd().passed_full, (0, 0));
}

/// The client has sent a small segment; data of the server comes, which had left before, and the
/// client sends again.
#[test]
fn what_leaves_with_an_ack_that_is_owed_contradicts_nothing() {
    let acking = |acked: i64| {
        let known = connected().after_ms(0.0, client(90)).after_ms(1.0, server(0));
        let crossed = known.after_ms(5.0, client(100)).after_ms(0.5, server(200).ack(90));
        contradictions(crossed.after_ms(0.1, client(50).ack(acked)))
    };
    assert_eq!([200, 0].map(acking), [0, 1]);
}

/// A kernel that holds a segment sends it with the ACK that lets it go, not after one of its own.
#[test]
fn who_has_acknowledged_something_alone_since_held_nothing_back() {
    let told = |own_ack: bool| {
        let sent = connected().after_ms(5.0, client(100)).after_ms(40.0, server(0));
        let between = if own_ack { sent.after_ms(0.01, client(0)) } else { sent };
        only(between.after_ms(0.02, client(50)))
    };
    assert!(told(false).is_freed());
    assert!(!told(true).is_freed());
}

/// The server, 26 ms away, takes 40 ms. Joined midway nothing but its replies bounds the way.
#[test]
fn a_turn_begins_when_the_request_has_arrived() {
    let wait_ns = |story: Story| {
        let quick = story.after_ms(5.0, client(100)).after_ms(30.0, server(200));
        let told = quick.after_ms(5.0, client(100)).after_ms(66.0, server(200)).end();
        told.waits.iter().map(Wait::wait_ns).max()
    };
    assert_eq!(wait_ns(Story::new().handshake(0.02, 26.0)), Some(40_000_000));
    assert_eq!(wait_ns(Story::new()), Some(66_000_000));
}
