//! The directions that have candidates, with what is known of their paths.

use crate::cores;
use crate::judge::ack_delay::AckDelay;
use crate::judge::model::candidates::candidates;
use crate::judge::path::Path;
use crate::judge::pooled::paths::SharedPaths;
use crate::judge::statistics;
use crate::track::clock::Clocks;
use crate::track::tracked::Block;
use crate::track::wait::{Wait, fact};
use crate::track::{Connection, Side};

/// One direction of a connection.
pub struct Direction<'a> {
    pub connection: &'a Connection,
    pub side: Side,
    /// Its block, and the place of the connection there.
    pub block: u32,
    pub place: u32,
    /// The waits of the connection, where they begin in the block, and which of them are candidates.
    pub waits: &'a [Wait],
    pub begin: usize,
    pub candidates: Vec<u32>,
    pub path: Path,
    pub acks: AckDelay,
    /// Do shorter waits than evidence count for nothing?
    pub evidence_only: bool,
}

impl Direction<'_> {
    pub fn wait(&self, candidate: usize) -> &Wait {
        &self.waits[self.candidates[candidate] as usize]
    }

    /// How far behind what they released ACKs are stamped at most.
    fn behind_ns(&self) -> Option<i64> {
        let behind = self.candidate_waits().filter(|wait| wait.is(fact::ACK_BEHIND));
        behind.map(|wait| -wait.release_ns()).max()
    }

    fn middle_release_ns(&self) -> Option<i64> {
        statistics::upper(&mut self.candidate_waits().map(Wait::release_ns).collect::<Vec<i64>>())
    }

    /// Its candidates, in their order.
    pub fn candidate_waits(&self) -> impl Iterator<Item = &Wait> + Clone {
        self.candidates.iter().map(|&at| &self.waits[at as usize])
    }
}

/// All that have candidates, among waits that are evidence or among all.
pub fn directions<'a>(
    blocks: &'a [Block],
    clocks: &Clocks,
    threads: usize,
    evidence_only: bool,
) -> Vec<Direction<'a>> {
    let numbered: Vec<(usize, &Block)> = blocks.iter().enumerate().collect();
    let found = cores::of_blocks(threads, &numbered, |blocks| {
        let each =
            blocks.iter().map(|&(number, block)| of_block(number, block, clocks, evidence_only));
        each.flatten().collect::<Vec<Direction<'_>>>()
    });
    let mut all: Vec<Direction<'_>> = found.into_iter().flatten().collect();
    let shared = SharedPaths::of(blocks, all.iter().map(|one| (one.connection, &one.path)));
    for direction in &mut all {
        let path = shared.apply(direction.connection, direction.side, direction.path);
        direction.path = path.with_releases(direction.middle_release_ns(), direction.behind_ns());
    }
    all
}

fn of_block<'a>(
    number: usize,
    block: &'a Block,
    clocks: &Clocks,
    evidence_only: bool,
) -> Vec<Direction<'a>> {
    let mut all = Vec::new();
    let mut begin = 0;
    for waits in block.waits.chunk_by(|one, next| one.connection == next.connection) {
        let own = begin;
        begin += waits.len();
        let Some(place) = block.place_of(&waits[0]) else { continue };
        let connection = &block.connections[place];
        for side in Side::BOTH {
            let mut candidates = candidates(connection, side, waits);
            candidates.retain(|&at| !evidence_only || waits[at as usize].is_evidence());
            if candidates.is_empty() {
                continue;
            }
            let clock_ns = clocks.behind_ns(waits);
            all.push(Direction {
                connection,
                side,
                block: number as u32,
                place: place as u32,
                waits,
                begin: own,
                candidates,
                path: Path::of(connection.half(side), clock_ns),
                acks: AckDelay::of(connection, side, waits, clock_ns),
                evidence_only,
            });
        }
    }
    all
}
