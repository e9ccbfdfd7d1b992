//! All connections of a scan, judged block by block on all cores.

use crate::calls::written::Written;
use crate::cores::{blocks_at_once, in_order};
use crate::judge::conditions::Conditions;
use crate::judge::finding::judged::JudgedConnection;
use crate::judge::findings::Findings;
use crate::judge::model::{BlockModel, by_data};
use crate::judge::pooled::paths::SharedPaths;
use crate::judge::pooled::relays::PassedOn;
use crate::judge::pooled::servers::Servers;
use crate::judge::{Weighed, judge, weigh_all};
use crate::result::cause_totals::CauseTotals;
use crate::result::connections::JudgedBlock;
use crate::result::joined::{Far, Part};
use crate::result::server_exchanges::ServerJudged;
use crate::result::sums::Sum;
use crate::result::totals::Totals;
use crate::track::by_block::BLOCK_LEN;
use crate::track::clock::Clocks;
use crate::track::exchange::exchanged::ServerLatency;
use crate::track::tracked::Block;
use crate::track::wait::Wait;
use crate::track::{Connection, Mark, Side};
use std::convert::Infallible;
use std::iter;
use std::mem;
use std::sync::{Mutex, PoisonError};

/// Judged connections take the memory of the connections: fresh memory costs more than judging.
const _: () = assert!(
    align_of::<JudgedConnection>() == align_of::<Connection>()
        && (BLOCK_LEN * size_of::<Connection>()).is_multiple_of(size_of::<JudgedConnection>()),
    "a block of connections must hold whole judged ones, aligned alike, or they need memory of their own"
);

/// The findings on all connections.
#[derive(Default)]
pub struct Judged {
    pub blocks: Vec<JudgedBlock>,
    pub totals: Totals,
    pub causes: CauseTotals,
    /// In the order of the servers.
    pub servers: Vec<ServerJudged>,
    /// Directions that pass on what arrives on another connection.
    pub passed_on: Vec<PassedOn>,
    /// By their numbers, the connections that count elsewhere.
    pub far: Vec<(u32, Far)>,
}

/// The findings on the connections of some blocks, and their sums.
#[derive(Default)]
struct Sums {
    blocks: Vec<JudgedBlock>,
    totals: Totals,
    causes: CauseTotals,
    /// Servers of connections that follow one another, each with its index.
    servers: Vec<(usize, ServerJudged)>,
    far: Vec<(u32, Far)>,
}

/// Judges all connections by their waits, and works out what stalls cost the exchanges of each of
/// the `servers`. `clocks` are those that stamped the frames, and the calls of programs tell what
/// was `written` when. Shorter waits than `min_wait_ns` are evidence only. Another capture may hold a
/// `part` of the connections, too.
pub fn judge_all(
    mut blocks: Vec<Block>,
    servers: &[ServerLatency],
    clocks: &Clocks,
    written: Option<&Written>,
    (min_wait_ns, threads): (i64, usize),
    part: Part<'_>,
) -> Judged {
    let Weighed { models, paths, passed_on } = weigh_all(&mut blocks, clocks, written, threads);
    let blocks = blocks.into_iter().zip(models).collect();
    let usual = Servers::new(servers);
    // Each piece is taken once: the lock hands it to the thread that does.
    let pieces: Vec<Mutex<Vec<(Block, BlockModel)>>> = in_pieces(blocks).map(Mutex::new).collect();
    let work = |piece: usize| {
        let mut blocks = pieces[piece].lock().unwrap_or_else(PoisonError::into_inner);
        let mut sums = Sums::default();
        for block in mem::take(&mut *blocks) {
            sums.judge(block, clocks, (&paths, &usual), min_wait_ns, part);
        }
        sums
    };
    let mut judged = Judged::default();
    judged.servers.resize_with(servers.len(), ServerJudged::default);
    let Ok(()) = in_order(threads, pieces.len(), work, |sums| {
        judged.blocks.extend(sums.blocks);
        judged.totals.add_up(sums.totals);
        judged.causes.add_up(sums.causes);
        judged.far.extend(sums.far);
        for (server, more) in sums.servers {
            judged.servers[server].add_up(more);
        }
        Ok::<(), Infallible>(())
    });
    judged.passed_on = passed_on;
    judged
}

