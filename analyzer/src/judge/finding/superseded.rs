//! Waits that another finding covers, or for which nobody waited.

use crate::judge::causes::Cause;
use crate::judge::findings::{self, Findings, Ruling};
use crate::track::Side;
use crate::track::wait::{End, Wait, fact};

/// Leaves out ACKs that came as soon as the path allows, and the waits before bytes that the
/// receiver then reported to have had: nobody waited for them. Of a hold that a retransmission
/// ended and the waits within it, leaves out one or the other. All are among the first of `waits`,
/// those of one connection, with their `rulings`, which begin at `first`.
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
