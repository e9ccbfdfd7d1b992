//! Packets that the capture has not seen, by the sender's IP identifications: lost before the capture
//! point, or by the capture.

use crate::judge::thresholds::{LONGEST_RTO_NS, MISSING_ONE_OF, MOST_LOST, SHORTEST_RTO_NS};
use crate::rules;
use crate::track::wait::{Wait, fact};
use crate::track::{Connection, Half, Side};

/// The evidence of a sender's IP identifications on the waits of one direction.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ids {
    /// Does the sender count the packets of this connection alone, as far as its waits show?
    counted: bool,
    /// Is that beyond doubt, and did the capture itself lose none?
    reliable: bool,
    /// Round trip between both ends, in ns.
    rtt_ns: i64,
}

impl Ids {
    pub fn of(connection: &Connection, side: Side, waits: &[Wait]) -> Self {
        if rules::off("ip_ids") || !connection.half(side).counts_ids() {
            return Self::default();
        }
        let own = || waits.iter().filter(|wait| wait.by == side && wait.is_evidence());
        let missing = own().filter(|wait| wait.skipped_ids > 0).count();
        let few = |missing: usize| missing * MISSING_ONE_OF <= own().count();
        let whole = connection.halves.iter().all(|half| half.unseen().0 == 0);
        Self {
            // Among few waits one says nothing yet.
            counted: few(missing.saturating_sub(1)),
            reliable: few(missing) && whole,
            rtt_ns: connection.halves.iter().map(Half::rtt_or_zero_ns).sum(),
        }
    }

    /// Were packets lost before the capture point, and sent again when the sender's timer ran out?
    pub fn show_loss(&self, wait: &Wait) -> bool {
        let shortest_ns = timers(wait) * SHORTEST_RTO_NS;
        self.reliable && self.allow_loss(wait) && wait.span_ns() >= shortest_ns
    }

    /// May that be, if the missing ones did not come later? A longer wait is not due to a timer alone, and
    /// more packets are not one segment again and again.
    pub fn allow_loss(&self, wait: &Wait) -> bool {
        let longest_ns = timers(wait) * (LONGEST_RTO_NS + self.rtt_ns);
        self.counted
            && !wait.is(fact::LOST_BEFORE)
            && (1..=MOST_LOST).contains(&wait.skipped_ids)
            && wait.span_ns() <= longest_ns
    }
}

/// How many times the first timer runs out: it doubles with each packet lost.
fn timers(wait: &Wait) -> i64 {
    (1 << wait.skipped_ids.min(MOST_LOST)) - 1
}

#[cfg(test)]
mod tests {
    use crate::judge::causes::Cause;
    use crate::track::story::{Story, client, server};

    /// Twelve replies after 20 ms each, and one after `wait_ms`: the server has sent `skipped` packets that
    /// the capture, at the client, has not seen.
    fn late_reply(wait_ms: f64, skipped: u16) -> Story {
        let connected = Story::new().handshake(0.02, 10.0);
        let story = (1..=12).fold(connected, |story, ip_id| {
            let story = story.after_ms(5.0, client(100)).after_ms(30.0, server(200).ip_id(ip_id));
            story.after_ms(0.02, client(0))
        });
        let story = story.after_ms(5.0, client(100));
        story.after_ms(wait_ms, server(200).ip_id(13 + skipped)).after_ms(0.02, client(0))
    }

    fn last(story: Story) -> Cause {
        story.end().judge().1.last().unwrap().cause
    }

    #[test]
    fn a_reply_that_a_timer_sent_again_was_lost_before_the_capture() {
        assert_eq!(last(late_reply(230.0, 1)), Cause::Retransmission);
        assert_eq!(last(late_reply(690.0, 2)), Cause::Retransmission);
    }

    #[test]
    fn where_no_packet_is_missing_the_program_was_slow() {
        assert_eq!(last(late_reply(230.0, 0)), Cause::SenderApp);
        // No timer makes it so late.
        assert_eq!(last(late_reply(3000.0, 1)), Cause::SenderApp);
    }

    #[test]
    fn what_is_too_soon_for_a_timer_stays_open() {
        assert_eq!(last(late_reply(90.0, 1)), Cause::Unknown);
        assert_eq!(last(late_reply(230.0, 2)), Cause::Unknown);
    }

    #[test]
    fn a_host_that_counts_all_its_packets_leaves_out_some_in_every_wait() {
        let story = (1..=12).fold(Story::new().handshake(0.02, 10.0), |story, number| {
            let reply = server(200).ip_id(5 * number);
            let story = story.after_ms(5.0, client(100)).after_ms(30.0, reply);
            let story = story.after_ms(0.02, server(200).ip_id(5 * number + 1));
            let story = story.after_ms(0.02, server(200).ip_id(5 * number + 2));
            story.after_ms(0.02, server(200).ip_id(5 * number + 3)).after_ms(0.02, client(0))
        });
        let story = story.after_ms(5.0, client(100)).after_ms(230.0, server(200).ip_id(65));
        assert_eq!(last(story), Cause::SenderApp);
    }

    /// The client acknowledges bytes that the capture lacks.
    #[test]
    fn a_capture_that_lost_frames_may_have_lost_this_one() {
        let story = Story::new().handshake(0.02, 10.0).after_ms(1.0, client(100));
        let story = story.after_ms(1.0, client(0).ack(300));
        let story = (1..=12).fold(story.after_ms(1.0, client(100)), |story, ip_id| {
            let story = story.after_ms(30.0, server(200).ip_id(ip_id)).after_ms(0.02, client(0));
            story.after_ms(5.0, client(100))
        });
        assert_eq!(last(story.after_ms(230.0, server(200).ip_id(14))), Cause::Unknown);
    }
}
