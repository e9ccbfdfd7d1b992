//! Waits that another finding covers, or for which nobody waited.

use crate::judge::causes::Cause;
use crate::judge::findings::{self, Findings, Ruling};
use crate::track::Side;
use crate::track::wait::{End, Wait, fact};

/// Leaves out ACKs that came as soon as the path allows, and the waits before bytes that the
/// receiver then reported to have had: nobody waited for them. So it is with pauses of a client that
/// waited for a reply, and with waits that are debts as well. Of a hold that a retransmission ended
/// and the waits within it, leaves out one or the other. All are among the first of `waits`, those of
/// one connection, with their `rulings`, which begin at `first`.
pub fn drop(waits: &mut [Wait], rulings: &mut Vec<Ruling>, first: usize) {
    let is_prompt =
        |wait: &Wait, ruling: &Ruling| wait.end == End::Ack && ruling.cause == Cause::Unknown;
    if waits.iter().any(|wait| wait.end == End::Ack) {
        findings::retain(waits, rulings, first, |wait, ruling| !is_prompt(wait, ruling));
    }
    if waits.iter().any(|wait| wait.is(fact::NEEDLESS)) {
        findings::retain(waits, rulings, first, |wait, _| {
            !wait.is(fact::NEEDLESS | fact::RETRANSMITTED)
        });
    }
    let debts: Vec<(Side, u32)> = waits.iter().filter_map(debt).collect();
    if !debts.is_empty() {
        findings::retain(waits, rulings, first, |wait, _| {
            wait.ending().is_some() || !debts.contains(&(wait.by, wait.from.frame))
        });
    }
    if waits.iter().any(is_client_crossing) {
        findings::retain(waits, rulings, first, |wait, ruling| {
            ruling.cause != Cause::SenderApp || !is_client_crossing(wait)
        });
    }
    if !waits.iter().any(|wait| wait.is(fact::RESENT)) {
        return;
    }
    // In the order of their ends; those of one sender do not overlap.
    let holds = Side::BOTH.map(|side| {
        let stalls = Findings::new(waits, &rulings[first..]).stalls().map(|stall| *stall.wait);
        stalls.filter(|wait| wait.by == side && wait.is(fact::RESENT)).collect::<Vec<Wait>>()
    });
    let is_swallowed = |wait: &Wait| {
        let holds = &holds[wait.by as usize];
        let next = holds.partition_point(|hold| hold.to.frame < wait.to.frame);
        holds.get(next).is_some_and(|hold| wait.is_within(hold))
    };
    findings::retain(waits, rulings, first, |wait, ruling| {
        if wait.is(fact::RESENT) { ruling.cause.is_stall() } else { !is_swallowed(wait) }
    });
}

/// Marks what was sent again while something was owed that never came.
pub fn mark_tries(waits: &mut [Wait]) {
    let in_vain = waits.iter().filter(|wait| wait.ending().is_some() && !wait.is_connecting());
    let debts: Vec<Wait> = in_vain.copied().collect();
    if debts.is_empty() {
        return;
    }
    for wait in waits.iter_mut().filter(|wait| wait.is(fact::RETRANSMITTED)) {
        let (from, to) = (wait.from.frame, wait.to.frame);
        if debts.iter().any(|debt| debt.from.frame <= from && to <= debt.to.frame) {
            wait.facts |= fact::TRIED;
        }
    }
}

/// Who owed the rest of a message when somebody closed, and since which frame. What it sent after that ended a
/// wait as long.
fn debt(wait: &Wait) -> Option<(Side, u32)> {
    let is_rest = wait.ending().is_some() && wait.is(fact::OWN_DATA_BEFORE);
    is_rest.then_some((wait.by, wait.from.frame))
}

/// Did the client go on while more of a reply was on its way? Until then it waited for that, and did not pause.
fn is_client_crossing(wait: &Wait) -> bool {
    wait.by == Side::Client && wait.is(fact::CROSSES)
}
