//! Connections without a handshake: by a larger MSS than the one inferred, what looks full-sized is small.

use crate::judge::findings::{Finding, Findings};
use crate::judge::nagle::nodelay::Nagle;
use crate::track::wait::fact;
use crate::track::{Connection, Side};

/// Did segments of a sender that look full-sized wait for an ACK, as small ones do that Nagle's
/// algorithm holds?
pub fn hides_holds(
    connection: &Connection,
    nagle: Nagle,
    side: Side,
    findings: Findings<'_>,
) -> bool {
    let (mss, inferred) = connection.effective_mss();
    let freed = |finding: Finding<'_>| {
        let wait = finding.wait;
        wait.by == side && wait.is_freed() && !wait.has_any(fact::SMALL | fact::LARGE_FLIGHT)
    };
    inferred && !nagle.is_off() && !connection.repeats_largest(mss) && findings.iter().any(freed)
}

#[cfg(test)]
mod tests {
    use crate::judge::finding::verdict::{Hidden, Verdict};
    use crate::track::story::{Story, client, server};

    /// Joined midway: a head of 100 bytes, and a body of 1,300 that waits for its ACK.
    fn head_and_body(story: Story) -> Story {
        story
            .after_ms(5.0, client(100))
            .after_ms(40.0, server(0))
            .after_ms(0.02, client(1300))
            .after_ms(1.0, server(200))
    }

    fn verdict(story: Story) -> (Verdict, Hidden) {
        let judged = story.end().judge().0;
        (judged.verdict(), judged.hidden)
    }

    #[test]
    fn the_largest_segment_may_be_small() {
        let held = verdict(Story::new().times(4, head_and_body));
        assert_eq!(held, (Verdict::Inconclusive, Hidden::UnknownMss));
    }

    /// Had the MSS been larger, Nagle's algorithm would have held all but the first, or put them
    /// together.
    #[test]
    fn segments_of_one_size_back_to_back_show_the_mss() {
        let bulk = (0..6).fold(Story::new(), |story, _| story.after_ms(0.01, client(1300)));
        let held = verdict(bulk.after_ms(1.0, server(0)).times(4, head_and_body));
        assert_eq!(held.0, Verdict::Clean);
    }
}
