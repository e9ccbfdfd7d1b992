//! Holds shorter than are listed, and whether it is proven that nothing was held.

use crate::judge::findings::{Finding, Findings};
use crate::judge::nagle::nodelay::Nagle;
use crate::judge::thresholds::{FEW_RELEASES, PEAK_OVER_CHANCE};
use crate::rules;
use crate::track::thresholds::NEAR;
use crate::track::wait::fact;
use crate::track::{Connection, Side};

/// Holds that are not listed, and the part of their waits that lies in exchanges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Short {
    pub count: u32,
    pub in_exchanges_ns: i64,
}

impl Short {
    /// Short waits of `connection` that may be holds, and stalls among `findings` that are too short to
    /// be `listed`.
    pub fn of(
        connection: &Connection,
        nagle: [Nagle; 2],
        findings: Findings<'_>,
        listed: impl Fn(&Finding<'_>) -> bool,
    ) -> Self {
        if rules::off("short") {
            return Self::default();
        }
        let mut short = Self::default();
        for side in Side::BOTH.into_iter().filter(|&side| may_be_holds(connection, nagle, side)) {
            let counted = connection.half(side).odd().short_holds;
            short.count = short.count.saturating_add(counted.in_band);
            short.in_exchanges_ns = short.in_exchanges_ns.saturating_add(counted.in_exchanges_ns);
        }
        let is_short = |finding: &Finding<'_>| {
            finding.is_short_hold() || finding.is_stall() && !listed(finding) && finding.is_sure()
        };
        for hold in findings.iter().filter(is_short) {
            let in_exchange = i64::from(hold.wait.is(fact::IN_EXCHANGE));
            short.count = short.count.saturating_add(1);
            short.in_exchanges_ns =
                short.in_exchanges_ns.saturating_add(in_exchange * hold.lost_ns());
        }
        short
    }
}

/// Did the small segments of `side` that soon followed an ACK crowd around the round trip, as held ones
/// do, and does nothing show that Nagle's algorithm is off?
fn may_be_holds(connection: &Connection, nagle: [Nagle; 2], side: Side) -> bool {
    let short = connection.half(side).odd().short_holds;
    // The neighbourhood is so many times as wide as the band (`Band::reaches`).
    let by_chance = f64::from(short.near) / NEAR as f64;
    !nagle[side as usize].is_off()
        && short.in_band >= FEW_RELEASES
        && f64::from(short.in_band) > PEAK_OVER_CHANCE * by_chance
}

/// Does the capture prove that nothing was held? It does if neither direction has a small segment that left
/// so soon after an ACK of its sender's data that the ACK may have released it. Segments behind the first
/// that left while a small one was unacknowledged do not count.
pub fn nothing_was_held(connection: &Connection) -> bool {
    connection.halves.iter().all(|half| !half.may_be_held())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::finding::judged::JudgedConnection;
    use crate::track::story::{Story, client, server};

    fn judged(story: Story) -> JudgedConnection {
        story.end().judge().0
    }

    /// The server, 3 ms away, acknowledges at once; the client is captured at home.
    fn opened() -> Story {
        Story::new().handshake(0.02, 3.0)
    }

    fn piece_by_piece(story: Story) -> Story {
        story
            .after_ms(5.0, client(100))
            .after_ms(3.0, server(0))
            .after_ms(0.02, client(50))
            .after_ms(3.2, server(200))
    }

    #[test]
    fn holds_of_a_short_round_trip_are_counted_and_are_no_evidence() {
        let judged = judged(opened().times(4, piece_by_piece));
        assert_eq!((judged.stalls, judged.nothing_held), (0, false));
        assert_eq!((judged.short.count, judged.short.in_exchanges_ns), (4, 4 * 3_020_000));
    }

    #[test]
    fn a_program_that_writes_at_any_time_after_an_ack_holds_nothing() {
        let write = |story: Story, ms| {
            story
                .after_ms(5.0, client(100))
                .after_ms(3.0, server(0))
                .after_ms(ms, client(50))
                .after_ms(3.0, server(0))
        };
        let all = [0.3, 0.9, 1.4, 0.1, 1.9, 1.1, 0.7, 1.6];
        let judged = judged(all.into_iter().fold(opened(), write));
        assert_eq!((judged.short, judged.nothing_held), (Short::default(), false));
    }

    #[test]
    fn with_nodelay_in_effect_nothing_was_held() {
        let two = |story: Story| {
            let story = story.after_ms(5.0, client(100)).after_ms(0.5, client(50));
            story.after_ms(3.0, server(0)).after_ms(0.02, client(50))
        };
        let judged = judged(opened().times(4, two));
        assert_eq!((judged.short, judged.nothing_held), (Short::default(), true));
    }

    #[test]
    fn nodelay_that_was_set_later_proves_nothing_of_what_came_before() {
        let at_once = |story: Story| {
            story.after_ms(5.0, client(100)).after_ms(0.5, client(50)).after_ms(3.0, server(200))
        };
        assert!(!judged(at_once(piece_by_piece(opened()))).nothing_held);
    }

    #[test]
    fn one_write_per_request_leaves_nothing_to_hold() {
        // The client takes its time, and the server thinks: no ACK let either go.
        let asked = |story: Story| story.after_ms(5.0, client(100)).after_ms(15.0, server(200));
        assert!(judged(opened().times(4, asked)).nothing_held);
    }

    #[test]
    fn what_follows_an_answer_at_once_may_have_been_held_until_it_came() {
        let asked = |story: Story| story.after_ms(0.02, client(100)).after_ms(9.0, server(200));
        assert!(!judged(opened().times(4, asked)).nothing_held);
    }
}
