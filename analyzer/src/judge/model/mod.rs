//! Was a small segment held until an ACK, or written then? One probability for each wait.
//!
//! Each candidate has a likelihood ratio: how likely its release is if the kernel let it go ([`density`]), over
//! how likely its pause is if the program wrote it, both learnt from what the same programs did before
//! ([`ratios`]). A [`chain`] for each direction tells from all ratios and contradictions whether Nagle's algorithm
//! was on; other connections of the same server give it a prior. Then each wait is asked again, given all others.
//! A [`relay`] may look the same where one host has both ends. Segments that data may have released are candidates of a
//! kind of their own ([`by_data`]).
//!
//! No observation decides alone: a late release, or one pause, moves the answer by what it is worth.

mod answers;
pub mod by_data;
pub mod candidates;
mod chain;
pub mod density;
mod directions;
mod evidence;
mod groups;
mod held;
mod learnt;
mod ratios;
mod relay;
pub mod sender_clock;
mod settle;
mod siblings;
mod terms;

pub use candidates::Exclusion;
pub use held::{ByData, Confidence, DirectionModel, Held, Proof};
pub use terms::{Terms, explain};

use crate::judge::model::directions::directions;
use crate::judge::model::settle::Weighing;
use crate::track::Side;
use crate::track::clock::Clocks;
use crate::track::tracked::Block;

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

impl BlockModel {
    fn none(block: &Block) -> Self {
        Self { held: vec![Held::NOT; block.waits.len()], directions: Vec::new() }
    }
}

/// The model of all `blocks`. Waits that are evidence are judged by each other alone, whatever is listed besides;
/// shorter ones, by them and by each other.
pub fn model(blocks: &[Block], clocks: &Clocks, threads: usize) -> Vec<BlockModel> {
    let mut all: Vec<BlockModel> = blocks.iter().map(BlockModel::none).collect();
    let directions = directions(blocks, clocks, threads);
    if directions.is_empty() {
        return all;
    }
    let mut others = Vec::new();
    Weighing::of(directions, threads).answers(|direction, model, held| {
        let block = &mut all[direction.block as usize];
        let key = (direction.place, direction.side as u8);
        let by_data = direction.reactions.is_some();
        if !by_data && !direction.is_short {
            block.directions.push((key, model));
        } else if !by_data || held.iter().any(|held| held.confidence().is_some()) {
            others.push((direction.block, key, model, by_data));
        }
        for (&candidate, held) in direction.candidates.iter().zip(held) {
            block.held[direction.begin + candidate as usize] = held;
        }
    });
    for block in &mut all {
        block.directions.sort_unstable_by_key(|(key, _)| *key);
    }
    for (block, key, model, by_data) in others {
        let directions = &mut all[block as usize].directions;
        match directions.binary_search_by_key(&key, |(key, _)| *key) {
            Ok(at) if by_data => directions[at].1.by_data = model.by_data,
            Ok(_) => {}
            Err(at) => directions.insert(at, (key, model)),
        }
    }
    all
}
