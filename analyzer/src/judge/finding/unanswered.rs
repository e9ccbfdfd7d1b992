//! Requests that nobody answered, and messages that get no answer.

use crate::judge::causes::Cause;
use crate::judge::doubts::{Doubts, hides};
use crate::judge::findings::{self, Finding, Findings, Ruling};
use crate::judge::statistics;
use crate::judge::thresholds::LATE_ANSWERS;
use crate::track::Side;
use crate::track::thresholds::FIRST_RTO_NS;
use crate::track::wait::{End, Wait, fact};

/// Leaves out the waits for an answer of which the capture does not show that one was due. They are among
/// the first of `waits`, those of one connection, with their `rulings`, which begin at `first`. So many requests
/// of it were `answered`; where none was, other connections of its server waited `usual_ns` at the median.
pub fn drop(
    (answered, usual_ns, doubts): (u32, impl Fn() -> i64, Doubts),
    waits: &mut [Wait],
    rulings: &mut Vec<Ruling>,
    first: usize,
) {
    if !rulings[first..].iter().any(|ruling| ruling.cause == Cause::Unanswered) {
        return;
    }
    let times_tell = !doubts.hide(hides::ORDER | hides::WAITS);
    let all = Findings::new(waits, &rulings[first..]);
    let is_open = |row: &Finding<'_>| row.cause == Cause::Unanswered;
    // A farewell ends both the wait for an answer and the client's own.
    let ended: Vec<u32> = all.iter().filter(is_open).map(|row| row.wait.to.frame).collect();
    let is_unasked = |row: Finding<'_>| {
        let is_farewell = || ended.contains(&row.wait.to.frame);
        row.cause == Cause::SenderApp && is_midway(row.wait) && !is_farewell()
    };
    // Where requests are answered, a client that goes on after a long pause has given one up.
    let unasked = || all.iter().filter(|&row| is_unasked(row));
    let goes_on = |row: Finding<'_>| row.wait.wait_ns() < FIRST_RTO_NS;
    let sends_unasked = unasked().count() > answered as usize || unasked().any(goes_on);
    let mut answers_ns: Vec<i64> = all.iter().filter_map(|row| answer_ns(row.wait)).collect();
    let longest_ns = answers_ns.iter().copied().max().unwrap_or(0);
    let median_ns = statistics::lower(&mut answers_ns).unwrap_or(0);
    let medians = |median_ns: i64| LATE_ANSWERS.saturating_mul(median_ns);
    let late_ns = longest_ns.min(medians(median_ns)).max(medians(usual_ns()));
    let pause_ns = all.iter().map(pause_ns).max().unwrap_or(0);
    let is_late = |wait: &Wait| match wait.is(fact::IN_EXCHANGE) {
        true => !sends_unasked && wait.wait_ns() > late_ns,
        false => wait.wait_ns() > pause_ns,
    };
    let is_due = |wait: &Wait| times_tell && (wait.is(fact::RECOVERY) || is_late(wait));
    let due: Vec<u32> = all
        .iter()
        .filter(|row| is_open(row) && is_due(row.wait))
        .map(|row| row.wait.to.frame)
        .collect();
    findings::retain(waits, rulings, first, |wait, ruling| match ruling.cause {
        Cause::Unanswered => due.contains(&wait.to.frame),
        Cause::SenderApp => !(is_midway(wait) && due.contains(&wait.to.frame)),
        _ => true,
    });
}

/// Did the client go on after a pause, though nobody had answered? Its data needs no answer then.
fn is_midway(wait: &Wait) -> bool {
    wait.by == Side::Client && wait.is(fact::OWN_DATA_BEFORE) && wait.turn_ns == Wait::NO_TURN
}

/// How long the server took for an answer that came.
fn answer_ns(wait: &Wait) -> Option<i64> {
    let is_data = wait.by == Side::Server && wait.end == End::Data;
    (is_data && !wait.is(fact::OWN_DATA_BEFORE)).then(|| wait.wait_ns())
}

/// How long its sender's program paused, and went on.
fn pause_ns(row: Finding<'_>) -> i64 {
    let is_pause = row.wait.end == End::Data && row.cause == Cause::SenderApp;
    if is_pause { row.wait.wait_ns() } else { 0 }
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

    #[test]
    fn a_client_that_goes_on_after_a_hang_waits_again() {
        let answered = |story: Story| acknowledged(story, 5.0).after_ms(2.0, server(200));
        let given_up = acknowledged(opened().times(3, answered), 5.0);
        let asked = given_up.after_ms(20_000.0, client(140)).after_ms(1.0, server(0));
        assert_eq!(unanswered(asked.end_after_ms(9_000.0)), 1);
    }

    #[test]
    fn the_pause_before_a_farewell_is_the_wait_for_the_answer() {
        let asked = acknowledged(opened(), 5.0).after_ms(9_000.0, client(31));
        let mut told = asked.after_ms(0.02, client(0).fin()).end();
        let causes = told.judge().1.into_iter().map(|ruling| ruling.cause);
        assert_eq!(causes.collect::<Vec<Cause>>(), [Cause::Unanswered]);
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
