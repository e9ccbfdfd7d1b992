//! Judges all connections, when all of them are known. In this order:
//!
//! 1. [`weigh_all`], all together, as one connection is evidence on others: times that are made up
//!    ([`capture::made_up`]), connections that the capture holds twice ([`pooled::copies`]), what
//!    brokers ([`pooled::fan_out`]) and relays ([`pooled::relays`]) passed on; how likely each wait
//!    was a hold ([`model`]), or what the calls of its program prove ([`proven`]).
//! 2. [`model::by_data::drop_unlikely`], which `result::blocks` calls for each block: drops segments
//!    that data probably did not release.
//! 3. [`judge`], each by itself: the causes of its waits ([`causes::ledger`]), less those that others
//!    cover ([`finding::superseded`]) or for which nobody waited ([`finding::unanswered`]); then
//!    whether Nagle's algorithm was on ([`nagle::nodelay`]), what the capture hides
//!    ([`finding::hidden`]), and the verdict ([`finding::verdict`]).

pub mod ack_delay;
pub mod capture;
pub mod causes;
pub mod conditions;
pub mod direction;
pub mod doubts;
pub mod finding;
pub mod findings;
pub mod model;
pub mod nagle;
pub mod path;
pub mod pooled;
mod proven;
pub mod statistics;
pub mod thresholds;
mod ticks;
pub mod words;

use crate::calls::written::Written;
use crate::capture::times::sum_ns;
use crate::cores::{self, blocks_at_once};
use crate::judge::capture::point::capture_point;
use crate::judge::causes::ledger;
use crate::judge::causes::patterns::Patterns;
use crate::judge::conditions::Conditions;
use crate::judge::direction::Direction;
use crate::judge::doubts::hides;
use crate::judge::finding::hidden::Seen;
use crate::judge::finding::judged::{JudgedConnection, JudgedHalf};
use crate::judge::finding::short::Short;
use crate::judge::finding::{half, short, superseded, unanswered};
use crate::judge::findings::{Findings, Ruling};
use crate::judge::model::{BlockModel, ConnectionModel, Held, model};
use crate::judge::pooled::paths::SharedPaths;
use crate::judge::pooled::relays::{self, PassedOn};
use crate::judge::pooled::servers::Servers;
use crate::judge::pooled::{copies, fan_out};
use crate::rules;
use crate::track::clock::Clocks;
use crate::track::half::Half;
use crate::track::tracked::Block;
use crate::track::wait::{End, Wait, fact};
use crate::track::{Connection, Side};
use std::sync::{Mutex, PoisonError};

/// All connections, weighed together.
pub struct Weighed {
    /// One for each block.
    pub models: Vec<BlockModel>,
    pub paths: SharedPaths,
    /// Directions that pass on what arrives on another connection.
    pub passed_on: Vec<PassedOn>,
}

/// Weighs all connections together, each step by what the ones before have marked: made-up times,
/// connections that the capture holds twice, what brokers and relays passed on; then how likely
/// Nagle's algorithm held each wait until an ACK, or until data; or, where it is known when its
/// bytes were `written`, whether it did. Sorts the waits of each block by connection and time.
pub fn weigh_all(
    blocks: &mut [Block],
    clocks: &Clocks,
    written: Option<&Written>,
    threads: usize,
) -> Weighed {
    copies::mark(blocks);
    fan_out::mark(blocks, threads);
    let passed_on = relays::mark(blocks);
    sort_waits(blocks, clocks, threads);
    let paths = SharedPaths::of(blocks, threads);
    let mut models = model(blocks, clocks, &paths, threads);
    if let Some(written) = written {
        proven::settle(blocks, &mut models, written);
    }
    Weighed { models, paths, passed_on }
}

fn sort_waits(blocks: &mut [Block], clocks: &Clocks, threads: usize) {
    let len = blocks_at_once(blocks.len());
    let pieces: Vec<Mutex<&mut [Block]>> = blocks.chunks_mut(len).map(Mutex::new).collect();
    cores::all(threads, pieces.len(), |piece| {
        let mut blocks = pieces[piece].lock().unwrap_or_else(PoisonError::into_inner);
        for block in &mut **blocks {
            block.order_waits();
            block.mark_made_up(clocks);
        }
    });
}

