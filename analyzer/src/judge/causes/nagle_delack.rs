//! # What happens
//! The sender wrote a small piece while an earlier one was unacknowledged; Nagle's algorithm held
//! it back. The receiver had nothing to answer yet and kept its ACK back for its delayed-ACK
//! timer. Both sides were idle until the timer fired.
//!
//! # How it is recognised
//! A pure ACK, which no application can see, comes later than the round trip explains (no round
//! trip was as long, nor the answer to the SYN just before), and the small segment leaves as soon
//! as that ACK has reached the sender: one round trip (between the capture point and the sender)
//! after it passed the capture point. How likely that is of a held segment is compared with how
//! likely such a pause is of the program, for all waits of the direction together: releases that
//! recur speak for holds, pauses that recur and small segments that left unheld speak against them.
//! Nothing else stood in the way: no closed or full window, no retransmission, no FIN.
//!
//! # What it is not
//! An application that pauses and happens to write when the ACK arrives: it does so seldom, and at
//! other times, too. A retransmission timeout of 200 ms: the same bytes appear again (but see
//! `retransmission` for receivers that delay their ACKs for longer than that). A stop-and-wait
//! sender: its full-sized segments wait as well. Where nothing bounds the round trip to the
//! receiver, or it varies by as much, no ACK is known to be delayed: `nagle_rtt`.
//!
//! # What to do
//! Send the message in one write (one buffer, `writev`, `MSG_MORE`); or set `TCP_NODELAY` on the
//! sender's socket; as a last resort let the receiver acknowledge at once (`TCP_QUICKACK`).
//!
//! # References
//! RFC 896; RFC 1122, sections 4.2.3.2 and 4.2.3.4; RFC 9293, section 3.7.4; Linux
//! `tcp_nagle_check`, `tcp_send_delayed_ack`.

#[cfg(test)]
mod tests {
    use crate::judge::causes::Cause;
    use crate::judge::model::Confidence;
    use crate::track::story::{Story, client, server};

    /// The client, where the capture was taken, writes twice after ACKs that took `acks_ms`. `late_ms`
    /// after its data comes the ACK that frees the next.
    fn held_after(story: Story, acks_ms: &[f64], late_ms: f64) -> Cause {
        let asked = |story: Story, &ms: &f64| {
            story.after_ms(300.0, client(100)).after_ms(ms, server(0)).after_ms(1.0, server(20))
        };
        let story = acks_ms.iter().fold(story, asked).after_ms(300.0, client(100));
        let story = (0..5).fold(story, |story, _| {
            let held = story.after_ms(late_ms, server(0)).after_ms(0.02, client(50));
            held.after_ms(2.1, server(20)).after_ms(300.0, client(100))
        });
        let (_, rulings) = story.end().judge();
        rulings.iter().find(|ruling| ruling.cause.is_stall()).unwrap().cause
    }

    #[test]
    fn on_a_path_without_way_for_jitter_the_receiver_takes_its_time() {
        let acks_ms = [5.0, 6.0, 7.0, 6.0, 7.0];
        let near = Story::new().handshake(0.02, 0.3);
        assert_eq!(held_after(near, &acks_ms, 15.0), Cause::NagleDelack);
        let far = Story::new().handshake(0.02, 2.0);
        assert_eq!(held_after(far, &acks_ms, 15.0), Cause::NagleRtt);
    }

    #[test]
    fn an_ack_is_late_only_by_a_shorter_round_trip() {
        let hold = |story: Story, ms: f64| {
            let sent = story.after_ms(300.0, client(100));
            sent.after_ms(ms, server(0)).after_ms(0.02, client(50)).after_ms(ms, server(0))
        };
        let causes = |lengths_ms: &[f64]| {
            let (_, rulings) =
                lengths_ms.iter().fold(Story::new(), |story, &ms| hold(story, ms)).end().judge();
            let stalls = rulings.iter().filter(|ruling| ruling.cause.is_stall());
            let sure =
                stalls.filter(|ruling| ruling.held.confidence() > Some(Confidence::Possible));
            sure.map(|ruling| ruling.cause).collect::<Vec<Cause>>()
        };
        assert_eq!(causes(&[49.0, 50.0, 49.5, 50.5]), [Cause::NagleRtt; 4]);
        let some_late = causes(&[26.0, 66.0, 67.0, 26.5]);
        let (rtt, late) = (Cause::NagleRtt, Cause::NagleDelack);
        assert_eq!(some_late, [rtt, late, late, rtt]);
    }
}
