//! All verdicts of a scan, worked out on both cores.

use crate::flow::Connection;
use crate::judge::{Finding, Verdict, judge};
use crate::wait::Wait;
use std::thread;

/// Verdicts in the order of the connections, and their findings in that order.
pub struct Judged {
    pub verdicts: Vec<Verdict>,
    pub findings: Vec<Finding>,
    /// Where each connection's findings begin; one entry more than `verdicts`.
    pub first_finding: Vec<usize>,
}

/// Judges `connections`, which are numbered from 0, by their `waits`; the capture's clock ticks
/// every `clock_ns`.
pub fn judge_all(connections: &[Connection], waits: &mut [Wait], clock_ns: i64) -> Judged {
    let middle = connections.len() / 2;
    let (first, second) = connections.split_at(middle);
    let (first_waits, second_waits) = split(waits, middle as u32);
    thread::scope(|scope| {
        let other = scope.spawn(|| judge_part(second, second_waits, clock_ns));
        let judged = judge_part(first, first_waits, clock_ns);
        match other.join() {
            Ok(rest) => judged.followed_by(rest),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Parts the waits of connections below `middle` from the others.
fn split(waits: &mut [Wait], middle: u32) -> (&mut [Wait], &mut [Wait]) {
    let before = waits.iter().filter(|wait| wait.connection < middle).count();
    if before < waits.len() {
        waits.select_nth_unstable_by_key(before, |wait| wait.connection);
    }
    waits.split_at_mut(before)
}

fn judge_part(connections: &[Connection], waits: &mut [Wait], clock_ns: i64) -> Judged {
    waits.sort_unstable_by_key(|wait| (wait.connection, wait.to.frame, wait.by as u8));
    let mut findings = Vec::with_capacity(waits.len());
    let mut first_finding = vec![0];
    let mut verdicts = Vec::with_capacity(connections.len());
    let mut rest = &*waits;
    for connection in connections {
        let own = rest.iter().take_while(|wait| wait.connection == connection.id).count();
        verdicts.push(judge(connection, &rest[..own], clock_ns, &mut findings));
        first_finding.push(findings.len());
        rest = &rest[own..];
    }
    Judged { verdicts, findings, first_finding }
}

impl Judged {
    fn followed_by(mut self, mut rest: Self) -> Self {
        let before = self.findings.len();
        self.first_finding.extend(rest.first_finding[1..].iter().map(|first| before + first));
        self.verdicts.append(&mut rest.verdicts);
        self.findings.append(&mut rest.findings);
        self
    }
}
