//! Was a small segment held until an ACK, or written then? One probability for each wait.
//!
//! Each candidate has a likelihood ratio: how likely its release is if the kernel let it go ([`density`]), over
//! how likely its pause is if the program wrote it, both learnt from what the same programs did before
//! ([`ratios`]). A [`chain`] for each direction tells from all ratios and contradictions whether Nagle's algorithm
//! was on; other connections of the same server give it a prior. Then each wait is asked again, given all others.
//! A [`relay`] may look the same where one host has both ends.
//!
//! No observation decides alone: a late release, or one pause, moves the answer by what it is worth.

mod answers;
pub mod candidates;
mod chain;
pub mod data_release;
pub mod density;
mod directions;
mod evidence;
mod groups;
mod held;
mod learnt;
mod ratios;
mod relay;
pub mod sender_clock;
mod terms;

pub use candidates::Exclusion;
pub use data_release::DataReleases;
pub use held::{Confidence, DirectionModel, Held, most_by_clock};
pub use terms::{Terms, explain};

use crate::judge::model::directions::directions;
use crate::judge::model::groups::Groups;
use crate::track::Side;
use crate::track::clock::Clocks;
use crate::track::tracked::Block;
use crate::track::wait::Wait;

/// The model's answers on the waits of one block, which are sorted by connection and time.
#[derive(Debug, Default)]
pub struct BlockModel {
    /// One for each wait.
    pub held: Vec<Held>,
    /// Answers on the directions with candidates, by the place of the connection in its block.
    directions: Vec<((u32, u8), DirectionModel)>,
}

impl BlockModel {
    /// The model of the block's connection at this place.
    pub fn of_connection(&self, place: usize) -> [Option<&DirectionModel>; 2] {
        Side::BOTH.map(|side| {
            let key = (place as u32, side as u8);
            let at = self.directions.binary_search_by_key(&key, |(key, _)| *key).ok()?;
            Some(&self.directions[at].1)
        })
    }
}

/// The model of all `blocks`. Waits that are evidence are judged by each other alone, whatever is listed besides;
/// shorter ones, by all.
pub fn model(blocks: &[Block], clocks: &Clocks, threads: usize) -> Vec<BlockModel> {
    let mut all = run(blocks, clocks, threads, true);
    let is_short = |wait: &Wait| !wait.is_evidence() && wait.is_freed();
    if blocks.iter().any(|block| block.waits.iter().any(is_short)) {
        let with_short = run(blocks, clocks, threads, false);
        for ((block, model), more) in blocks.iter().zip(&mut all).zip(with_short) {
            model.add_short(&block.waits, more);
        }
    }
    all
}

impl BlockModel {
    /// The model of the direction with this place and side.
    fn direction_mut(&mut self, key: (u32, u8)) -> &mut DirectionModel {
        let at = self.directions.binary_search_by_key(&key, |(key, _)| *key);
        let at = at.unwrap_or_else(|at| {
            self.directions.insert(at, (key, DirectionModel::default()));
            at
        });
        &mut self.directions[at].1
    }

    fn none(block: &Block) -> Self {
        Self { held: vec![Held::NOT; block.waits.len()], directions: Vec::new() }
    }

    /// Takes what `more` says of waits that are no evidence.
    fn add_short(&mut self, waits: &[Wait], more: Self) {
        for ((held, short), wait) in self.held.iter_mut().zip(more.held).zip(waits) {
            if !wait.is_evidence() {
                *held = short;
            }
        }
        let known = std::mem::take(&mut self.directions);
        let is_new = |key| known.binary_search_by_key(&key, |(known, _)| *known).is_err();
        self.directions = more.directions.into_iter().filter(|(key, _)| is_new(*key)).collect();
        self.directions.extend(known);
        self.directions.sort_unstable_by_key(|(key, _)| *key);
    }
}

/// The model of the waits that are evidence, or of all.
fn run(blocks: &[Block], clocks: &Clocks, threads: usize, evidence_only: bool) -> Vec<BlockModel> {
    let mut all: Vec<BlockModel> = blocks.iter().map(BlockModel::none).collect();
    let directions = directions(blocks, clocks, threads, evidence_only);
    if directions.is_empty() {
        return all;
    }
    let mut groups = Groups::of(directions);
    groups.weigh(threads);
    groups.answers(threads, |direction, model, held| {
        let block = &mut all[direction.block as usize];
        block.directions.push(((direction.place, direction.side as u8), model));
        for (&candidate, held) in direction.candidates.iter().zip(held) {
            block.held[direction.begin + candidate as usize] = held;
        }
    });
    for block in &mut all {
        block.directions.sort_unstable_by_key(|(key, _)| *key);
    }
    all
}
