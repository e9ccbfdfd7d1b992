//! Captures that lack pure ACKs: taken with a filter for data, or too fast for the buffer. A hold then looks
//! like a pause of the program, and what an ACK released like data sent in spite of Nagle's algorithm.

use crate::judge::doubts::size::may_hold;
use crate::judge::findings::{Finding, Findings};
use crate::judge::nagle::nodelay::Nagle;
use crate::judge::thresholds::{FEW_RELEASES, POSSIBLE};
use crate::track::wait::{Wait, fact};
use crate::track::{Connection, Side};

/// Does what contradicts Nagle's algorithm prove nothing, because ACKs may be missing? If the late ones
/// followed such ACKs, other data left with ACKs that were seen, and not only in stalls that were found.
pub fn may_release(connection: &Connection, side: Side, findings: Findings<'_>) -> bool {
    let follows = |finding: &Finding<'_>| {
        finding.wait.by == side
            && f64::from(finding.held.probability) >= POSSIBLE
            && !(finding.is_stall() && finding.is_sure())
    };
    let others = findings.iter().filter(follows).count() as u32;
    let follows = others >= FEW_RELEASES;
    let complete = connection.half(side.other()).is_complete_by_ids();
    follows && !complete && connection.half(side).contradicts_late()
}

/// May pauses of `side` have been holds whose ACKs are missing?
///
/// RFC 1122 (section 4.2.3.2) lets no data unacknowledged for half a second, and stacks do so for less: a
/// receiver that was seen to send data only, while its peer paused in what it sent, may have sent ACKs that
/// were left out. Where each message leaves at once, ACKs come with the replies and no pause is in doubt.
pub fn hides_holds(
    connection: &Connection,
    side: Side,
    nagle: Nagle,
    findings: Findings<'_>,
) -> bool {
    if nagle.is_off() || findings.stalls().any(|stall| stall.is_sure()) {
        return false;
    }
    let half = connection.half(side);
    let no_acks = || !connection.half(side.other()).has_pure_acks();
    let pauses = |finding: Finding<'_>| is_pause(finding.wait, side);
    (half.contradictions() > 0 && may_release(connection, side, findings))
        || (no_acks() && findings.iter().any(pauses))
}

/// Did `side` pause in what it sent, with something small of it unacknowledged as far as was seen?
fn is_pause(wait: &Wait, side: Side) -> bool {
    wait.by == side
        && wait.is_evidence()
        && wait.is(fact::OWN_DATA_BEFORE | fact::UNACKED_AT_SEND)
        && !wait.has_ack()
        && may_hold(wait)
}

#[cfg(test)]
mod tests {
    use crate::judge::doubts::Hidden;
    use crate::judge::finding::judged::JudgedConnection;
    use crate::judge::finding::verdict::Verdict;
    use crate::judge::nagle::nodelay::Nagle;
    use crate::track::Side;
    use crate::track::story::{Story, client, server};

    fn judged(story: Story) -> JudgedConnection {
        story.end().judge().0
    }

    /// One piece of the reply, and the other one `ms` later: of the ACK between them nothing was seen.
    fn in_two(story: Story, ms: f64) -> Story {
        let asked = story.after_ms(0.1, client(100)).after_ms(0.2, server(200));
        asked.after_ms(ms, server(50))
    }

    /// A capture filter that passes SYN and data only, as 'tcp[13] & 10 != 0' does.
    fn syns() -> Story {
        Story::new().after_ms(0.0, client(0).syn()).after_ms(0.02, server(0).syn())
    }

    #[test]
    fn a_filter_for_data_leaves_it_open_what_a_pause_was() {
        for begin in [Story::new(), syns()] {
            let judged = judged(begin.times(5, |story| in_two(story, 44.0)));
            assert_eq!((judged.verdict(), judged.hidden), (Verdict::Inconclusive, Hidden::NoAcks));
        }
    }

    #[test]
    fn without_pauses_there_is_nothing_to_hold() {
        let asked = |story: Story| story.after_ms(0.1, client(100)).after_ms(300.0, server(200));
        assert_eq!(judged(Story::new().times(5, asked)).hidden, Hidden::Nothing);
    }

    #[test]
    fn a_receiver_that_acknowledges_by_itself_hides_nothing() {
        let connected = Story::new().handshake(0.02, 0.02);
        let judged = judged(connected.times(5, |story| in_two(story, 30.0)));
        assert_eq!((judged.verdict(), judged.hidden), (Verdict::Clean, Hidden::Nothing));
        assert_eq!(judged.half(Side::Server).nagle, Nagle::Off);
    }

    /// The client writes twice at once, and only then answers the SYN: no round trip is known.
    #[test]
    fn what_leaves_at_once_proves_nothing_without_a_round_trip_of_pure_acks() {
        let story = syns().after_ms(0.4, client(40)).after_ms(0.01, client(21));
        let story = story.after_ms(0.3, server(90)).after_ms(0.02, server(12));
        let judged = judged(story.after_ms(0.1, client(40)));
        assert_eq!(judged.half(Side::Server).nagle, Nagle::Unknown);
    }

    #[test]
    fn half_of_the_acks_missing_is_no_nodelay() {
        let seen = |story: Story| {
            let asked = story.after_ms(0.1, client(100)).after_ms(0.2, server(200));
            asked.after_ms(44.0, client(0)).after_ms(0.01, server(50))
        };
        let story = Story::new().handshake(0.02, 0.02);
        let judged = judged(story.times(8, |story| in_two(seen(story), 44.0)));
        assert_ne!(judged.half(Side::Server).nagle, Nagle::Off);
    }

    #[test]
    fn where_much_is_missing_no_nodelay_is_proven() {
        let lost = |story: Story| {
            let story = in_two(story, 0.02).after_ms(0.1, client(0));
            story.after_ms(0.1, client(0).ack(10_000))
        };
        let judged =
            judged(lost(Story::new().handshake(0.02, 0.02).times(5, |story| in_two(story, 0.02))));
        assert_eq!(
            (judged.half(Side::Server).nagle, judged.hidden),
            (Nagle::Unknown, Hidden::Lossy)
        );
    }
}
