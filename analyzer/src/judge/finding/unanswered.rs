//! Requests that nobody answered, and messages that get no answer.

use crate::judge::causes::Cause;
use crate::judge::findings::{self, Findings, Ruling};
use crate::track::wait::{Wait, fact};
use crate::track::{Connection, Side};

/// Leaves out the waits for an answer of which the capture does not show that one was due. They are among
/// the first of `waits`, those of `connection`, with their `rulings`, which begin at `first`.
pub fn drop(connection: &Connection, waits: &mut [Wait], rulings: &mut Vec<Ruling>, first: usize) {
    if !rulings[first..].iter().any(|ruling| ruling.cause == Cause::Unanswered) {
        return;
    }
    let times_tell =
        !connection.is_even() && !connection.is_out_of_order() && !connection.is_disordered();
    let all = Findings::new(waits, &rulings[first..]);
    let sends_unasked = all.iter().any(|row| row.cause == Cause::SenderApp && is_midway(row.wait));
    let longest_ns = all.iter().map(|row| answer_ns(row.wait)).max().unwrap_or(0);
    findings::retain(waits, rulings, first, |wait, ruling| {
        let is_due = || !sends_unasked && wait.wait_ns() > longest_ns;
        ruling.cause != Cause::Unanswered || times_tell && (wait.is(fact::RECOVERY) || is_due())
    });
}

/// Did the client go on after a pause, though nobody had answered? What it sends needs no answer then, each time.
fn is_midway(wait: &Wait) -> bool {
    wait.by == Side::Client && wait.is(fact::OWN_DATA_BEFORE) && wait.turn_ns == Wait::NO_TURN
}

/// How long the server took for an answer that came.
fn answer_ns(wait: &Wait) -> i64 {
    const OTHER: u32 = fact::OWN_DATA_BEFORE | fact::ACK_ONLY | fact::CONNECTING;
    let came = wait.by == Side::Server && wait.ending().is_none() && !wait.has_any(OTHER);
    if came { wait.wait_ns() } else { 0 }
}

#[cfg(test)]
mod tests {
    use crate::judge::causes::Cause;
    use crate::track::story::{Story, Told, client, server};

    fn unanswered(mut told: Told) -> usize {
        let causes = told.judge().1.into_iter().map(|ruling| ruling.cause);
        causes.filter(|&cause| cause == Cause::Unanswered).count()
    }

    fn opened() -> Story {
        Story::new().handshake(0.02, 1.0)
    }

    fn acknowledged(story: Story, ms: f64) -> Story {
        story.after_ms(ms, client(100)).after_ms(1.0, server(0))
    }

    #[test]
    fn a_log_shipper_waits_for_no_answer() {
        assert_eq!(unanswered(acknowledged(opened(), 5.0).end_after_ms(9_000.0)), 1);
        let shipped = opened().times(3, |story| acknowledged(story, 700.0));
        assert_eq!(unanswered(shipped.end_after_ms(9_000.0)), 0);
    }

    /// The server takes 2 s for each answer: after 1 s nothing is late.
    #[test]
    fn a_capture_that_ends_before_the_answer_can_have_come_shows_no_hang() {
        let answered = |story: Story| acknowledged(story, 5.0).after_ms(2_000.0, server(200));
        let asked = || acknowledged(opened().times(2, answered), 5.0);
        assert_eq!(unanswered(asked().end_after_ms(1_000.0)), 0);
        assert_eq!(unanswered(asked().end_after_ms(5_000.0)), 1);
    }

    #[test]
    fn made_up_times_show_no_hang() {
        let even = Story::new().handshake(250.0, 250.0).after_ms(250.0, client(100));
        let told = even.after_ms(250.0, server(0)).after_ms(250.0, client(0).fin());
        assert_eq!(unanswered(told.end()), 0);
    }
}
