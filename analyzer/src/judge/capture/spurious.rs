//! Retransmissions that were not needed: the receiver had the segment, and kept its ACK back for
//! longer than the sender's retransmission timer runs (lwIP: up to 250 ms; Linux sends again after
//! 200 ms). The copy draws the ACK, and the ACK frees what Nagle's algorithm held.

use crate::judge::capture::point::{CapturePoint, capture_point};
use crate::judge::path::Path;
use crate::judge::thresholds::{FEW_RELEASES, NEARLY_RTO_NS, NEEDLESS_ONE_OF};
use crate::rules;
use crate::track::wait::{Wait, fact};
use crate::track::{Connection, Side};

/// Does this sender's retransmission timer run out before the receiver's delayed-ACK timer, with
/// nothing lost?
///
/// At the receiver both copies are seen to arrive. Elsewhere two things must hold: nearly all that was
/// sent again is what a wait was waiting for, as a loss hits any segment; and this happened often, or the
/// receiver is known to delay its ACKs for nearly as long as retransmission timers take.
pub fn is_needless<'a>(
    connection: &Connection,
    side: Side,
    waits: &[Wait],
    held: impl Iterator<Item = &'a Wait>,
    paths: &[Path; 2],
) -> bool {
    if rules::off("needless") {
        return false;
    }
    let receiver_rtt_ns = paths[side.other() as usize].shortest_ns.unwrap_or(0);
    let (mut all, mut resent, mut longest_ns) = (0, 0, 0);
    for wait in held {
        all += 1;
        if wait.is(fact::RESENT) {
            resent += 1;
        } else {
            longest_ns = longest_ns.max(wait.ack_ns() - receiver_rtt_ns);
        }
    }
    let often = resent >= FEW_RELEASES as usize && resent * NEEDLESS_ONE_OF >= all;
    // Waits that were kept as some of the longest alone are no sample of the rest.
    let is_sample = |wait: &&Wait| wait.is(fact::RESENT) && !wait.is(fact::LONGEST);
    let resent_alone = waits.iter().filter(|wait| wait.by == side).filter(is_sample).count();
    // Four fifths of all that was sent again.
    let nearly_all = connection.half(side).odd().repeats.retransmitted as usize * NEEDLESS_ONE_OF
        <= resent_alone * (NEEDLESS_ONE_OF + 1);
    (nearly_all && (often || longest_ns >= NEARLY_RTO_NS))
        || is_at_receiver(connection, side, paths)
}

/// Was the capture taken where what `side` sends arrives?
fn is_at_receiver(connection: &Connection, side: Side, paths: &[Path; 2]) -> bool {
    let at_receiver = match side {
        Side::Client => CapturePoint::Server,
        Side::Server => CapturePoint::Client,
    };
    capture_point(connection, paths.map(|path| path.shortest_ns)) == at_receiver
}

#[cfg(test)]
mod tests {
    use crate::judge::causes::Cause;
    use crate::track::story::{Story, StorySegment, client, server};

    /// The causes of the waits, by who ended them.
    fn causes(story: Story) -> Vec<(&'static str, Cause)> {
        let mut told = story.end();
        let (_, rulings) = told.judge();
        let by = told.waits.iter().map(|wait| wait.by.name());
        by.zip(rulings).map(|(by, ruling)| (by, ruling.cause)).collect()
    }

    /// A request that the client, where the capture was taken, sends again after 210 ms.
    fn sent_again() -> Story {
        Story::new()
            .handshake(0.02, 1.0)
            .after_ms(5.0, client(100).ip_id(1))
            .after_ms(210.0, client(100).again().ip_id(2))
    }

    /// The server reports that `begin..begin + 100` came twice; the client's numbers wrap after 50 bytes.
    fn d_sack(ack: StorySegment, begin: u32) -> StorySegment {
        let [begin, end] = [begin, begin + 100].map(|at| at.wrapping_sub(51).to_be_bytes());
        ack.options(&[&[1, 1, 5, 10], &begin[..], &end[..]].concat())
    }

    #[test]
    fn bytes_that_the_receiver_had_were_not_lost_and_the_answer_is_what_took_so_long() {
        let reported = sent_again().after_ms(1.0, d_sack(server(0), 0));
        let late = [("server", Cause::DelayedAck), ("server", Cause::SenderApp)];
        assert_eq!(causes(reported.after_ms(90.0, server(200))), late);
        let lost = sent_again().after_ms(1.0, server(0));
        let causes = causes(lost.after_ms(90.0, server(200)));
        assert_eq!(causes[0], ("client", Cause::Retransmission));
    }

    #[test]
    fn a_sack_of_later_bytes_reports_nothing_twice() {
        let other = sent_again().after_ms(1.0, d_sack(server(0), 700));
        assert_eq!(causes(other.after_ms(90.0, server(200)))[0].1, Cause::Retransmission);
    }

    /// It ends with the ACK that the second copy draws: the timer of the ACK is longer than the other.
    #[test]
    fn what_a_needless_retransmission_let_go_was_held() {
        let once = |story: Story| {
            story
                .after_ms(5.0, client(100))
                .after_ms(210.0, client(100).again())
                .after_ms(1.0, server(0).options(&[1, 1, 5, 10, 0, 0, 0, 0, 0, 0, 0, 0]))
        };
        // Without a report of these bytes it is a loss; with one it is a hold.
        let mut unknown = once(Story::new().handshake(0.02, 1.0)).after_ms(0.02, client(50)).end();
        assert!(unknown.judge().1.iter().all(|ruling| !ruling.cause.is_stall()));
        let reported = sent_again().after_ms(1.0, d_sack(server(0), 0));
        let held = reported.after_ms(0.02, client(50).ip_id(3)).after_ms(1.0, server(200));
        assert_eq!(causes(held), [("client", Cause::NagleDelack)]);
    }

    /// Captured between both: the ACK was on its way when the copy passed, so the receiver had the bytes.
    #[test]
    fn an_ack_that_the_copy_cannot_have_drawn_says_that_it_was_needless() {
        let sent_again = |ack_ms: f64| {
            let asked = Story::new().handshake(1.0, 1.6).after_ms(5.0, client(100).ip_id(1));
            let again = asked.after_ms(98.0, client(100).again().ip_id(2));
            again.after_ms(ack_ms, server(0)).after_ms(1.0, client(50).ip_id(3))
        };
        assert_eq!(causes(sent_again(0.07)), [("client", Cause::NagleDelack)]);
        assert_eq!(causes(sent_again(1.6))[0], ("client", Cause::Retransmission));
    }

    #[test]
    fn thought_before_a_segment_is_not_its_later_loss() {
        // The first hundred bytes never came; those behind them did, after 13 ms of thought.
        let told = |ms: f64| {
            let asked = Story::new().handshake(0.02, 1.0).after_ms(5.0, client(100).ip_id(1));
            let story = asked.after_ms(1.0, server(300).ip_id(1)).after_ms(0.02, client(0));
            let behind = story.after_ms(ms, client(50).seq(200).ip_id(4));
            causes(behind.after_ms(9.0, client(100).seq(100).ip_id(5)))
        };
        assert_eq!(told(13.0), [("client", Cause::SenderApp)]);
        assert_eq!(told(240.0)[0], ("client", Cause::Retransmission));
    }
}
