//! Captured a network away from the sender, or without a handshake.

use super::{causes, held, judge_all, stalls, stalls_of, sure};
use crate::judge::causes::Cause;
use crate::judge::doubts::Hidden;
use crate::judge::finding::verdict::Verdict;
use crate::judge::findings::Findings;
use crate::judge::model::Confidence;
use crate::judge::words::evidence::reasons;
use crate::track::story::{Story, Told, client, server};

#[test]
fn without_a_handshake_a_single_hold_is_not_certain_and_two_show_the_sender() {
    assert_eq!(stalls_of(held(Story::new())), [Confidence::Likely]);
    assert_eq!(sure(&stalls_of(Story::new().times(2, held))), 2);
}

/// How sure the stalls are of a sender that is joined midway: each of its small segments is
/// acknowledged after `acks_ms`, and the next leaves as long after that as `released_ms` says.
fn joined_midway(acks_ms: [f64; 4], released_ms: impl Fn(f64) -> f64) -> Vec<Confidence> {
    let sent = |story: Story, ack_ms: f64| {
        story.after_ms(ack_ms, server(0)).after_ms(released_ms(ack_ms), client(50))
    };
    let begun = Story::new().after_ms(0.0, client(100));
    stalls_of(acks_ms.into_iter().fold(begun, sent))
}

#[test]
fn joined_midway_a_steady_pace_is_no_round_trip() {
    let heartbeat = joined_midway([0.5, 0.6, 0.5, 0.4], |ack_ms| 999.2 - ack_ms);
    assert_eq!(sure(&heartbeat), 0, "{heartbeat:?}");
    // Where each wait is as long as its ACK was late, the releases follow the ACKs.
    let held = joined_midway([40.0, 43.0, 36.0, 41.5], |_| 20.0);
    assert_eq!(held.len(), 4, "{held:?}");
}

/// No handshake was captured; the second piece of the server leaves `release_ms` after the late ACK
/// of the first.
fn late_capture(story: Story, release_ms: f64) -> Story {
    story
        .after_ms(500.0, server(100))
        .after_ms(41.0, client(0))
        .after_ms(release_ms, server(50))
        .after_ms(1.0, client(0))
}

#[test]
fn without_a_handshake_releases_that_are_as_even_as_their_pauses_leave_it_open() {
    for releases_ms in [&[56.0, 170.0], [49.5, 49.6, 49.4, 50.2].as_slice()] {
        let mut told =
            releases_ms.iter().fold(Story::new(), |story, &ms| late_capture(story, ms)).end();
        let (judged, _) = told.judge();
        assert_eq!((judged.stalls, judged.hidden), (0, Hidden::Blurred), "{releases_ms:?}");
    }
    // No path is that long.
    let (judged, _) = late_capture(Story::new(), 6212.0).end().judge();
    assert_eq!((judged.stalls, judged.hidden), (0, Hidden::Nothing));
}

#[test]
fn an_ack_bounds_the_round_trip_that_releases_would_show() {
    let acked = Story::new().after_ms(0.0, client(100)).after_ms(30.0, server(0));
    let mut told = [56.1, 56.2, 56.3].into_iter().fold(acked, late_capture).end();
    assert_eq!(sure(&stalls(&told.judge().1)), 0);
}

/// The server, captured at its client, answers in two pieces over a path that takes `rtt_ms` now; the
/// ACK of the first comes after `ack_ms`, and the second leaves after `release_ms`.
fn exchange(story: Story, [rtt_ms, ack_ms, release_ms]: [f64; 3]) -> Story {
    story
        .after_ms(5.0, client(100))
        .after_ms(rtt_ms, server(100))
        .after_ms(ack_ms, client(0))
        .after_ms(release_ms, server(50))
        .after_ms(0.02, client(0))
}

/// Releases on the grid of a radio link, a round trip of 20 ms away, behind ACKs that are 41 ms late.
#[test]
fn what_comes_at_once_after_a_prompt_ack_was_held_behind_late_ones() {
    let grid_ms = [21.0, 27.0, 24.0, 27.5, 23.0, 26.5, 25.0, 22.5];
    let after_prompt = |ms| {
        let begun = exchange(Story::new().handshake(0.02, 20.0), [36.0, 0.02, ms]);
        stalls_of(grid_ms.iter().fold(begun, |story, ms| exchange(story, [36.0, 41.0, *ms])))
    };
    assert_eq!(sure(&after_prompt(20.5)), 9);
    assert_eq!(after_prompt(66.0), []);
}

