//! All verdicts of a scan, worked out on both cores.

use crate::causes::Cause;
use crate::flow::Connection;
use crate::judge::{Confidence, Finding, Verdict, judge};
use crate::wait::Wait;
use std::thread;

impl Finding {
    /// A wait before all of its connection is known.
    pub fn unjudged(wait: Wait) -> Self {
        Self { wait, cause: Cause::Unknown, confidence: Confidence::Possible, ack_delay_ns: 0 }
    }
}

/// Judges `connections`, which are numbered from 0, by their waits; the capture's clock ticks every
/// `clock_ns`. The waits become findings where they lie, in the order of their connections.
///
/// Returns the verdicts and where each connection's findings begin, with one entry more.
pub fn judge_all(
    connections: &[Connection],
    waits: &mut [Finding],
    clock_ns: i64,
) -> (Vec<Verdict>, Vec<usize>) {
    let middle = connections.len() / 2;
    let (first, second) = connections.split_at(middle);
    let (first_waits, second_waits) = split(waits, middle as u32);
    let mut first_finding = vec![0];
    let mut verdicts = Vec::with_capacity(connections.len());
    let mut keep = |(verdict, findings): (Verdict, usize)| {
        first_finding.push(first_finding.last().unwrap_or(&0) + findings);
        verdicts.push(verdict);
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mut judged = Vec::with_capacity(second.len());
            judge_some(second, second_waits, clock_ns, |verdict| judged.push(verdict));
            judged
        });
        judge_some(first, first_waits, clock_ns, &mut keep);
        match other.join() {
            Ok(judged) => judged.into_iter().for_each(keep),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    });
    (verdicts, first_finding)
}

/// Parts the waits of connections below `middle` from the others.
fn split(waits: &mut [Finding], middle: u32) -> (&mut [Finding], &mut [Finding]) {
    let before = waits.iter().filter(|row| row.wait.connection < middle).count();
    if before < waits.len() {
        waits.select_nth_unstable_by_key(before, |row| row.wait.connection);
    }
    waits.split_at_mut(before)
}

/// Gives each verdict, and how many findings it has, to `keep`: one for each wait.
fn judge_some(
    connections: &[Connection],
    mut rest: &mut [Finding],
    clock_ns: i64,
    mut keep: impl FnMut((Verdict, usize)),
) {
    rest.sort_unstable_by_key(|row| (row.wait.connection, row.wait.to.frame, row.wait.by as u8));
    let (mut waits, mut findings) = (Vec::new(), Vec::new());
    for connection in connections {
        let count = rest.iter().take_while(|row| row.wait.connection == connection.id).count();
        let (own, others) = rest.split_at_mut(count);
        waits.clear();
        waits.extend(own.iter().map(|row| row.wait));
        findings.clear();
        keep((judge(connection, &waits, clock_ns, &mut findings), count));
        own.copy_from_slice(&findings);
        rest = others;
    }
}
