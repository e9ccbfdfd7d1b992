//! Captures that stamp each direction by itself: the ACK comes just behind the segment that it let go.

use super::{stalls, sure};
use crate::judge::doubts::Hidden;
use crate::judge::finding::verdict::Verdict;
use crate::judge::nagle::nodelay::Nagle;
use crate::track::Side;
use crate::track::story::{Story, Told, client, server};

/// The client writes twice; the second piece is captured `ms` after the first, and the ACK of the
/// first `behind_ms` after that.
fn written_twice(story: Story, number: i64, (ms, behind_ms): (f64, f64)) -> Story {
    let acked = 150 * number + 100;
    let story = story.after_ms(7.0 + number as f64, client(100)).after_ms(ms, client(50));
    let story = story.after_ms(behind_ms, server(0).ack(acked)).after_ms(0.01, server(0));
    story.after_ms(0.3, server(200)).after_ms(0.1, client(0))
}

fn told(server_ms: f64, all: &[(f64, f64)]) -> Told {
    let begun = Story::new().handshake(0.02, server_ms);
    (0..).zip(all).fold(begun, |story, (number, &times)| written_twice(story, number, times)).end()
}

/// Delays of a timer, in ms.
const TIMER_MS: [f64; 8] = [41.9, 43.3, 43.4, 47.4, 47.5, 43.2, 44.0, 41.2];

#[test]
fn holds_show_though_their_acks_are_stamped_behind_what_they_released() {
    let late = TIMER_MS.map(|ms| (ms, 0.22 + ms / 5e3));
    let (judged, rulings) = told(0.3, &late).judge();
    assert_eq!(sure(&stalls(&rulings)), 8, "{:?}", stalls(&rulings));
    assert_eq!(judged.half(Side::Client).nagle, Nagle::On);
}

#[test]
fn an_ack_that_comes_just_behind_a_segment_once_leaves_it_open_whether_that_was_held() {
    let (judged, _) = told(0.3, &[(41.9, 0.2)]).judge();
    let (nagle, verdict) = (judged.half(Side::Client).nagle, judged.verdict());
    assert_eq!((nagle, verdict), (Nagle::Unknown, Verdict::Inconclusive));
    assert_eq!(judged.hidden, Hidden::AcksBehind);
}

#[test]
fn a_timer_that_fires_just_behind_a_segment_by_accident_hides_no_nodelay() {
    let mut late = TIMER_MS.map(|ms| (ms - 30.0, 30.0 + ms / 40.0));
    late[5].1 = 0.1;
    let (judged, rulings) = told(0.3, &late).judge();
    assert_eq!((judged.half(Side::Client).nagle, judged.verdict()), (Nagle::Off, Verdict::Clean));
    assert!(stalls(&rulings).is_empty());
}

/// It sends a little more often than the path takes.
#[test]
fn a_program_that_prompt_acks_overtake_all_the_time_is_not_held() {
    let (judged, rulings) = told(26.2, &TIMER_MS.map(|ms| (26.0, 0.1 + ms / 1e3))).judge();
    assert!(stalls(&rulings).is_empty(), "{:?}", stalls(&rulings));
    assert_eq!(judged.hidden, Hidden::AcksBehind);
}
