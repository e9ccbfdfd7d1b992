//! Waits before the first byte.

use super::causes;
use crate::judge::causes::Cause;
use crate::track::ending::Ending;
use crate::track::story::{Story, Told, client, server};

#[test]
fn a_syn_that_was_lost_or_answered_late_is_the_connections_wait() {
    let asked = || Story::new().after_ms(0.0, client(0).syn());
    let replied = |story: Story| {
        let story = story.after_ms(0.02, client(0)).after_ms(5.0, client(100));
        story.after_ms(3.0, server(0)).after_ms(0.02, client(0))
    };
    let again = asked().after_ms(1000.0, client(0).syn().ip_id(1)).after_ms(3.0, server(0).syn());
    assert_eq!(causes(&replied(again).end().judge().1), [Cause::Connect]);
    let late = asked().after_ms(350.0, server(0).syn());
    assert_eq!(causes(&replied(late).end().judge().1), [Cause::Connect]);
}

/// A story that begins with a SYN, sent again after 1 s, and answered.
fn asked_twice() -> Story {
    let asked = Story::new().after_ms(0.0, client(0).syn());
    asked.after_ms(1000.0, client(0).syn().ip_id(1)).after_ms(3.0, server(0).syn())
}

#[test]
fn slow_connecting_is_told_with_the_time_until_the_first_reply() {
    let acknowledged = || asked_twice().after_ms(0.02, client(0));
    let answered =
        |story: Story| story.after_ms(0.0, client(100)).after_ms(97.0, server(200)).end();
    let took = |mut told: Told| told.judge().0.connecting_ns();
    let both = |connect_us: i64, reply_us: i64| Some((connect_us * 1000, reply_us * 1000));
    assert_eq!(took(answered(acknowledged())), both(1_003_000, 1_100_020));
    let late = Story::new().after_ms(0.0, client(0).syn()).after_ms(350.0, server(0).syn());
    assert_eq!(took(answered(late.after_ms(0.0, client(0)))), both(350_000, 447_000));
    // The answer was lost and is sent again.
    let again = asked_twice().after_ms(1000.0, server(0).syn().ip_id(1));
    assert_eq!(took(answered(again.after_ms(0.0, client(0)))), both(2_003_000, 2_100_000));
    // There is no reply, or it may be among what is missing.
    assert_eq!(took(acknowledged().after_ms(0.0, client(100)).end()), None);
    let missing = acknowledged().after_ms(0.0, client(100)).after_ms(3.0, server(200).seq(100));
    assert_eq!(took(missing.after_ms(0.0, client(0)).end()), None);
}

#[test]
fn connecting_ends_when_the_client_acknowledges_an_answer() {
    let prompt = Story::new().handshake(0.02, 3.0);
    // The server drops the bare ACK, and answers again while the client is idle (`TCP_DEFER_ACCEPT`).
    let again = prompt.after_ms(1000.0, server(0).syn().ip_id(1)).after_ms(0.02, client(0));
    let mut told = again.after_ms(0.0, client(100)).after_ms(97.0, server(200)).end();
    assert_eq!(told.judge().0.connecting_ns(), None);
}

/// Endings of the waits for a SYN.
fn endings(story: Story) -> Vec<Option<Ending>> {
    let mut told = story.end();
    let (_, rulings) = told.judge();
    let ruled = told.waits.iter().zip(rulings).filter(|(_, one)| one.cause == Cause::Connect);
    ruled.map(|(wait, _)| wait.ending()).collect()
}

#[test]
fn a_syn_that_was_turned_down_was_not_lost() {
    let asked = |story: Story| story.after_ms(950.0, client(0).syn());
    let refused = asked(Story::new()).after_ms(0.1, server(0).rst());
    assert_eq!(endings(asked(refused).after_ms(0.1, server(0).rst())), [Some(Ending::Refused)]);
    // The server still has an older connection between these ports, and the client resets it.
    let challenged = asked(Story::new()).after_ms(0.1, server(0).ack(7_000));
    let reset = asked(challenged.after_ms(0.1, client(0).rst()));
    let opened = reset.after_ms(0.1, server(0).syn()).after_ms(0.1, client(0));
    assert_eq!(endings(opened), [Some(Ending::OldConnection)]);
    assert_eq!(endings(asked_twice()), [None]);
}

#[test]
fn a_syn_whose_answer_was_lost_is_one_wait() {
    let answered = Story::new().after_ms(0.0, client(0).syn()).after_ms(0.03, server(0).syn());
    let again = answered.after_ms(1000.0, client(0).syn().ip_id(1));
    let opened = again.after_ms(0.03, server(0).syn().ip_id(1)).after_ms(0.3, client(0));
    assert_eq!(endings(opened), [Some(Ending::AnswerLost)]);
}

#[test]
fn nobody_waited_for_another_connection_between_the_same_ports() {
    let opened = || Story::new().handshake(0.02, 1.0).after_ms(5.0, client(100));
    for end in [server(0).rst(), client(0).fin()] {
        let again = opened().after_ms(1.0, server(200)).after_ms(1.0, end);
        assert_eq!(endings(again.after_ms(20_000.0, client(0).syn().ip_id(9))), []);
    }
}

/// The way takes 150 ms, and varies.
#[test]
fn an_answer_to_the_syn_is_late_by_more_than_the_way() {
    let took = |ms: f64| {
        let story = Story::new().after_ms(0.0, client(0).syn()).after_ms(ms, server(0).syn());
        let asked = story.after_ms(0.02, client(0)).after_ms(1.0, client(100));
        endings(asked.after_ms(150.0, server(200))).len()
    };
    assert_eq!([240.0, 290.0, 310.0].map(took), [0, 0, 1]);
}