/// Round trips of a second of a queue that fills and empties, in ms.
const QUEUE: [f64; 10] = [21.0, 35.0, 52.0, 66.0, 84.0, 99.0, 80.0, 61.0, 45.0, 30.0];

/// Each reply and each release takes the time of the queue, as it fills and empties.
#[test]
fn holds_behind_a_queue_are_not_called_clean() {
    let far = Story::new().handshake(0.02, 20.0);
    let held = |story, rtt_ms: &f64| exchange(story, [*rtt_ms, 41.0, rtt_ms + 1.0]);
    assert_ne!(QUEUE.iter().fold(far, held).end().judge().0.verdict(), Verdict::Clean);
}

#[test]
fn a_program_that_pauses_on_a_bad_path_is_no_stall() {
    let far = || Story::new().handshake(0.02, 20.0);
    let pausing = |story, (at, rtt_ms): (usize, &f64)| {
        let ack_ms = 41.0 + [0.0, 3.0, 1.0, 4.0, 2.0][at % 5];
        exchange(story, [*rtt_ms, ack_ms, 130.0 - ack_ms])
    };
    assert_eq!(stalls_of(QUEUE.iter().enumerate().fold(far(), pausing)), []);
    // Sooner than any ACK can have let it go.
    let early =
        |story, at: usize| exchange(story, [20.0, 38.0, 3.0 + [0.0, 9.0, 4.0, 13.0, 7.0][at % 5]]);
    assert_eq!(stalls_of((0..20).fold(far(), early)), []);
}

/// The server answers in two pieces through a queue on the way to its client, who captures: the
/// second so long after the first as `pause_ms` makes of the number of the exchange and of the ways
/// of the first piece, of its ACK and of the second piece.
fn by_timestamps(pause_ms: fn(u32, [u32; 3]) -> u32) -> Story {
    let mut now_ms = 0;
    let mut at_ms = |story: Story, at_ms: u32, segment| {
        let passed_ms = f64::from(at_ms - now_ms);
        now_ms = at_ms;
        story.after_ms(passed_ms, segment)
    };
    (0..20).fold(Story::new().handshake(0.02, 30.0), |story, at| {
        let ways_ms = [15 + at * 11 % 37, 15 + at % 2, 15 + at * 17 % 31];
        let asked_ms = 100_000 + at * 1000;
        let sent_ms = asked_ms + 15 + at * 7 % 60;
        let came_ms = sent_ms + ways_ms[0];
        let left_ms = sent_ms + pause_ms(at, ways_ms);
        let late_ms = came_ms + 41;
        let story = at_ms(story, asked_ms, client(100).stamped(asked_ms, 1));
        let story = at_ms(story, came_ms, server(100).stamped(sent_ms, asked_ms));
        let story = at_ms(story, late_ms, client(0).stamped(late_ms, sent_ms));
        let story = at_ms(story, left_ms + ways_ms[2], server(50).stamped(left_ms, late_ms));
        story.after_ms(0.02, client(0).stamped(left_ms + ways_ms[2], left_ms))
    })
}

#[test]
fn on_a_bad_path_the_senders_timestamps_tell_holds_from_pauses() {
    let held = by_timestamps(|_, [first_ms, ack_ms, _]| first_ms + 41 + ack_ms);
    assert_eq!(sure(&stalls_of(held)), 20);
    for pause_ms in [|at, _| 120 + at * 3 % 5, |at, _| 120 + at * 37 % 100] {
        assert_eq!(stalls_of(by_timestamps(pause_ms)), []);
    }
}

#[test]
fn other_connections_of_the_server_speak_for_a_single_hold_or_against_it() {
    let last = |others: Vec<[f64; 2]>| {
        let single = others.into_iter().chain([[77.0, 30.4]]);
        let one = |[ack_ms, ms]: [f64; 2]| {
            exchange(Story::new().handshake(0.02, 30.0), [30.0, ack_ms, ms]).end()
        };
        let mut told: Vec<Told> = single.map(one).collect();
        let rulings = judge_all(&mut told, |conditions| conditions).pop().unwrap().1;
        rulings.iter().map(|ruling| ruling.held.probability).fold(0.0, f32::max)
    };
    let alone = last(vec![]);
    assert!(last(vec![[41.0, 30.1], [95.0, 30.3], [62.0, 30.0]]) > alone);
    // The pause is 107.4 ms, whatever the ACK does.
    let pausing = [44.0, 45.5, 44.7, 46.0].map(|ack_ms| [ack_ms, 107.4 - ack_ms]);
    assert!(last(pausing.into()) < 0.5 * alone);
}

