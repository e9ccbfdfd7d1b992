//! The sets of candidates that are weighed together, with what is known of their directions.

use crate::cores;
use crate::judge::direction::Direction;
use crate::judge::doubts::{Doubts, hides};
use crate::judge::model::candidates::candidates;
use crate::judge::path::Path;
use crate::judge::pooled::paths::SharedPaths;
use crate::judge::thresholds::EXACT_CLOCK_NS;
use crate::rules;
use crate::track::clock::Clocks;
use crate::track::reactions::Reactions;
use crate::track::tracked::Block;
use crate::track::wait::{Wait, fact};
use crate::track::{Connection, Endpoint, Side};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::sync::Arc;

/// The candidates of one direction that are weighed together.
pub struct CandidateSet<'a> {
    pub connection: &'a Connection,
    pub side: Side,
    /// Both directions of the connection.
    pub directions: Arc<[Direction; 2]>,
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
    /// Are they shorter than evidence? Others learn nothing from them.
    pub is_short: bool,
}

impl CandidateSet<'_> {
    pub fn wait(&self, candidate: usize) -> &Wait {
        &self.waits[self.candidates[candidate] as usize]
    }

    /// Its candidates, in their order.
    pub fn candidate_waits(&self) -> impl Iterator<Item = &Wait> + Clone {
        self.candidates.iter().map(|&at| &self.waits[at as usize])
    }

    pub fn direction(&self) -> &Direction {
        &self.directions[self.side as usize]
    }

    /// The path to their sender.
    pub fn path(&self) -> &Path {
        &self.direction().path
    }
}

/// All sets, in the order of their connections.
pub fn sets<'a>(
    blocks: &'a [Block],
    clocks: &Clocks,
    paths: &SharedPaths,
    threads: usize,
) -> Vec<CandidateSet<'a>> {
    let numbered: Vec<(usize, &Block)> = blocks.iter().enumerate().collect();
    let found = cores::of_blocks(threads, &numbered, |blocks| {
        let each = blocks.iter().map(|&(number, block)| of_block(number, block, clocks, paths));
        each.flatten().collect::<Vec<CandidateSet<'_>>>()
    });
    let mut all: Vec<CandidateSet<'_>> = found.into_iter().flatten().collect();
    share_reactions(&mut all);
    all
}

fn of_block<'a>(
    number: usize,
    block: &'a Block,
    clocks: &Clocks,
    paths: &SharedPaths,
) -> Vec<CandidateSet<'a>> {
    let mut all = Vec::new();
    let mut begin = 0;
    for waits in block.waits.chunk_by(|one, next| one.connection == next.connection) {
        let first = begin;
        begin += waits.len();
        let Some(place) = block.place_of(&waits[0]) else { continue };
        let connection = &block.connections[place];
        let doubts = Doubts::of(connection);
        if doubts.hide(hides::HOLDS) {
            continue;
        }
        let clock_ns = clocks.behind_ns(waits);
        let paths = paths.of_both(connection, waits, clock_ns);
        let picked = picked(connection, doubts, waits, clock_ns, &paths);
        if picked.is_empty() {
            continue;
        }
        let paths = with_releases(paths, waits, &picked);
        let directions = Arc::new(Direction::of_both(doubts, waits, &paths));
        all.extend(picked.into_iter().map(|(side, by_data, is_short, candidates)| CandidateSet {
            connection,
            side,
            directions: Arc::clone(&directions),
            block: number as u32,
            place: place as u32,
            waits,
            begin: first,
            candidates,
            reactions: by_data.then(|| connection.half(side).odd().reactions.clone()),
            is_short,
        }));
    }
    all
}

/// A side, may data have released its candidates, are they shorter than evidence, and their places.
type Picked = (Side, bool, bool, Vec<u32>);

/// The candidates of a connection among its `waits`, those of each side and kind by themselves.
fn picked(
    connection: &Connection,
    doubts: Doubts,
    waits: &[Wait],
    clock_ns: i64,
    paths: &[Path; 2],
) -> Vec<Picked> {
    let has_data = waits.iter().any(|wait| wait.is(fact::DATA_ACK));
    let is_told = clock_ns <= EXACT_CLOCK_NS && !doubts.hide(hides::REPLIES);
    let may_be_by_data = has_data && is_told && !rules::off("by_data");
    let kinds = Side::BOTH.into_iter().flat_map(|side| [(side, false), (side, true)]);
    let kinds = kinds.filter(|(_, by_data)| !by_data || may_be_by_data);
    let each = kinds.flat_map(|(side, by_data)| {
        let own = candidates(connection, side, waits, by_data, paths).into_iter();
        let (long, short): (Vec<u32>, Vec<u32>) =
            own.partition(|&at| waits[at as usize].is_evidence());
        [(side, by_data, false, long), (side, by_data, true, short)]
    });
    each.filter(|(.., own)| !own.is_empty()).collect()
}

/// The paths with what releases show: of the first candidates of each side, evidence if any is.
fn with_releases(paths: [Path; 2], waits: &[Wait], picked: &[Picked]) -> [Path; 2] {
    Side::BOTH.map(|side| {
        let (path, first) = (paths[side as usize], picked.iter().find(|one| one.0 == side));
        let Some((.., candidates)) = first else { return path };
        let own = || candidates.iter().map(|&at| &waits[at as usize]);
        let behind = own().filter(|wait| wait.is(fact::ACK_BEHIND));
        let behind_ns = behind.map(|wait| -wait.release_ns()).max();
        path.with_releases(&mut own().map(Wait::release_ns).collect::<Vec<i64>>(), behind_ns)
    })
}

/// All connections of a program show how soon it reacts.
fn share_reactions(sets: &mut [CandidateSet<'_>]) {
    let program = |set: &CandidateSet<'_>| (set.connection.ends().server, set.side);
    let mut shared: HashMap<(Endpoint, Side), Reactions, RandomState> = HashMap::default();
    let mut last = None;
    for set in &*sets {
        let Some(own) = &set.reactions else { continue };
        // Short waits and long ones of one socket have the same.
        let socket = (set.block, set.place, set.side);
        if last.replace(socket) != Some(socket) {
            shared.entry(program(set)).or_insert(Reactions::NONE).extend(own);
        }
    }
    for set in sets.iter_mut().filter(|set| set.reactions.is_some()) {
        set.reactions = shared.get(&program(set)).cloned();
    }
}
