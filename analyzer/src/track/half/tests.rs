//! One direction: its sequence space, its windows, its round trips.

use crate::track::Side;
use crate::track::half::Half;
use crate::track::story::{Story, client, server};

const MS: i64 = 1_000_000;

/// A client captured at home, 30 ms away from its server.
fn connected() -> Story {
    Story::new().handshake(0.0, 30.0)
}

fn sender(story: &Story) -> &Half {
    story.half(Side::Client)
}

#[test]
fn what_was_sent_is_in_flight_until_its_ack() {
    let in_flight = |story: &Story| sender(story).sequence.in_flight();
    let story = connected().after_ms(0.0, client(100)).after_ms(0.0, client(60));
    assert_eq!(in_flight(&story), 160);
    let story = story.after_ms(30.0, server(0).ack(100));
    assert_eq!(in_flight(&story), 60);
    let story = story.after_ms(1.0, server(0));
    assert_eq!(in_flight(&story), 0);
    // An old ACK takes nothing back.
    assert_eq!(in_flight(&story.after_ms(0.1, server(0).ack(40))), 0);
}

#[test]
fn bytes_count_once_and_those_that_only_their_ack_shows_are_unseen() {
    let sent = || connected().after_ms(0.0, client(100));
    assert_eq!(sender(&sent().after_ms(0.0, client(100).seq(60))).bytes(), 160);
    let told = sent().after_ms(30.0, server(0).ack(300)).end();
    let half = told.half(Side::Client);
    assert_eq!((half.unseen().0, half.bytes(), half.offset), (200, 100, 300));
}

#[test]
fn a_segment_is_small_unless_its_length_is_a_whole_number_of_mss() {
    for (len, small) in [(1, true), (1459, true), (1460, false), (2920, false), (2921, true)] {
        let story = connected().after_ms(0.0, client(len));
        assert_eq!(sender(&story).is_last_small(), small, "{len}");
        assert_eq!(sender(&story).sequence.is_small_unacked(), small, "{len}");
    }
}

#[test]
fn the_ack_of_the_last_small_segment_is_told_from_that_of_everything() {
    let sent = connected().after_ms(0.0, client(100)).after_ms(0.0, client(1460));
    assert!(sender(&sent).sequence.is_small_unacked());
    let (small, len) = sender(&sent).small_sent();
    assert_eq!((small.frame, len), (4, 100));
    let story = sent.after_ms(30.0, server(0).ack(100));
    assert!(!sender(&story).sequence.is_small_unacked());
    assert!(sender(&story).small_acked().facts.is_exact());
    let story = story.after_ms(5.0, server(0));
    let half = sender(&story);
    let frames = [half.small_acked().mark, half.all_acked().mark, half.advanced()];
    assert_eq!(frames.map(|mark| mark.frame), [6, 7, 6]);
    // They are those of the last data.
    let story = story.after_ms(0.0, client(100));
    let half = sender(&story);
    assert!(!half.all_acked().mark.is_set() && !half.small_acked().mark.is_set());
}

#[test]
fn the_shortest_round_trip_counts_and_its_jitter() {
    let story = connected()
        .after_ms(0.0, client(100))
        .after_ms(28.0, server(0))
        .after_ms(1.0, client(100))
        .after_ms(32.0, server(0));
    let half = story.half(Side::Server);
    assert_eq!(half.measured_rtt_ns(), Some(28 * MS));
    // Over the shortest by then: 0, 0 and 4 ms.
    assert_eq!(half.jitter_ns(), 4 * MS / 3);
}

/// A frame stamped too early would turn every hold into a pause: one is no measurement, two are.
#[test]
fn one_round_trip_much_shorter_than_several_waits_for_a_second() {
    let acked = |story: Story, ms: f64| story.after_ms(5.0, client(100)).after_ms(ms, server(0));
    let rtt_after = |story: Story, shorter_ms: &[f64]| {
        let several = (0..4).fold(story, |story, _| acked(story, 26.0));
        let story = shorter_ms.iter().fold(several, |story, &ms| acked(story, ms));
        story.half(Side::Server).measured_rtt_ns()
    };
    assert_eq!(rtt_after(connected(), &[0.02]), Some(26 * MS));
    assert_eq!(rtt_after(connected(), &[0.02, 0.03]), Some(MS * 3 / 100));
    // Joined midway, late ACKs bound the round trip.
    assert_eq!(rtt_after(Story::new(), &[0.02]), None);
    assert_eq!(rtt_after(Story::new(), &[0.02, 0.03]), Some(MS * 3 / 100));
}

#[test]
fn without_a_handshake_a_delayed_ack_is_not_taken_for_the_round_trip() {
    let late = Story::new().after_ms(0.0, client(100)).after_ms(40.0, server(0));
    assert_eq!(late.half(Side::Server).measured_rtt_ns(), None);
    let prompt = late.after_ms(1.0, client(100)).after_ms(3.0, server(0));
    assert_eq!(prompt.half(Side::Server).measured_rtt_ns(), Some(3 * MS));
}

#[test]
fn a_window_is_scaled_except_that_of_a_syn_if_both_offer_it() {
    let syn = Story::new().after_ms(0.0, client(0).syn().window(1000));
    assert_eq!(syn.half(Side::Client).sequence.window, 1000);
    let story = connected().after_ms(0.0, server(0).window(3));
    assert_eq!(story.half(Side::Server).sequence.window, 3 << 7);
    let unscaled = server(0).syn().options(&[2, 4, 5, 180]);
    let story = syn.after_ms(1.0, unscaled).after_ms(1.0, client(0).window(3));
    assert_eq!(story.half(Side::Client).sequence.window, 3);
}

#[test]
fn across_a_step_of_the_clock_backwards_nothing_contradicts() {
    let stepped = |ms: f64| {
        // The client is 20 ms away: what leaves within that time had not seen the ACK.
        let far = Story::new().handshake(20.0, 0.02);
        let story = far.after_ms(0.0, client(100)).after_ms(40.0, server(0));
        sender(&story.after_ms(ms, client(50))).contradictions()
    };
    assert_eq!([20.0, 1.0, -30.0, -3_600_000.0].map(stepped), [0, 1, 0, 0]);
    let unacked = connected().after_ms(0.0, client(100)).after_ms(-30.0, client(50));
    assert_eq!(sender(&unacked).contradictions(), 0);
}
