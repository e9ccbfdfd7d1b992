//! Is `TCP_NODELAY` in effect, by what leaves unheld and by what is held?

use super::{held, opened, stalls, stalls_of, sure};
use crate::judge::model::Confidence;
use crate::judge::nagle::nodelay::Nagle;
use crate::track::Side;
use crate::track::story::{Story, client, server};

#[test]
fn two_small_segments_in_flight_show_that_nodelay_is_in_effect() {
    let mut told = opened()
        .after_ms(5.0, client(100))
        .after_ms(0.1, client(50))
        .after_ms(1.0, server(200))
        .end();
    let (judged, _) = told.judge();
    assert_eq!(judged.half(Side::Client).nagle, Nagle::Off);
    assert_eq!(judged.half(Side::Client).proof, (4, 5));
    assert_eq!(judged.half(Side::Server).nagle, Nagle::Unknown);
}

/// A program that happens to write half a millisecond after the ACK looks the same once.
#[test]
fn what_a_program_may_have_done_by_accident_proves_nothing_of_nodelay() {
    let ruled = |release_ms: f64| {
        let story = opened().after_ms(5.0, client(100)).after_ms(40.0, server(0));
        let mut told = story.after_ms(release_ms, client(50)).after_ms(1.0, server(200)).end();
        let (judged, rulings) = told.judge();
        (sure(&stalls(&rulings)), judged.half(Side::Client).nagle)
    };
    assert_eq!(ruled(0.45), (0, Nagle::Unknown));
    assert_eq!(ruled(0.02), (1, Nagle::On));
}

/// SSH sets it after the login.
#[test]
fn nodelay_that_is_set_later_is_an_answer_of_its_own() {
    let mut told = opened().times(3, held).times(5, in_effect).end();
    let (judged, rulings) = told.judge();
    let half = judged.half(Side::Client);
    let last = told.waits[rulings.iter().rposition(|ruling| ruling.cause.is_stall()).unwrap()];
    assert_eq!((half.nagle, half.proof.0), (Nagle::Switched, last.to.frame));
    assert!(half.proof.1 > half.proof.0);
}

/// Two small segments in flight.
fn in_effect(story: Story) -> Story {
    story.after_ms(5.0, client(100)).after_ms(0.02, client(50)).after_ms(1.0, server(200))
}

/// How sure the stalls are where small segments follow ACKs by so much, between phases with `TCP_NODELAY`.
fn between_phases(after_ms: [f64; 8]) -> Vec<Confidence> {
    let after_ack = |story: Story, ms| {
        let acked = story.after_ms(5.0, client(100)).after_ms(40.0, server(0));
        acked.after_ms(ms, client(50)).after_ms(1.0, server(200))
    };
    let again = |story| after_ms.into_iter().fold(story, after_ack).times(8, in_effect);
    stalls_of(opened().times(3, again))
}

#[test]
fn nodelay_on_and_off_again_hides_no_stalls_and_a_pausing_program_has_none() {
    assert_eq!(between_phases([0.02, 0.03, 0.02, 0.02, 0.03, 0.02, 0.04, 0.02]).len(), 24);
    assert_eq!(between_phases([0.3, 0.45, 2.0, 0.6, 0.9, 1.4, 0.4, 1.1]), []);
}
