//! The terms of one wait, as `--why` prints them: from these numbers its answer can be computed.

use crate::judge::model::candidates::{self, Exclusion};
use crate::judge::model::directions::directions;
use crate::judge::model::held::{DirectionModel, Held};
use crate::judge::model::ratios::Densities;
use crate::judge::model::settle::Weighing;
use crate::track::clock::Clocks;
use crate::track::tracked::Block;

/// The terms from which the probability of a wait was computed.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// Why it is no candidate.
    pub exclusion: Option<Exclusion>,
    pub held: Held,
    pub direction: DirectionModel,
    /// Densities of its release and of its pause, per ms; `None` for no candidate.
    pub densities: Option<Densities>,
    /// The ratio at most.
    pub most: f64,
}

/// The terms of a wait of a block, by its place there.
pub fn explain(
    blocks: &[Block],
    clocks: &Clocks,
    threads: usize,
    block: usize,
    at: usize,
) -> Terms {
    let wait = &blocks[block].waits[at];
    let connection = blocks[block].place_of(wait).map(|place| &blocks[block].connections[place]);
    let weighed = Weighing::of(directions(blocks, clocks, threads), threads);
    weighed.terms(block as u32, at).unwrap_or(Terms {
        exclusion: connection.and_then(|connection| {
            candidates::exclusion(wait, connection, &blocks[block].waits[..at])
        }),
        held: Held::NOT,
        direction: DirectionModel::default(),
        densities: None,
        most: 1.0,
    })
}