/// Pieces of some blocks each.
fn in_pieces<T>(blocks: Vec<T>) -> impl Iterator<Item = Vec<T>> {
    let len = blocks_at_once(blocks.len());
    let mut rest = blocks.into_iter();
    let piece = move || Some(rest.by_ref().take(len).collect());
    iter::from_fn(piece).take_while(|piece: &Vec<T>| !piece.is_empty())
}

impl Sums {
    /// Judges each connection of a block in its own memory. Findings reuse the memory of the waits:
    /// one for each wait that is listed.
    fn judge(
        &mut self,
        (mut block, mut model): (Block, BlockModel),
        clocks: &Clocks,
        known: (&SharedPaths, &Servers<'_>),
        min_wait_ns: i64,
        part: Part<'_>,
    ) {
        by_data::drop_unlikely(&mut block, &mut model);
        let Block { connections, mut waits, mut suspects, numbers, servers, .. } = block;
        // Suspects of each connection are in the order of time.
        suspects.sort_by_key(|row| (row.connection, row.end_frame));
        let mut suspects = suspects.as_slice();
        let number = |connection: &Connection| numbers[connection.id as usize];
        // Findings from elsewhere need room: it lies before the waits, which move ahead into it.
        let room = part.room(connections.iter().map(number));
        let nothing = Wait::between(0, Side::Client, Mark::NONE, Mark::NONE);
        waits.splice(..0, iter::repeat_n(nothing, room));
        let (mut taken, mut kept) = (room, 0);
        let mut rulings = Vec::with_capacity(waits.len());
        let mut begins = Vec::with_capacity(connections.len());
        let judge_one = |(at, mut connection): (usize, Connection)| {
            let place = connection.id;
            connection.id = numbers[place as usize];
            let own = waits[taken..].iter().take_while(|wait| wait.connection == place).count();
            let own = taken..taken + own;
            let model = model.of_connection(at, own.start - room..own.end - room);
            let conditions =
                Conditions::of(min_wait_ns, clocks, known, (&connection, &waits[own.clone()]));
            let waits_of = &mut waits[own.clone()];
            let mut judged = judge(&connection, waits_of, model, conditions, &mut rulings);
            let judged_waits = rulings.len() - kept;
            if own.start != kept {
                waits.copy_within(own.start..own.start + judged_waits, kept);
            }
            match part {
                Part::Whole => {}
                Part::Far(all) => {
                    if all.contains(&connection.id) {
                        let findings = Findings::new(&waits[kept..], &rulings[kept..]);
                        let far = Far::take(&connection, &mut judged, findings);
                        self.far.push((connection.id, far));
                        rulings.truncate(kept);
                    }
                }
                Part::Near(all) => {
                    if let Some((place, far)) = all.get(&connection.id) {
                        let found = (&mut waits[kept..], judged_waits);
                        far.join(*place, &connection, &mut judged, found, &mut rulings);
                    }
                }
            }
            for wait in &mut waits[kept..rulings.len()] {
                wait.connection = connection.id;
            }
            let findings = Findings::new(&waits[kept..], &rulings[kept..]);
            begins.push(kept as u32);
            if let Some(server) = connection.exchanges.server() {
                let own = suspects.iter().take_while(|row| row.connection == place).count();
                let own = suspects.split_off(..own).unwrap_or_default();
                self.server(servers[server as usize] as usize).add(
                    &mut judged,
                    own,
                    findings,
                    connection.copies.count(),
                );
            }
            self.totals.add(&judged, findings);
            self.causes.add(findings);
            (taken, kept) = (own.end, rulings.len());
            judged
        };
        let connections = connections.into_iter().enumerate().map(judge_one).collect();
        waits.truncate(kept);
        self.blocks.push(JudgedBlock { connections, begins, waits, rulings });
    }

    /// The sums of a server's connections, for the next one.
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
    use crate::track::connections::Connections;

    #[test]
    fn judged_connections_take_the_memory_of_the_connections() {
        let block = Connections::unknown(BLOCK_LEN).into_blocks().remove(0);
        let place = block.as_ptr() as usize;
        let numbers: Vec<u32> = (0..BLOCK_LEN as u32).collect();
        let block = Block { connections: block, numbers: numbers.into(), ..Block::default() };
        let clocks = Clocks::default();
        let mut sums = Sums::default();
        let model = BlockModel::default();
        let known = (&SharedPaths::default(), &Servers::default());
        sums.judge((block, model), &clocks, known, 0, Part::Whole);
        let connections = &sums.blocks[0].connections;
        assert_eq!((connections.as_ptr() as usize, connections.len()), (place, BLOCK_LEN));
    }
}
