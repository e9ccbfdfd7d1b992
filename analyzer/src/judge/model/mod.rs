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

pub use answers::{Terms, explain};
pub use candidates::Exclusion;
pub use held::{Confidence, DirectionModel, Held, Proof};

use crate::judge::model::directions::directions;
use crate::judge::model::settle::Weighing;
use crate::track::Side;
use crate::track::clock::Clocks;
use crate::track::tracked::Block;
use std::ops::Range;

/// The model's answers on the waits of one block, which are sorted by connection and time.
#[derive(Debug, Default)]
pub struct BlockModel {
    /// One for each wait.
    pub held: Vec<Held>,
    /// Answers on the directions with candidates, in the order of their keys.
    directions: Vec<(DirectionKey, DirectionModel)>,
}

/// The place of a connection in its block, and the side; then, may data have released the waits?
type DirectionKey = (u32, u8, bool);

/// The answers on a connection: on each of its waits, and on its sides.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionModel<'a> {
    pub held: &'a [Held],
    pub directions: [Models<&'a DirectionModel>; 2],
}

/// The answers on one direction: on waits that pure ACKs may have ended, and on those that data may have.
pub type Models<T> = [Option<T>; 2];

impl BlockModel {
    /// The answers on the block's connection at this place, which has these `waits`.
    pub fn of_connection(&self, place: usize, waits: Range<usize>) -> ConnectionModel<'_> {
        let answer = |side, by_data| {
            let key = (place as u32, side as u8, by_data);
            let at = self.directions.binary_search_by_key(&key, |(key, _)| *key).ok()?;
            Some(&self.directions[at].1)
        };
        ConnectionModel {
            held: &self.held[waits],
            directions: Side::BOTH.map(|side| [false, true].map(|by_data| answer(side, by_data))),
        }
    }
}

/// The model of all `blocks`. Waits that are evidence are judged by each other alone, whatever is listed besides;
/// shorter ones, by them and by each other.
pub fn model(blocks: &[Block], clocks: &Clocks, threads: usize) -> Vec<BlockModel> {
    let none = |block: &Block| BlockModel {
        held: vec![Held::NOT; block.waits.len()],
        directions: Vec::new(),
    };
    let mut all: Vec<BlockModel> = blocks.iter().map(none).collect();
    let directions = directions(blocks, clocks, threads);
    if directions.is_empty() {
        return all;
    }
    let mut of_short = Vec::new();
    Weighing::of(directions, threads).answers(|direction, model, held| {
        let block = &mut all[direction.block as usize];
        let by_data = direction.reactions.is_some();
        if !by_data || held.iter().any(|held| held.confidence().is_some()) {
            let answer = ((direction.place, direction.side as u8, by_data), model);
            if direction.is_short {
                of_short.push((direction.block, answer));
            } else {
                block.directions.push(answer);
            }
        }
        for (&candidate, held) in direction.candidates.iter().zip(held) {
            block.held[direction.begin + candidate as usize] = held;
        }
    });
    // Short waits answer for a direction that has no others: a stable sort leaves them behind.
    for (block, answer) in of_short {
        all[block as usize].directions.push(answer);
    }
    for block in &mut all {
        block.directions.sort_by_key(|(key, _)| *key);
        block.directions.dedup_by_key(|(key, _)| *key);
    }
    all
}
