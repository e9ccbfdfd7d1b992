//! The directions that have candidates, with what is known of their paths.

use crate::cores;
use crate::judge::ack_delay::AckDelay;
use crate::judge::model::candidates::candidates;
use crate::judge::path::Path;
use crate::judge::pooled::paths::SharedPaths;
use crate::rules;
use crate::track::clock::Clocks;
use crate::track::reactions::Reactions;
use crate::track::tracked::Block;
use crate::track::wait::{Wait, fact};
use crate::track::{Connection, Endpoint, Side};
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// A clock with longer steps, in ns, does not tell a kernel from a program that answers data.
const COARSE_NS: i64 = 10_000;

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
    /// How soon the program reacts to data while nothing of its own is outstanding, if data may have released
    /// the candidates.
    pub reactions: Option<Reactions>,
    pub path: Path,
    pub acks: AckDelay,
    /// Are they shorter than evidence? Others learn nothing from them.
    pub is_short: bool,
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

    /// Its candidates, in their order.
    pub fn candidate_waits(&self) -> impl Iterator<Item = &Wait> + Clone {
        self.candidates.iter().map(|&at| &self.waits[at as usize])
    }
}

/// All that have candidates.
pub fn directions<'a>(blocks: &'a [Block], clocks: &Clocks, threads: usize) -> Vec<Direction<'a>> {
    let numbered: Vec<(usize, &Block)> = blocks.iter().enumerate().collect();
    let found = cores::of_blocks(threads, &numbered, |blocks| {
        let each = blocks.iter().map(|&(number, block)| of_block(number, block, clocks));
        each.flatten().collect::<Vec<Direction<'_>>>()
    });
    let mut all: Vec<Direction<'_>> = found.into_iter().flatten().collect();
    let shared = SharedPaths::of(blocks, all.iter().map(|one| (one.connection, &one.path)));
    for direction in &mut all {
        let path = shared.apply(direction.connection, direction.side, direction.path);
        let mut releases_ns =
            direction.candidate_waits().map(Wait::release_ns).collect::<Vec<i64>>();
        direction.path = path.with_releases(&mut releases_ns, direction.behind_ns());
    }
    share_reactions(&mut all);
    all
}

fn of_block<'a>(number: usize, block: &'a Block, clocks: &Clocks) -> Vec<Direction<'a>> {
    let mut all = Vec::new();
    let mut begin = 0;
    for waits in block.waits.chunk_by(|one, next| one.connection == next.connection) {
        let first = begin;
        begin += waits.len();
        let Some(place) = block.place_of(&waits[0]) else { continue };
        let connection = &block.connections[place];
        let clock_ns = clocks.behind_ns(waits);
        let has_data = waits.iter().any(|wait| wait.is(fact::DATA_ACK));
        let may_be_by_data = !rules::off("by_data") && has_data && clock_ns <= COARSE_NS;
        let kinds = Side::BOTH.into_iter().flat_map(|side| [(side, false), (side, true)]);
        for (side, by_data) in kinds.filter(|(_, by_data)| !by_data || may_be_by_data) {
            let own = candidates(connection, side, waits, by_data).into_iter();
            let (long, short): (Vec<u32>, Vec<u32>) =
                own.partition(|&at| waits[at as usize].is_evidence());
            let both = [(false, long), (true, short)].into_iter();
            all.extend(both.filter(|(_, own)| !own.is_empty()).map(|(is_short, candidates)| {
                Direction {
                    connection,
                    side,
                    block: number as u32,
                    place: place as u32,
                    waits,
                    begin: first,
                    candidates,
                    reactions: by_data.then(|| connection.half(side).odd().reactions.clone()),
                    path: Path::of(connection.half(side), clock_ns),
                    acks: AckDelay::of(connection, side, waits, clock_ns),
                    is_short,
                }
            }));
        }
    }
    all
}

/// All connections of a program show how soon it reacts.
fn share_reactions(directions: &mut [Direction<'_>]) {
    let program = |direction: &Direction<'_>| (direction.connection.ends().server, direction.side);
    let mut shared: HashMap<(Endpoint, Side), Reactions, RandomState> = HashMap::default();
    let mut last = None;
    for direction in &*directions {
        let Some(own) = &direction.reactions else { continue };
        // Short waits and long ones of one socket have the same.
        let socket = (direction.block, direction.place, direction.side);
        if last.replace(socket) != Some(socket) {
            shared.entry(program(direction)).or_insert(Reactions::NONE).extend(own);
        }
    }
    for direction in directions.iter_mut().filter(|direction| direction.reactions.is_some()) {
        direction.reactions = shared.get(&program(direction)).cloned();
    }
}
