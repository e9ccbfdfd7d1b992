//! All verdicts of a scan, worked out on both cores.

use crate::both_cores::in_order;
use crate::flow::Connection;
use crate::judge::{Finding, Verdict, judge};
use crate::wait::Wait;
use std::convert::Infallible;
use std::thread;

/// Connections that are judged at once.
const CHUNK: usize = 256;

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
    sort(waits, connections.len() as u32 / 2);
    let mut all = Judged::with_capacity(connections.len(), waits.len());
    let chunks: Vec<&[Connection]> = connections.chunks(CHUNK).collect();
    let work = |chunk: usize| judge_some(chunks[chunk], waits, clock_ns);
    let Ok(()) = in_order(chunks.len(), work, |judged| {
        all.append(judged);
        Ok::<(), Infallible>(())
    });
    all
}

/// Sorts by connection, then by their ends; those of connections below `middle` in one thread, the
/// others in another.
fn sort(waits: &mut [Wait], middle: u32) {
    let before = waits.iter().filter(|wait| wait.connection < middle).count();
    if before < waits.len() {
        waits.select_nth_unstable_by_key(before, |wait| wait.connection);
    }
    let (first, second) = waits.split_at_mut(before);
    let sort = |waits: &mut [Wait]| {
        waits.sort_unstable_by_key(|wait| (wait.connection, wait.to.frame, wait.by as u8));
    };
    thread::scope(|scope| {
        scope.spawn(|| sort(second));
        sort(first);
    });
}

fn judge_some(connections: &[Connection], waits: &[Wait], clock_ns: i64) -> Judged {
    let first = connections.first().map_or(0, |connection| connection.id);
    let mut rest = &waits[waits.partition_point(|wait| wait.connection < first)..];
    let mut judged = Judged::with_capacity(connections.len(), 0);
    for connection in connections {
        let own = rest.iter().take_while(|wait| wait.connection == connection.id).count();
        let verdict = judge(connection, &rest[..own], clock_ns, &mut judged.findings);
        judged.verdicts.push(verdict);
        judged.first_finding.push(judged.findings.len());
        rest = &rest[own..];
    }
    judged
}

impl Judged {
    fn with_capacity(connections: usize, findings: usize) -> Self {
        let mut first_finding = Vec::with_capacity(connections + 1);
        first_finding.push(0);
        Self {
            verdicts: Vec::with_capacity(connections),
            findings: Vec::with_capacity(findings),
            first_finding,
        }
    }

    fn append(&mut self, mut rest: Self) {
        let before = self.findings.len();
        self.first_finding.extend(rest.first_finding[1..].iter().map(|first| before + first));
        self.verdicts.append(&mut rest.verdicts);
        self.findings.append(&mut rest.findings);
    }
}
