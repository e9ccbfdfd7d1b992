//! Was a small segment held until an ACK, or written then? One probability for each wait.
//!
//! Each candidate has a likelihood ratio: how likely its release is if the kernel let it go
//! ([`density`]), over how likely its pause is if the program wrote it, both learnt from what the same
//! programs did before ([`ratios`]). A [`chain`] for each direction tells from all ratios and
//! contradictions whether Nagle's algorithm was on; other connections of the same server give it a prior.
//! Then each wait is asked again, given all others. A [`relay`] may look the same where one host has both
//! ends. Segments that data may have released are candidates of a kind of their own ([`by_data`]).
//!
//! No observation decides alone: a late release, or one pause, moves the answer by what it is worth.

mod answers;
pub mod by_data;
pub mod candidates;
mod chain;
pub mod density;
mod evidence;
mod groups;
mod held;
mod learnt;
mod ratios;
mod relay;
pub mod sender_clock;
mod sets;
mod settle;
mod siblings;

pub use answers::{Terms, explain};
pub use held::{Confidence, DirectionModel, Held, Proof};

use crate::judge::direction::Direction;
use crate::judge::model::sets::sets;
use crate::judge::model::settle::Weighing;
use crate::judge::pooled::paths::SharedPaths;
use crate::track::Side;
use crate::track::clock::Clocks;
use crate::track::tracked::Block;
use std::ops::Range;
use std::sync::Arc;

/// The model's answers on the waits of one block, which are sorted by connection and time.
#[derive(Debug, Default)]
pub struct BlockModel {
    /// One for each wait.
    pub held: Vec<Held>,
    /// The directions of connections with candidates, in the order of the places of these.
    directions: Vec<(u32, Arc<[Direction; 2]>)>,
    /// Answers on the directions with candidates, in the order of their keys.
    answers: Vec<(DirectionKey, DirectionModel)>,
}

/// The place of a connection in its block, the side, and the place in its [`Models`].
type DirectionKey = (u32, u8, usize);

/// The answers on a connection: on each of its waits, and on its sides.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionModel<'a> {
    pub held: &'a [Held],
    /// Its directions, where one of its waits is a candidate.
    pub directions: Option<&'a [Direction; 2]>,
    pub models: [Models<&'a DirectionModel>; 2],
}

/// The answers on one direction: on waits that pure ACKs may have ended, on short ones of these, and
/// on the same two that data may have.
pub type Models<T> = [Option<T>; 4];

/// The place of the answer on such waits.
pub fn model_place(by_data: bool, is_short: bool) -> usize {
    2 * usize::from(by_data) + usize::from(is_short)
}

impl BlockModel {
    /// The answers on the block's connection at this place, which has these `waits`.
    pub fn of_connection(&self, place: usize, waits: Range<usize>) -> ConnectionModel<'_> {
        let answer = |side, model| {
            let key = (place as u32, side as u8, model);
            let at = self.answers.binary_search_by_key(&key, |(key, _)| *key).ok()?;
            Some(&self.answers[at].1)
        };
        let known = self.directions.binary_search_by_key(&(place as u32), |(place, _)| *place);
        ConnectionModel {
            held: &self.held[waits],
            directions: known.ok().map(|at| &*self.directions[at].1),
            models: Side::BOTH.map(|side| [0, 1, 2, 3].map(|model| answer(side, model))),
        }
    }
}

/// The model of all `blocks`. Waits that are evidence are judged by each other alone, whatever is
/// listed besides; shorter ones, by them and by each other.
pub fn model(
    blocks: &[Block],
    clocks: &Clocks,
    paths: &SharedPaths,
    threads: usize,
) -> Vec<BlockModel> {
    let none = |block: &Block| BlockModel {
        held: vec![Held::NOT; block.waits.len()],
        ..BlockModel::default()
    };
    let mut all: Vec<BlockModel> = blocks.iter().map(none).collect();
    let sets = sets(blocks, clocks, paths, threads);
    if sets.is_empty() {
        return all;
    }
    for set in &sets {
        let known = &mut all[set.block as usize].directions;
        if known.last().is_none_or(|(place, _)| *place != set.place) {
            known.push((set.place, Arc::clone(&set.directions)));
        }
    }
    Weighing::of(sets, threads).answers(|set, model, held| {
        let block = &mut all[set.block as usize];
        let by_data = set.reactions.is_some();
        if !by_data || held.iter().any(|held| held.confidence().is_some()) {
            let key = (set.place, set.side as u8, model_place(by_data, set.is_short));
            block.answers.push((key, model));
        }
        for (&candidate, held) in set.candidates.iter().zip(held) {
            block.held[set.begin + candidate as usize] = held;
        }
    });
    for block in &mut all {
        block.answers.sort_by_key(|(key, _)| *key);
    }
    all
}
