//! Does a connection without a stall show that it has none? The tests of the reasons why not.

use crate::judge::conditions::Conditions;
use crate::judge::finding::verdict::{Hidden, REASONS, Reason};
use crate::judge::finding::{edge, losses};
use crate::judge::findings::Findings;
use crate::judge::nagle::nodelay::Nagle;
use crate::judge::thresholds::{BLINDING_CLOCK_NS, OPEN_HOLDS};
use crate::rules;
use crate::track::{Connection, Side};

/// All that a reason may ask for.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    pub connection: &'a Connection,
    /// Nagle's algorithm on the sockets of client and server.
    pub nagle: [Nagle; 2],
    /// All of its waits, whatever is listed.
    pub findings: Findings<'a>,
    pub conditions: Conditions,
}

impl Seen<'_> {
    /// The first reason why it cannot be called clean.
    pub fn hidden(&self) -> Hidden {
        let is_asked = |reason: &&Reason| !rules::off(reason.hidden.name());
        let reason = REASONS.iter().filter(is_asked).find(|reason| (reason.applies)(self));
        reason.map_or(Hidden::Nothing, |reason| reason.hidden)
    }

    fn either(&self, applies: impl Fn(Side, Nagle) -> bool) -> bool {
        Side::BOTH.into_iter().any(|side| applies(side, self.nagle[side as usize]))
    }
}

pub fn is_copied(seen: &Seen<'_>) -> bool {
    seen.connection.copies.is_one_itself()
}

pub fn lacks_data(seen: &Seen<'_>) -> bool {
    seen.connection.halves.iter().all(|half| half.bytes() == 0)
}

/// A stall shows in the ACKs of the other direction.
pub fn lacks_direction(seen: &Seen<'_>) -> bool {
    seen.connection.halves.iter().any(|half| half.segments == 0)
}

pub fn has_made_up_times(seen: &Seen<'_>) -> bool {
    seen.connection.is_even()
}

pub fn is_out_of_order(seen: &Seen<'_>) -> bool {
    seen.connection.is_out_of_order()
}

pub fn is_disordered(seen: &Seen<'_>) -> bool {
    seen.connection.is_disordered()
}

/// Nothing else tells whether Nagle's algorithm was on.
pub fn has_acks_behind(seen: &Seen<'_>) -> bool {
    seen.either(|side, nagle| {
        nagle == Nagle::Unknown && seen.connection.half(side).acks_behind() > 0
    })
}

pub fn is_elided(seen: &Seen<'_>) -> bool {
    seen.conditions.is_elided
}

pub fn is_lossy(seen: &Seen<'_>) -> bool {
    losses::is_lossy(seen.connection)
}

/// Its clock ticks as seldom as the shortest delayed ACK comes.
pub fn has_coarse_clock(seen: &Seen<'_>) -> bool {
    seen.conditions.clock_ns >= BLINDING_CLOCK_NS
}

pub fn lacks_acks(seen: &Seen<'_>) -> bool {
    let Seen { connection, findings, .. } = *seen;
    seen.either(|side, nagle| losses::hides_holds(connection, side, nagle, findings))
}

/// The capture ends where the segment would come that its last ACK released.
pub fn is_cut_off(seen: &Seen<'_>) -> bool {
    let Seen { connection, findings, conditions, .. } = *seen;
    seen.either(|side, nagle| edge::hides_hold(connection, side, nagle, findings, conditions))
}

/// Is it left open by the waits of one side whether something was held? With enough candidates the model would
/// say so of some, had Nagle's algorithm been on: what counts is the sum of what it leaves open.
pub fn is_blurred(seen: &Seen<'_>) -> bool {
    seen.either(|side, nagle| {
        let findings = seen.findings.iter();
        let own = || findings.clone().filter(|one| one.wait.by == side && !one.is_stall());
        let open: f64 = own().map(|finding| f64::from(finding.held.probability)).sum();
        let undecided = own().any(|finding| finding.held.is_open);
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
    use crate::track::story::{CLOCK_NS, Story, client, server};

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
