//! Requests that nobody answered, and messages that get no answer.

use crate::judge::causes::Cause;
use crate::judge::findings::{self, Findings, Ruling};
use crate::track::wait::{Wait, fact};
use crate::track::{Connection, Side};

/// Leaves out the waits for an answer of which the capture does not show that one was due. They are among
/// the first of `waits`, those of `connection`, with their `rulings`, which begin at `first`.
pub fn drop(
    connection: &Connection,
    waits: &mut [Wait],
    rulings: &mut Vec<Ruling>,
    first: usize,
) {
    if !rulings[first..].iter().any(|ruling| ruling.cause == Cause::Unanswered) {
        return;
    }
    let times_tell = !connection.is_even()
        && !connection.is_out_of_order()
        && !connection.is_disordered();
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
