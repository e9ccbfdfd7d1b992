//! The terms of one wait. They are computed anew: findings keep only what they amount to.

use crate::capture::error::ScanError;
use crate::capture::progress::Progress;
use crate::judge::causes::Cause;
use crate::judge::conditions::Conditions;
use crate::judge::model::{Held, Proof, Terms, explain};
use crate::judge::pooled::servers::Servers;
use crate::judge::words::terms::{TermRow, rows};
use crate::judge::{Weighed, rule, weigh_all};
use crate::result::scan::{ScanOptions, track, written};
use crate::track::reader::capture_summary::clocks;
use crate::track::tracked::Block;
use crate::track::wait::{Wait, fact};
use std::sync::Arc;

/// A wait, what was decided on it, and the terms of its probability.
pub struct Why {
    pub connection: u32,
    pub wait: Wait,
    pub cause: Cause,
    /// The ledger's words for what was owed when it began, and what ended it.
    pub entry: [&'static str; 2],
    pub held: Held,
    pub rows: Vec<TermRow>,
    /// Lines of the trace of the program's calls, where it has one.
    pub calls: Vec<String>,
}

/// The terms of the wait that frame `frame` is of: that it ended, or else that its ACK freed, or
/// that began with it. `None` if there is none.
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
    let clocks = clocks(&captures);
    let written = written(paths, &tracked, options, progress)?;
    let mut blocks = tracked.blocks;
    let threads = options.reading.threads;
    let Weighed { models, paths, .. } = weigh_all(&mut blocks, &clocks, written.as_ref(), threads);
    let Some((number, place)) = connection_of(&blocks, frame) else { return Ok(None) };
    let block = &blocks[number];
    let begin = block.waits.partition_point(|wait| wait.connection < place);
    let end = block.waits.partition_point(|wait| wait.connection <= place);
    let own = &block.waits[begin..end];
    let Some(at) = block.place_of(&own[0]) else { return Ok(None) };
    let connection = &block.connections[at];
    let model = models[number].of_connection(at, begin..end);
    let servers = Servers::new(&tracked.servers);
    let known = (&paths, &servers);
    let conditions = Conditions::of(options.min_wait_ns, &clocks, known, (connection, own));
    let directions =
        model.directions.copied().unwrap_or_else(|| conditions.directions(connection, own));
    let (mut waits, mut rulings) = (own.to_vec(), Vec::new());
    rule(connection, &mut waits, model.held, &directions, &servers, &mut rulings);
    let ruled = waits.iter().zip(&rulings).filter_map(|one| Some((key(one.0, frame)?, one)));
    let Some((key_of_best, (wait, ruling))) = ruled.min_by_key(|(key, _)| *key) else {
        return Ok(None);
    };
    let is_it = |other: &Wait| {
        key(other, frame) == Some(key_of_best) && other.is(fact::RESENT) == wait.is(fact::RESENT)
    };
    let entry = ruling.entry();
    let among_own = own.iter().position(is_it).unwrap_or(0);
    let terms = explain(&blocks, &clocks, &paths, threads, number, begin + among_own);
    let mut terms = terms.unwrap_or_else(|| {
        Terms::excluded(&own[among_own], connection, &directions, &own[..among_own])
    });
    let id = block.numbers[place as usize];
    let call = written
        .as_ref()
        .and_then(|written| written.at((id, wait.by), (wait.rel_seq, wait.len), wait.to.time_ns));
    let calls = match (&written, call) {
        (Some(written), Some(call)) => written.trace.lines_of(call.before, call.write, progress)?,
        _ => Vec::new(),
    };
    if ruling.held.proof != Proof::None {
        terms.held = ruling.held;
    }
    Ok(Some(Why {
        connection: id,
        rows: rows(&terms, wait, connection),
        calls,
        wait: *wait,
        cause: ruling.cause,
        entry: [entry.owed, entry.ended_by],
        held: terms.held,
    }))
}

/// The connection that a frame is of: its block, and its number there.
fn connection_of(blocks: &[Block], frame: u64) -> Option<(usize, u32)> {
    let has = |wait: &&Wait| key(wait, frame).is_some();
    let each = blocks.iter().enumerate();
    let mut all =
        each.filter_map(|(at, block)| Some((at, block.waits.iter().find(has)?.connection)));
    all.next()
}

/// Orders the waits of a frame: first what it ended, then what its ACK freed, then what it began.
fn key(wait: &Wait, frame: u64) -> Option<(usize, u32, u8)> {
    let frames = [wait.to.frame, wait.ack.frame, wait.from.frame];
    let rank = frames.iter().position(|&of| u64::from(of) == frame)?;
    Some((rank, wait.to.frame, wait.by as u8))
}
