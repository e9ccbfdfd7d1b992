//! All verdicts of a scan, worked out on both cores.

use crate::both_cores::{in_order, on_both};
use crate::causes::Cause;
use crate::flow::{Connection, Connections};
use crate::judge::judge;
use crate::verdict::{Confidence, Finding, Verdict};
use crate::wait::{Wait, fact};
use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};

impl Finding {
    /// A wait before all of its connection is known.
    pub fn unjudged(wait: Wait) -> Self {
        Self { wait, cause: Cause::Unknown, confidence: Confidence::Possible }
    }
}

/// Connections that one thread judges in one go: enough to make the hand-over cheap.
const CHUNK: usize = 256;

/// Connections in the order of their numbers, and their waits.
type Piece<'a> = (&'a [Connection], &'a mut [Finding]);

/// Judges `connections` by their waits; the capture's clock ticks every
/// `clock_ns`. The waits become findings where they lie, in the order of their connections.
///
/// Returns the verdicts and where each connection's findings begin, with one entry more. The memory of
/// the connections goes as they are judged.
pub fn judge_all(
    connections: Connections,
    waits: &mut Vec<Finding>,
    clock_ns: i64,
) -> (Vec<Verdict>, Vec<usize>) {
    sort(waits, connections.len() as u32 / 2);
    let mut verdicts = Vec::with_capacity(connections.listed());
    let mut rest = waits.as_mut_slice();
    for (after, block) in connections.into_blocks() {
        let count = rest.partition_point(|row| row.wait.connection < after);
        let own = rest.split_off_mut(..count).unwrap_or_default();
        judge_block(&block, own, clock_ns, &mut verdicts);
    }
    let first_finding = first_findings(&verdicts);
    if first_finding.last() < Some(&waits.len()) {
        waits.retain(|finding| !finding.wait.is(fact::SUPERSEDED));
    }
    (verdicts, first_finding)
}

/// Where each connection's findings begin, and where the last ones end.
fn first_findings(verdicts: &[Verdict]) -> Vec<usize> {
    let ends = verdicts.iter().scan(0, |end, verdict| {
        *end += verdict.findings as usize;
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}

fn judge_block(
    connections: &[Connection],
    waits: &mut [Finding],
    clock_ns: i64,
    verdicts: &mut Vec<Verdict>,
) {
    // Each piece is taken once: the lock hands it to the thread that does.
    let pieces: Vec<Mutex<Piece<'_>>> = pieces(connections, waits).map(Mutex::new).collect();
    let work = |piece: usize| {
        let mut piece = pieces[piece].lock().unwrap_or_else(PoisonError::into_inner);
        judge_some(&mut piece, clock_ns)
    };
    let Ok(()) = in_order(pieces.len(), work, |judged| {
        verdicts.extend(judged);
        Ok::<(), Infallible>(())
    });
}

/// Sorts by connection, then by their ends; those of connections below `middle` in one thread, the
/// others in another.
fn sort(waits: &mut [Finding], middle: u32) {
    let before = waits.iter().filter(|row| row.wait.connection < middle).count();
    if before < waits.len() {
        waits.select_nth_unstable_by_key(before, |row| row.wait.connection);
    }
    let (first, second) = waits.split_at_mut(before);
    on_both(first, second, |waits| {
        waits.sort_unstable_by_key(|row| {
            (row.wait.connection, row.wait.to.frame, row.wait.by as u8)
        });
    });
}

fn pieces<'a>(
    connections: &'a [Connection],
    mut waits: &'a mut [Finding],
) -> impl Iterator<Item = Piece<'a>> {
    connections.chunks(CHUNK).map(move |connections| {
        let last = connections.last().map_or(0, |connection| connection.id);
        let count = waits.partition_point(|row| row.wait.connection <= last);
        let own = waits.split_off_mut(..count).unwrap_or_default();
        (connections, own)
    })
}

/// The verdict on each connection; its findings, one for each wait less those that are superseded,
/// come before what is left of its waits.
fn judge_some(piece: &mut Piece<'_>, clock_ns: i64) -> Vec<Verdict> {
    let (connections, rest) = piece;
    let mut begin = 0;
    let (mut waits, mut findings) = (Vec::new(), Vec::new());
    let judge = |connection: &Connection| {
        waits.clear();
        let own = rest[begin..].iter().take_while(|row| row.wait.connection == connection.id);
        waits.extend(own.map(|row| row.wait));
        let verdict = judge(connection, &waits, clock_ns, &mut findings);
        let own = &mut rest[begin..begin + waits.len()];
        let (kept, superseded) = own.split_at_mut(findings.len());
        kept.copy_from_slice(&findings);
        for finding in superseded {
            finding.wait.facts |= fact::SUPERSEDED;
        }
        begin += waits.len();
        verdict
    };
    connections.iter().map(judge).collect()
}
