//! All verdicts of a scan, worked out on both cores.

use crate::judge::causes::Cause;
use crate::judge::judge;
use crate::judge::verdict::{Confidence, Finding, Verdict};
use crate::result::both_cores::in_order;
use crate::result::findings::Findings;
use crate::result::servers::ServerJudged;
use crate::result::sorter::Sorter;
use crate::result::totals::Totals;
use crate::result::verdicts::Verdicts;
use crate::track::clock::Clocks;
use crate::track::wait::Wait;
use crate::track::{BLOCK_LEN, Connection, Suspect};
use std::convert::Infallible;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

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

/// The connections of a block, in the order of their numbers, and what is to be judged of them.
#[derive(Default)]
pub struct Piece {
    pub connections: Vec<Connection>,
    pub waits: Vec<Finding>,
    pub suspects: Vec<Suspect>,
    /// Where the servers that these connections name are among all.
    pub servers: Arc<[u32]>,
}

/// What was found on all connections, in the order of their numbers.
#[derive(Default)]
pub struct Judged {
    pub verdicts: Verdicts,
    pub findings: Findings,
    pub totals: Totals,
    /// In the order of the servers.
    pub servers: Vec<ServerJudged>,
}

/// What was found on the connections of one piece.
#[derive(Default)]
struct JudgedPiece {
    verdicts: Vec<Verdict>,
    findings: Vec<Finding>,
    /// Where those of each connection begin.
    begins: Vec<u32>,
    totals: Totals,
    /// Of connections that follow one another, with the index of their server.
    servers: Vec<(usize, ServerJudged)>,
}

/// Judges the connections of so many `servers` by their waits, and what these do to the exchanges that
/// are suspects; `clocks` stamped their frames.
pub fn judge_all(pieces: Vec<Piece>, servers: usize, clocks: &Clocks) -> Judged {
    // Each piece is taken once: the lock hands it to the thread that does.
    let pieces: Vec<Mutex<Piece>> = pieces.into_iter().map(Mutex::new).collect();
    let sorter = Sorter::default();
    let work = |piece: usize| {
        let mut piece = pieces[piece].lock().unwrap_or_else(PoisonError::into_inner);
        judge_some(mem::take(&mut *piece), &sorter, clocks)
    };
    let mut blocks = Vec::with_capacity(pieces.len());
    let mut judged = Judged::default();
    judged.servers.resize_with(servers, ServerJudged::default);
    let Ok(()) = in_order(pieces.len(), work, |piece| {
        judged.findings.push(piece.findings, &piece.begins);
        blocks.push(piece.verdicts);
        judged.totals += piece.totals;
        for (server, more) in piece.servers {
            judged.servers[server] += more;
        }
        Ok::<(), Infallible>(())
    });
    Judged { verdicts: Verdicts::new(blocks), ..judged }
}

/// The verdict on each connection, in its memory; its findings, one for each wait less those that are
/// superseded, in the memory of the waits.
fn judge_some(piece: Piece, sorter: &Sorter, clocks: &Clocks) -> JudgedPiece {
    let Piece { connections, waits: mut rows, mut suspects, servers } = piece;
    sorter.sort_findings(&mut rows);
    sorter.sort_suspects(&mut suspects);
    let mut suspects = suspects.as_slice();
    let (mut taken, mut kept) = (0, 0);
    let (mut waits, mut findings) = (Vec::new(), Vec::new());
    let mut judged = JudgedPiece::default();
    judged.begins.reserve_exact(connections.len());
    let judge_one = |connection: Connection| {
        let own = rows[taken..].iter().take_while(|row| row.wait.connection == connection.id);
        waits.clear();
        waits.extend(own.map(|row| row.wait));
        let verdict = judge(&connection, &waits, clocks.behind_ns(&waits), &mut findings);
        judged.begins.push(kept as u32);
        rows[kept..kept + findings.len()].copy_from_slice(&findings);
        taken += waits.len();
        kept += findings.len();
        judged.totals += Totals::of(&verdict, &findings);
        if let Some(server) = connection.exchanges.server {
            let own = suspects.iter().take_while(|row| row.connection == connection.id).count();
            let own = suspects.split_off(..own).unwrap_or_default();
            judged.server(servers[server as usize] as usize).add(&verdict, own, &findings);
        }
        verdict
    };
    judged.verdicts = connections.into_iter().map(judge_one).collect();
    rows.truncate(kept);
    judged.findings = rows;
    judged
}

impl JudgedPiece {
    /// What was found on the connections of a server, for the next one.
    fn server(&mut self, server: usize) -> &mut ServerJudged {
        if self.servers.last().is_none_or(|(last, _)| *last != server) {
            self.servers.push((server, ServerJudged::default()));
        }
        let at = self.servers.len() - 1;
        &mut self.servers[at].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::Connections;

    #[test]
    fn verdicts_take_the_memory_of_their_connections() {
        let block = Connections::unknown(BLOCK_LEN).into_blocks().next().unwrap();
        let place = block.as_ptr() as usize;
        let piece = Piece { connections: block, ..Piece::default() };
        let verdicts = judge_some(piece, &Sorter::default(), &Clocks::default()).verdicts;
        assert_eq!((verdicts.as_ptr() as usize, verdicts.len()), (place, BLOCK_LEN));
    }
}
