//! Does a connection without a stall show that it has none? Why not is in the table of
//! `judge::doubts`; the tests that ask what was found are here.

use crate::judge::conditions::Conditions;
use crate::judge::direction::Direction;
use crate::judge::doubts::{DOUBTS, Doubt, Hidden};
use crate::judge::finding::losses;
use crate::judge::findings::{Finding, Findings};
use crate::judge::nagle::nodelay::Nagle;
use crate::judge::thresholds::{BLINDING_CLOCK_NS, OPEN_HOLDS, RELEASED_NOTHING};
use crate::rules;
use crate::track::wait::End;
use crate::track::{Connection, Mark, Side};

/// All that a doubt may ask for.
#[derive(Clone, Copy)]
pub struct Seen<'a> {
    pub connection: &'a Connection,
    /// Nagle's algorithm on the sockets of client and server.
    pub nagle: [Nagle; 2],
    /// All of its waits, whatever is listed.
    pub findings: Findings<'a>,
    pub directions: &'a [Direction; 2],
    pub conditions: Conditions<'a>,
}

impl Seen<'_> {
    /// The first doubt why it cannot be called clean.
    pub fn hidden(&self) -> Hidden {
        let known = self.directions[0].doubts;
        let is_late =
            |doubt: &Doubt| LATE.iter().any(|(hidden, test)| *hidden == doubt.hidden && test(self));
        let applies =
            |doubt: &&Doubt| if doubt.is_late() { is_late(doubt) } else { known.has(doubt) };
        let mut asked = DOUBTS.iter().filter(|doubt| !rules::off(doubt.hidden.name()));
        asked.find(applies).map_or(Hidden::Nothing, |doubt| doubt.hidden)
    }

    /// Does it apply to the client's side, or to the server's?
    fn either(&self, applies: impl Fn(Side, Nagle) -> bool) -> bool {
        Side::BOTH.into_iter().any(|side| applies(side, self.nagle[side as usize]))
    }
}

/// A test of what was found.
type LateTest = fn(&Seen<'_>) -> bool;

/// The tests of the doubts that are known only once all waits are judged.
const LATE: [(Hidden, LateTest); 6] = [
    (Hidden::AcksBehind, has_acks_behind),
    (Hidden::Elided, |seen| seen.conditions.is_elided),
    (Hidden::CoarseClock, |seen| seen.conditions.clock_ns >= BLINDING_CLOCK_NS),
    (Hidden::NoAcks, lacks_acks),
    (Hidden::Blurred, is_blurred),
    (Hidden::CutOff, is_cut_off),
];

/// Nothing else tells whether Nagle's algorithm was on.
fn has_acks_behind(seen: &Seen<'_>) -> bool {
    seen.either(|side, nagle| {
        nagle == Nagle::Unknown && seen.connection.half(side).acks_behind() > 0
    })
}

fn lacks_acks(seen: &Seen<'_>) -> bool {
    let Seen { connection, findings, .. } = *seen;
    seen.either(|side, nagle| losses::hides_holds(connection, side, nagle, findings))
}

/// The capture ends where the segment would come that the last ACK, a late one, may have released, and few
/// before it were late.
fn is_cut_off(seen: &Seen<'_>) -> bool {
    let Seen { connection, findings, directions, conditions, .. } = *seen;
    seen.either(|side, nagle| {
        let half = connection.half(side);
        let path = &directions[side as usize].path;
        let peer = connection.half(side.other());
        let released_nothing = peer.late_acks > RELEASED_NOTHING;
        let is_last = |mark: Mark| {
            let left_ns = conditions.end_ns - mark.time_ns;
            half.last_ns <= mark.time_ns && left_ns as f64 / 1e6 <= path.latest_release_ms()
        };
        let ends_wait = |finding: Finding<'_>| {
            let wait = finding.wait;
            wait.end == End::Ack && wait.by == side.other() && is_last(wait.to)
        };
        let is_open = !nagle.is_off() && !released_nothing && !half.has_finished();
        is_open && (findings.iter().any(ends_wait) || half.late_ack(peer).is_some_and(is_last))
    })
}

/// Is it left open by the waits of one side whether something was held? With enough candidates the model
/// would say so of some, had Nagle's algorithm been on: what counts is the sum of what it leaves open.
fn is_blurred(seen: &Seen<'_>) -> bool {
    seen.either(|side, nagle| {
        let findings = seen.findings.iter();
        let own = || findings.clone().filter(|one| one.wait.by == side && !one.is_stall());
        let open: f64 = own().map(|finding| f64::from(finding.held.probability)).sum();
        let undecided = own().any(|finding| finding.held.is_unsure());
        match nagle {
            Nagle::Unknown => open >= OPEN_HOLDS || undecided,
            // A program that sets and clears the option for each message.
            Nagle::Off => open >= 2.0 * OPEN_HOLDS,
            Nagle::On | Nagle::Switched => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::causes::Cause;
    use crate::judge::finding::verdict::Verdict;
    use crate::track::story::{CLOCK_NS, Story, StorySegment, client, server};

    #[test]
    fn each_late_doubt_has_its_test() {
        let late = DOUBTS.iter().filter(|doubt| doubt.is_late()).map(|doubt| doubt.hidden);
        assert!(late.eq(LATE.map(|(hidden, _)| hidden)));
    }

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
        assert_eq!(verdict(replies(3.0)).0, Verdict::Possible);
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
    fn what_an_ack_at_the_end_released_is_not_seen() {
        let ends = |story: Story, end_after_ns: i64| {
            let mut told = story.end();
            let end_ns = told.connection.last_ns() + end_after_ns;
            let (judged, _) = told.judge_where(|conditions| Conditions { end_ns, ..conditions });
            (judged.verdict(), judged.hidden)
        };
        let late =
            |story: Story, last: StorySegment| story.after_ms(5.0, last).after_ms(41.0, server(0));
        let verdict = |last, end_ns| ends(late(opened().times(3, asked), last), end_ns);
        let cut_off = (Verdict::Inconclusive, Hidden::CutOff);
        assert_eq!([0, 500_000].map(|ns| verdict(client(100), ns)), [cut_off; 2]);
        assert_eq!(verdict(client(100), 600_000).0, Verdict::Clean);
        assert_eq!(verdict(client(100).fin(), 0).0, Verdict::Clean);
        // It is as those before it, which released nothing.
        let answered = |story| late(story, client(100)).after_ms(1.0, server(200));
        let after = |times| ends(late(opened().times(times, answered), client(100)), 0);
        assert_eq!([after(7), after(8)], [cut_off, (Verdict::Clean, Hidden::Nothing)]);
        // Nothing tells the round trip to the end that delays it.
        let joined = Story::new().after_ms(0.0, client(88)).after_ms(18.0, server(42));
        assert_eq!(ends(joined.after_ms(211.0, client(0)), 0), cut_off);
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
