//! Does a connection without a stall show that it has none?

use crate::judge::conditions::Conditions;
use crate::judge::finding::verdict::Hidden;
use crate::judge::finding::{edge, losses};
use crate::judge::findings::Findings;
use crate::judge::nagle::nodelay::Nagle;
use crate::judge::thresholds::{BLINDING_CLOCK_NS, OPEN_HOLDS};
use crate::track::{Connection, Side};

/// Why `connection`, in which these `findings` were seen, if any, cannot be called clean.
pub fn hidden(
    connection: &Connection,
    nagle: [Nagle; 2],
    findings: Findings<'_>,
    conditions: Conditions,
) -> Hidden {
    let of = |side: Side| nagle[side as usize];
    let is_blurred = |&side: &Side| may_be_held(of(side), side, findings);
    let lacks_acks = |&side: &Side| losses::hides_holds(connection, side, of(side), findings);
    let is_cut_off =
        |&side: &Side| edge::hides_hold(connection, side, of(side), findings, conditions);
    if connection.is_copy {
        Hidden::Copied
    } else if connection.halves.iter().all(|half| half.bytes() == 0) {
        Hidden::NoData
    } else if connection.halves.iter().any(|half| half.segments == 0) {
        Hidden::OneDirection
    } else if connection.is_disordered() {
        Hidden::Disordered
    } else if losses::is_lossy(connection) {
        Hidden::Lossy
    } else if conditions.clock_ns >= BLINDING_CLOCK_NS {
        Hidden::CoarseClock
    } else if findings.is_empty() {
        // Without waits nothing was held that the capture would not show.
        Hidden::Nothing
    } else if Side::BOTH.iter().any(lacks_acks) {
        Hidden::NoAcks
    } else if Side::BOTH.iter().any(is_blurred) {
        Hidden::Blurred
    } else if Side::BOTH.iter().any(is_cut_off) {
        Hidden::CutOff
    } else {
        Hidden::Nothing
    }
}

/// Is it left open by the waits of `side` whether something was held? With enough candidates the model would
/// say so of some, had Nagle's algorithm been on: what counts is the sum of what it leaves open.
fn may_be_held(nagle: Nagle, side: Side, findings: Findings<'_>) -> bool {
    let own = || findings.iter().filter(|finding| finding.wait.by == side && !finding.is_stall());
    let open: f64 = own().map(|finding| f64::from(finding.held.probability)).sum();
    let undecided = own().any(|finding| finding.held.is_open());
    nagle == Nagle::Unknown && (open >= OPEN_HOLDS || undecided)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::causes::Cause;
    use crate::judge::finding::verdict::Verdict;
    use crate::track::story::{CLOCK_NS, Story, StorySegment, client, server};

    /// Captured at the client, 1 ms away from its server.
    fn opened() -> Story {
        Story::new().handshake(0.02, 1.0)
    }

    fn verdict_with(story: Story, clock_ns: i64) -> (Verdict, Hidden) {
        let mut told = story.end();
        let (judged, _) = told.judge_where(|conditions| Conditions { clock_ns, ..conditions });
        (judged.verdict(), judged.hidden)
    }

    fn verdict(story: Story) -> (Verdict, Hidden) {
        verdict_with(story, CLOCK_NS)
    }

    fn asked(story: Story) -> Story {
        story.after_ms(5.0, client(100)).after_ms(1.0, server(200))
    }

    fn held(story: Story, held: StorySegment) -> Story {
        story.after_ms(5.0, client(100)).after_ms(40.0, server(0)).after_ms(0.02, held)
    }

    #[test]
    fn a_single_doubtful_stall_is_possible_and_several_are_stalls() {
        // Of a classic sender, behind a full-sized segment.
        let once = opened()
            .after_ms(5.0, client(1460))
            .after_ms(40.0, server(0))
            .after_ms(3.0, client(50).fin());
        assert_eq!(verdict(once).0, Verdict::Clean);
        let often = opened().times(3, |story| held(story, client(50)));
        assert_eq!(verdict(often).0, Verdict::Stalls);
    }

    #[test]
    fn what_the_capture_does_not_show_is_not_clean() {
        assert_eq!(verdict(asked(opened())), (Verdict::Clean, Hidden::Nothing));
        assert_eq!(verdict(opened()), (Verdict::Inconclusive, Hidden::NoData));
        let one_way = Story::new().after_ms(0.0, client(100)).after_ms(40.0, client(50));
        assert_eq!(verdict(one_way), (Verdict::Inconclusive, Hidden::OneDirection));
    }

    /// Some 5 ms after their ACKs, where up to 3 ms are a hold by the only round trip: jitter or the program.
    #[test]
    fn what_may_have_been_held_is_not_clean() {
        let replies = |least_ms: f64| {
            let one = |story: Story, ms: f64| {
                let sent = story.after_ms(5.0, server(100)).after_ms(40.0 + ms, client(0));
                sent.after_ms(least_ms + ms, server(50)).after_ms(1.0, client(0))
            };
            [2.0, 1.0, 3.0, 1.5, 2.5].into_iter().fold(opened(), one)
        };
        assert_eq!(verdict(replies(3.0)), (Verdict::Possible, Hidden::Blurred));
        assert_eq!(verdict(replies(28.0)).0, Verdict::Clean);
    }

    #[test]
    fn a_coarse_clock_hides_stalls_and_one_of_a_millisecond_does_not() {
        let coarse = verdict_with(asked(opened()), BLINDING_CLOCK_NS);
        assert_eq!(coarse, (Verdict::Inconclusive, Hidden::CoarseClock));
        assert_eq!(verdict_with(asked(opened()), BLINDING_CLOCK_NS / 10).0, Verdict::Clean);
    }

    /// The server's clock is 1 ms ahead of the client's: its ACKs come before what they acknowledge.
    #[test]
    fn segments_after_their_acks_prove_two_clocks_and_no_loss() {
        let early = |story: Story, exchange: i64| {
            let replied = story.after_ms(5.0, server(200).ack(100 * exchange + 100));
            let late = replied.after_ms(1.0, client(100).seq(100 * exchange).ack(200 * exchange));
            late.after_ms(1.0, client(0))
        };
        let story = || (0..4).fold(opened(), early);
        assert_eq!(verdict(story()), (Verdict::Inconclusive, Hidden::Disordered));
        let judged = story().end().judge();
        assert!(judged.0.halves.iter().all(|half| half.nagle == Nagle::Unknown));
        assert!(judged.1.iter().all(|ruling| ruling.cause != Cause::Retransmission));
    }

    #[test]
    fn many_missing_bytes_hide_stalls_and_a_few_do_not() {
        let missing = |bytes: i64| {
            let story = opened().times(9, asked);
            let end = 9 * 100 + bytes;
            story.after_ms(5.0, client(100).seq(end)).after_ms(1.0, server(200).ack(end + 100))
        };
        assert_eq!(verdict(missing(400)), (Verdict::Inconclusive, Hidden::Lossy));
        assert_eq!(verdict(missing(100)), (Verdict::Clean, Hidden::Nothing));
    }
}
