//! The whole case of one wait. It is recomputed: findings keep only the doubts about a stall.

use crate::capture::error::ScanError;
use crate::capture::progress::Progress;
use crate::judge::judge;
use crate::judge::judges::{self, Explained};
use crate::judge::words::case::{CaseRow, rows};
use crate::result::blocks::Pooled;
use crate::result::scan::{ScanOptions, track};
use crate::track::clock::Clocks;
use crate::track::tracked::Block;
use crate::track::wait::Wait;
use std::sync::Arc;

/// A wait, what was decided on it, and all that speaks for and against a hold.
pub struct Why {
    pub connection: u32,
    pub explained: Explained,
    pub rows: Vec<CaseRow>,
}

/// The case of the wait that frame `frame` is of: that it ended, or else that its ACK freed, or that began
/// with it. `None` if there is none.
///
/// # Errors
/// As [`crate::result::scan::scan`].
pub fn why(
    paths: &[String],
    options: &ScanOptions,
    frame: u64,
    progress: &Arc<Progress>,
) -> Result<Option<Why>, ScanError> {
    let (captures, tracked) = track(paths, options, progress)?;
    let clocks = Clocks::of(&captures);
    let mut blocks = tracked.blocks;
    let pooled = Pooled::of(&mut blocks, &clocks, options.reading.threads);
    let Some((block, wait)) = find(&blocks, frame) else { return Ok(None) };
    let Some(place) = block.place_of(&wait) else { return Ok(None) };
    let connection = &block.connections[place];
    let is_own = |other: &&Wait| other.connection == wait.connection;
    let mut waits: Vec<Wait> = block.waits.iter().filter(is_own).copied().collect();
    waits.sort_unstable_by_key(|wait| (wait.to.frame, wait.by as u8));
    let conditions = pooled.conditions(options.min_wait_ns).of(&clocks, &waits);
    let is_it = |other: &Wait| (other.to, other.by) == (wait.to, wait.by);
    let Some(index) = waits.iter().position(is_it) else { return Ok(None) };
    let judged = judge(connection, &mut waits.clone(), conditions, &mut Vec::new());
    let explained = judges::explain(connection, &mut waits, index, conditions);
    Ok(Some(Why {
        connection: block.numbers[wait.connection as usize],
        rows: rows(&explained, &judged),
        explained,
    }))
}

/// The wait that a frame is of, and its block.
fn find(blocks: &[Block], frame: u64) -> Option<(&Block, Wait)> {
    let rank = |wait: &Wait| {
        [wait.to.frame, wait.ack.frame, wait.from.frame].iter().position(|&of| of == frame)
    };
    let waits = blocks.iter().flat_map(|block| block.waits.iter().map(move |wait| (block, *wait)));
    let of_frame = waits.filter_map(|(block, wait)| Some((rank(&wait)?, block, wait)));
    let best = of_frame.min_by_key(|(rank, _, wait)| (*rank, wait.to.frame, wait.by as u8));
    best.map(|(_, block, wait)| (block, wait))
}
