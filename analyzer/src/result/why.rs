//! The terms of one wait. They are computed anew: findings keep only what they amount to.

use crate::capture::error::ScanError;
use crate::capture::progress::Progress;
use crate::judge::ack_delay::AckDelay;
use crate::judge::causes::Cause;
use crate::judge::conditions::Conditions;
use crate::judge::direction::Judge;
use crate::judge::mark_all;
use crate::judge::model::{Held, explain};
use crate::judge::words::terms::{TermRow, rows};
use crate::result::scan::{ScanOptions, track};
use crate::track::clock::Clocks;
use crate::track::tracked::Block;
use crate::track::wait::Wait;
use std::sync::Arc;

/// A wait, what was decided on it, and the terms of its probability.
pub struct Why {
    pub connection: u32,
    pub wait: Wait,
    pub cause: Cause,
    pub held: Held,
    pub rows: Vec<TermRow>,
}

/// The terms of the wait that frame `frame` is of: that it ended, or else that its ACK freed, or that began
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
    let threads = options.reading.threads;
    mark_all(&mut blocks, &clocks, threads);
    let Some((number, at)) = find(&blocks, frame) else { return Ok(None) };
    let wait = blocks[number].waits[at];
    let block = &blocks[number];
    let Some(place) = block.place_of(&wait) else { return Ok(None) };
    let connection = &block.connections[place];
    let is_own = |other: &&Wait| other.connection == wait.connection;
    let waits: Vec<Wait> = block.waits.iter().filter(is_own).copied().collect();
    let conditions = Conditions::of(options.min_wait_ns, &clocks, &waits);
    let terms = explain(&blocks, &clocks, threads, number, at);
    let acks = AckDelay::of(connection, wait.by, &waits, conditions.clock_ns);
    let ruling = Judge::new(connection, wait.by, &waits, acks, conditions).rule(&wait, terms.held);
    Ok(Some(Why {
        connection: block.numbers[wait.connection as usize],
        rows: rows(&terms, &wait, connection),
        wait,
        cause: ruling.cause,
        held: terms.held,
    }))
}

/// The wait that a frame is of: its block, and its place there.
fn find(blocks: &[Block], frame: u64) -> Option<(usize, usize)> {
    let rank = |wait: &Wait| {
        [wait.to.frame, wait.ack.frame, wait.from.frame]
            .iter()
            .position(|&of| u64::from(of) == frame)
    };
    let of_block = |(number, block): (usize, &Block)| {
        let waits = block.waits.iter().enumerate();
        let ranked = waits.filter_map(|(at, wait)| {
            Some(((rank(wait)?, wait.to.frame, wait.by as u8), (number, at)))
        });
        ranked.min_by_key(|(key, _)| *key)
    };
    let best = blocks.iter().enumerate().filter_map(of_block).min_by_key(|(key, _)| *key);
    best.map(|(_, place)| place)
}