/// Captured at the client, 26 ms away from its server.
#[test]
fn joined_midway_all_sentences_borrow_the_round_trips_of_the_same_hosts() {
    let pieces = |story: Story| {
        let sent = story.after_ms(5.0, client(100)).after_ms(26.0, server(0));
        sent.after_ms(0.02, client(50)).after_ms(26.0, server(0))
    };
    let opened = (0..4).map(|_| Story::new().handshake(0.02, 26.0));
    let stories = opened.chain([Story::new()]).map(|story| story.times(3, pieces).end());
    let mut told: Vec<Told> = stories.collect();
    let (judged, rulings) = judge_all(&mut told, |conditions| conditions).pop().unwrap();
    let midway = Findings::new(&told[4].waits, &rulings);
    let stall = midway.stalls().next().unwrap();
    let sentences = reasons(stall, &judged);
    let [ack, release] = [&sentences[1], &sentences[2]];
    let borrowed = "on another connection of these hosts";
    let round_trip = "the round trip to the";
    assert!(ack.ends_with(&format!("{round_trip} server {borrowed}: not delayed")), "{ack}");
    let release_rtt = format!("{round_trip} client is 0.020 ms {borrowed}.");
    assert!(release.contains(&release_rtt), "{release}");
    let others = "(4 other connections of this server with such waits say the same)";
    assert!(sentences[3].contains(others), "{}", sentences[3]);
    assert_eq!((judged.rtt_ns(), judged.is_rtt_borrowed()), (Some(26_020_000), true));
}

/// Full-sized segments one by one, captured at the sender, 26 ms away from the receiver.
#[test]
fn a_sender_that_waits_for_each_ack_stops_before_full_sized_segments_too() {
    let block = |story: Story| story.after_ms(0.02, client(1460)).after_ms(26.0, server(0));
    let opened = || Story::new().handshake(0.02, 26.0).after_ms(5.0, client(1460));
    let mut alone = opened().after_ms(26.0, server(0)).times(6, block).end();
    assert_eq!(causes(&alone.judge().1), [Cause::StopAndWait; 6]);
    // Once it had two in flight.
    let two = opened().after_ms(0.02, client(1460)).after_ms(26.0, server(0));
    let mut able = two.times(6, block).end();
    assert!(!causes(&able.judge().1).contains(&Cause::StopAndWait));
}

/// How sure the stalls are of a server that captured itself, and pushes in two pieces to a client 1.4 ms
/// away, the second piece so long after the ACK of the first; its answer to the SYN took `syn_ack_ms`.
fn pushed(syn_ack_ms: f64, releases_ms: [f64; 8]) -> Vec<Confidence> {
    let pushed = |story: Story, release_ms: f64| {
        let held = story.after_ms(5.0, server(166)).after_ms(44.0, client(0));
        held.after_ms(release_ms, server(172)).after_ms(1.4, client(0))
    };
    stalls_of(releases_ms.into_iter().fold(Story::new().handshake(1.4, syn_ack_ms), pushed))
}

#[test]
fn one_late_answer_to_a_syn_moves_no_host_away() {
    assert_eq!([0.02, 0.13].map(|ms| sure(&pushed(ms, [0.013; 8]))), [8, 8]);
}

/// A relay on the server's host: it wakes up for each of them.
#[test]
fn one_late_answer_to_a_syn_is_no_yardstick_for_a_relay() {
    let wakes_ms = [0.1, 0.22, 0.15, 0.3, 0.12, 0.25, 0.18, 0.2];
    assert_eq!(sure(&pushed(40.0, wakes_ms)), 0);
}

/// Windows delays an ACK for up to six ticks of 100 ms.
#[test]
fn half_a_second_is_a_delayed_ack_and_a_second_is_none() {
    let stalls = |ack_ms: f64| {
        let held = |story: Story| {
            let sent = story.after_ms(5.0, client(100)).after_ms(ack_ms, server(0));
            sent.after_ms(0.02, client(50)).after_ms(1.0, server(200))
        };
        stalls_of(Story::new().handshake(0.02, 1.0).times(4, held)).len()
    };
    assert_eq!([501.0, 600.0, 1000.0].map(stalls), [4, 4, 0]);
}
