//! All verdicts of a scan, worked out on both cores.

use crate::both_cores::{in_order, on_both};
use crate::causes::Cause;
use crate::flow::{BLOCK_LEN, Connection, Connections};
use crate::judge::judge;
use crate::servers::ServerTotals;
use crate::totals::Totals;
use crate::verdict::{Confidence, Finding, Verdict};
use crate::verdicts::Verdicts;
use crate::wait::{Wait, fact};
use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};

impl Finding {
    /// A wait before all of its connection is known.
    pub fn unjudged(wait: Wait) -> Self {
        Self { wait, cause: Cause::Unknown, confidence: Confidence::Possible }
    }
}

/// Verdicts take the memory of the connections: fresh memory costs more than judging them.
const _: () = assert!(
    align_of::<Verdict>() == align_of::<Connection>()
        && (BLOCK_LEN * size_of::<Connection>()).is_multiple_of(size_of::<Verdict>()),
    "a block of connections must hold whole verdicts, aligned alike, or they need memory of their own"
);

/// Connections in the order of their numbers, and their waits.
type Piece<'a> = (Vec<Connection>, &'a mut [Finding]);

/// What was found on all connections, in the order of their numbers.
#[derive(Default)]
pub struct Judged {
    pub verdicts: Verdicts,
    /// Where each one's findings begin; one entry more than there are verdicts.
    pub first_finding: Vec<usize>,
    pub totals: Totals,
    /// In the order of the servers.
    pub server_totals: Vec<ServerTotals>,
}

/// What was found on the connections of one piece.
#[derive(Default)]
struct JudgedPiece {
    verdicts: Vec<Verdict>,
    /// How many findings each has.
    finding_counts: Vec<usize>,
    totals: Totals,
    /// Of connections that follow one another, with the place of their server.
    server_totals: Vec<(usize, ServerTotals)>,
}

/// Judges `connections` of so many `servers` by their waits; the capture's clock ticks every
/// `clock_ns`. The waits become findings where they lie, in the order of their connections.
pub fn judge_all(
    connections: Connections,
    waits: &mut Vec<Finding>,
    servers: usize,
    clock_ns: i64,
) -> Judged {
    sort(waits, connections.len() as u32 / 2);
    // Each piece is taken once: the lock hands it to the thread that does.
    let pieces: Vec<Mutex<Piece<'_>>> = pieces(connections, waits).map(Mutex::new).collect();
    let work = |piece: usize| {
        let mut piece = pieces[piece].lock().unwrap_or_else(PoisonError::into_inner);
        judge_some(&mut piece, clock_ns)
    };
    let mut blocks = Vec::with_capacity(pieces.len());
    let mut judged = Judged::default();
    judged.server_totals.resize_with(servers, ServerTotals::default);
    let mut end = 0;
    judged.first_finding.push(end);
    let Ok(()) = in_order(pieces.len(), work, |piece| {
        for count in piece.finding_counts {
            end += count;
            judged.first_finding.push(end);
        }
        blocks.push(piece.verdicts);
        judged.totals += piece.totals;
        for (server, totals) in piece.server_totals {
            judged.server_totals[server] += totals;
        }
        Ok::<(), Infallible>(())
    });
    drop(pieces);
    if end < waits.len() {
        waits.retain(|finding| !finding.wait.is(fact::SUPERSEDED));
    }
    Judged { verdicts: Verdicts::new(blocks), ..judged }
}

/// Sorts by connection, then by their ends; those of connections below `middle` in one thread, the
/// others in another.
fn sort(waits: &mut [Finding], middle: u32) {
    let (first, second) = parted(waits, |row| row.wait.connection < middle);
    on_both(first, second, |waits| {
        waits.sort_unstable_by_key(|row| {
            (row.wait.connection, row.wait.to.frame, row.wait.by as u8)
        });
    });
}

/// Those that are `first`, and the others.
fn parted<T>(rows: &mut [T], first: impl Fn(&T) -> bool) -> (&mut [T], &mut [T]) {
    let (mut begin, mut end) = (0, rows.len());
    loop {
        begin += rows[begin..end].iter().take_while(|row| first(row)).count();
        end -= rows[begin..end].iter().rev().take_while(|row| !first(row)).count();
        if begin == end {
            return rows.split_at_mut(begin);
        }
        // One of the others, and behind it one of the first.
        rows.swap(begin, end - 1);
    }
}

fn pieces(connections: Connections, mut waits: &mut [Finding]) -> impl Iterator<Item = Piece<'_>> {
    connections.into_blocks().map(move |block| {
        let after = block.last().map_or(0, |connection| connection.id + 1);
        let count = waits.partition_point(|row| row.wait.connection < after);
        let own = waits.split_off_mut(..count).unwrap_or_default();
        (block, own)
    })
}

/// The verdict on each connection, in its memory; its findings, one for each wait less those that are
/// superseded, come before what is left of its waits.
fn judge_some((connections, rest): &mut Piece<'_>, clock_ns: i64) -> JudgedPiece {
    let mut begin = 0;
    let (mut waits, mut findings) = (Vec::new(), Vec::new());
    let mut judged = JudgedPiece::default();
    judged.finding_counts.reserve_exact(connections.len());
    let judge_one = |connection: Connection| {
        waits.clear();
        let own = rest[begin..].iter().take_while(|row| row.wait.connection == connection.id);
        waits.extend(own.map(|row| row.wait));
        let verdict = judge(&connection, &waits, clock_ns, &mut findings);
        let own = &mut rest[begin..begin + waits.len()];
        let (kept, superseded) = own.split_at_mut(findings.len());
        kept.copy_from_slice(&findings);
        for finding in superseded {
            finding.wait.facts |= fact::SUPERSEDED;
        }
        begin += waits.len();
        judged.finding_counts.push(findings.len());
        judged.totals += Totals::of(&verdict, &findings);
        if let Some(server) = connection.exchanges.server {
            judged.add_to_server(server as usize, ServerTotals::of(&verdict));
        }
        verdict
    };
    let verdicts = std::mem::take(connections).into_iter().map(judge_one).collect();
    JudgedPiece { verdicts, ..judged }
}

impl JudgedPiece {
    /// Adds a connection to the totals of its server.
    fn add_to_server(&mut self, server: usize, connection: ServerTotals) {
        match self.server_totals.last_mut() {
            Some((last, totals)) if *last == server => *totals += connection,
            _ => self.server_totals.push((server, connection)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::{Endpoint, Ends};

    #[test]
    fn verdicts_take_the_memory_of_their_connections() {
        let endpoint = Endpoint { addr: [10, 0, 0, 1].into(), port: 80 };
        let ends = Ends { client: endpoint, server: endpoint };
        let mut connections = Connections::default();
        (0..BLOCK_LEN).for_each(|_| connections.open(ends));
        let block = connections.into_blocks().next().unwrap();
        let place = block.as_ptr() as usize;
        let verdicts = judge_some(&mut (block, &mut []), 1_000).verdicts;
        assert_eq!((verdicts.as_ptr() as usize, verdicts.len()), (place, BLOCK_LEN));
    }

    #[test]
    fn what_is_parted_is_on_its_side() {
        for count in 0..200 {
            let mut rows: Vec<u32> = (0..count).map(|row| row * 37 % 64).collect();
            let mut sorted = rows.clone();
            let (first, second) = parted(&mut rows, |&row| row < 20);
            assert!(first.iter().all(|&row| row < 20) && second.iter().all(|&row| row >= 20));
            sorted.sort_unstable();
            rows.sort_unstable();
            assert_eq!(rows, sorted);
        }
    }
}