/// Judges `connection`: the causes of all its `waits`, in the order of their ends, then what the capture
/// hides, then the verdicts on both ends. Adds a ruling for each of the waits less those that are superseded
/// or too short to be listed, and leaves out the latter: the first of `waits` have the new `rulings`.
pub fn judge(
    connection: &Connection,
    waits: &mut [Wait],
    model: ConnectionModel<'_>,
    conditions: Conditions<'_>,
    rulings: &mut Vec<Ruling>,
) -> JudgedConnection {
    let first = rulings.len();
    let own;
    let directions = if let Some(known) = model.directions {
        known
    } else {
        own = conditions.directions(connection, waits);
        &own
    };
    let doubts = directions[0].doubts;
    let corked = rule(connection, waits, model.held, directions, conditions.servers, rulings);
    let all = Findings::new(waits, &rulings[first..]);
    let proven = half::nagle_of_both(connection, all, corked, doubts);
    let nagle = proven.map(|(nagle, _)| nagle);
    let hidden = Seen { connection, nagle, findings: all, directions, conditions }.hidden();
    let is_timed = !doubts.hide(hides::WAITS);
    let rtts_ns = directions.each_ref().map(|direction| direction.path.shortest_ns);
    let listed = |wait: &Wait| is_timed && is_listed(wait, rtts_ns, conditions.min_wait_ns);
    let short = Short::of(connection, nagle, all, |finding| listed(finding.wait));
    let nothing_held = short == Short::default() && short::nothing_was_held(connection);
    let halves = Side::BOTH.map(|side| {
        let known = (model.models[side as usize], directions);
        JudgedHalf::of(connection, side, proven[side as usize], all, listed, known)
    });
    findings::retain(waits, rulings, first, |wait, _| listed(wait));
    let findings = Findings::new(waits, &rulings[first..]);
    let stalls = findings.stalls();
    let (mss, mss_inferred) = connection.effective_mss();
    JudgedConnection {
        id: connection.id,
        halves,
        first_ns: connection.first_ns,
        last_ns: connection.last_ns(),
        mss,
        mss_inferred,
        handshake: connection.has_handshake(),
        is_server_guessed: !connection.halves.iter().any(Half::has_syn),
        handshake_ns: connection.handshake_ns().unwrap_or(-1),
        hidden,
        short,
        nothing_held,
        capture_point: capture_point(connection, rtts_ns),
        exchanges: connection.exchanges.count,
        latency_ns: connection.exchanges.latency_ns,
        first_exchange: connection.first_exchange(),
        stalls: stalls.clone().count() as u32,
        surely_stalls: stalls.clone().any(|stall| stall.is_sure()),
        stalled_ns: sum_ns(stalls.map(|stall| stall.lost_ns())),
        exchanges_stalled_ns: 0,
        far: None,
    }
}

/// Rules on all waits, and leaves out those that others supersede: the first of `waits` have the
/// new `rulings`. Returns for each side whether the kernel held something back for a cork.
pub fn rule(
    connection: &Connection,
    waits: &mut [Wait],
    held: &[Held],
    directions: &[Direction; 2],
    servers: &Servers<'_>,
    rulings: &mut Vec<Ruling>,
) -> [bool; 2] {
    if waits.is_empty() {
        return [false; 2];
    }
    let patterns = Side::BOTH.map(|side| Patterns::of(connection, side, waits, directions));
    let (first, each) = (rulings.len(), waits.iter().zip(held));
    rulings.extend(each.map(|(wait, &held)| {
        // An ACK is late by what is known of the data that it acknowledges.
        let side = wait.acknowledged_by().other() as usize;
        Ruling::new(ledger::row_of(wait, held, &directions[side], &patterns[side]), held)
    }));
    if !rules::off("superseded") {
        superseded::drop(waits, rulings, first);
    }
    let answered = connection.exchanges.count;
    // A connection without an answer shows nothing of that: others of its server do.
    let usual_ns = || match answered {
        0 => servers.median_ns(connection.endpoint(Side::Server)),
        _ => 0,
    };
    unanswered::drop((answered, usual_ns, directions[0].doubts), waits, rulings, first);
    superseded::mark_tries(&mut waits[..rulings.len() - first]);
    patterns.map(|direction| direction.corked)
}

/// Is a wait long enough to be listed? Of an ACK that nothing followed, its delay counts, and of the
/// answer to a SYN what other round trips do not take, if it took two of them.
fn is_listed(wait: &Wait, rtts_ns: [Option<i64>; 2], min_wait_ns: i64) -> bool {
    let receiver_rtt_ns = rtts_ns[wait.acknowledged_by() as usize];
    if wait.end == End::Ack {
        return wait.ack_delay_ns(receiver_rtt_ns) >= min_wait_ns;
    }
    if wait.is_connecting() && !wait.is(fact::RETRANSMITTED) {
        let way_ns = rtts_ns[wait.by as usize].unwrap_or(0);
        return wait.wait_ns() - way_ns >= min_wait_ns.max(way_ns);
    }
    wait.wait_ns() >= min_wait_ns
}

#[cfg(test)]
mod tests;
