//! The end of a capture, where an ACK that came late may have released a segment that is not seen.

use crate::judge::conditions::Conditions;
use crate::judge::findings::{Finding, Findings};
use crate::judge::nagle::nodelay::Nagle;
use crate::judge::path::Path;
use crate::track::wait::fact;
use crate::track::{Connection, Side};

/// May the last ACK that `side` was seen to get have released a segment behind the end of the capture?
pub fn hides_hold(
    connection: &Connection,
    side: Side,
    nagle: Nagle,
    findings: Findings<'_>,
    conditions: Conditions,
) -> bool {
    let half = connection.half(side);
    let path = Path::of(half, conditions.clock_ns);
    let is_last = |finding: Finding<'_>| {
        let wait = finding.wait;
        let left_ns = conditions.end_ns - wait.to.time_ns;
        wait.is(fact::ACK_ONLY)
            && wait.by == side.other()
            && half.last_ns <= wait.to.time_ns
            && left_ns as f64 / 1e6 <= path.latest_release_ms()
    };
    !nagle.is_off() && !half.has_finished() && findings.iter().any(is_last)
}

#[cfg(test)]
mod tests {
    use crate::judge::conditions::Conditions;
    use crate::judge::finding::verdict::{Hidden, Verdict};
    use crate::track::story::{Story, StorySegment, client, server};

    /// The server, 1 ms away, acknowledges late, and the capture ends so long after.
    fn verdict(last: StorySegment, end_after_ns: i64) -> (Verdict, Hidden) {
        let asked = |story: Story| story.after_ms(5.0, client(100)).after_ms(1.0, server(200));
        let story = Story::new().handshake(0.02, 1.0).times(3, asked);
        let mut told = story.after_ms(5.0, last).after_ms(41.0, server(0)).end();
        let end_ns = told.connection.last_ns() + end_after_ns;
        let (judged, _) = told.judge_where(|conditions| Conditions { end_ns, ..conditions });
        (judged.verdict(), judged.hidden)
    }

    #[test]
    fn what_an_ack_at_the_end_released_is_not_seen() {
        let cut_off = (Verdict::Inconclusive, Hidden::CutOff);
        assert_eq!([0, 500_000].map(|ns| verdict(client(100), ns)), [cut_off; 2]);
        assert_eq!(verdict(client(100), 600_000).0, Verdict::Clean);
        assert_eq!(verdict(client(100).fin(), 0).0, Verdict::Clean);
    }
}
