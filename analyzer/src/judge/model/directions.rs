//! The directions that have candidates, with what is known of their paths.

use crate::cores;
use crate::judge::model::candidates::candidates;
use crate::judge::model::density::Path;
use crate::judge::statistics;
use crate::judge::thresholds::NEAR_RTT_MS;
use crate::track::clock::Clocks;
use crate::track::tracked::Block;
use crate::track::wait::Wait;
use crate::track::{Connection, Ends, Side};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::net::IpAddr;

/// A release that is later than this in the middle, where the round trip is not known, came over a network.
const FAR_RELEASE_NS: i64 = 500_000;
/// Nothing bounds the round trip.
const UNBOUNDED_MS: f64 = 1000.0;

/// One direction of a connection.
pub struct Direction<'a> {
    pub connection: &'a Connection,
    pub side: Side,
    /// Its block, and the place of the connection there.
    pub block: u32,
    pub place: u32,
    /// The waits of the connection, where they begin in the block, and which of them are candidates.
    pub waits: &'a [Wait],
    pub begin: usize,
    pub candidates: Vec<u32>,
    pub path: Path,
    /// Do shorter waits than evidence count for nothing?
    pub evidence_only: bool,
}

impl Direction<'_> {
    pub fn wait(&self, candidate: usize) -> &Wait {
        &self.waits[self.candidates[candidate] as usize]
    }

    /// Its candidates, in their order.
    pub fn candidate_waits(&self) -> impl Iterator<Item = &Wait> + Clone {
        self.candidates.iter().map(|&at| &self.waits[at as usize])
    }
}

/// All that have candidates, among waits that are evidence or among all.
pub fn directions<'a>(
    blocks: &'a [Block],
    clocks: &Clocks,
    threads: usize,
    evidence_only: bool,
) -> Vec<Direction<'a>> {
    let numbered: Vec<(usize, &Block)> = blocks.iter().enumerate().collect();
    let found = cores::of_blocks(threads, &numbered, |blocks| {
        let each =
            blocks.iter().map(|&(number, block)| of_block(number, block, clocks, evidence_only));
        each.flatten().collect::<Vec<Direction<'_>>>()
    });
    let mut all: Vec<Direction<'_>> = found.into_iter().flatten().collect();
    share_paths(blocks, &mut all);
    all
}

fn of_block<'a>(
    number: usize,
    block: &'a Block,
    clocks: &Clocks,
    evidence_only: bool,
) -> Vec<Direction<'a>> {
    let mut all = Vec::new();
    let mut begin = 0;
    for waits in block.waits.chunk_by(|one, next| one.connection == next.connection) {
        let own = begin;
        begin += waits.len();
        let Some(place) = block.place_of(&waits[0]) else { continue };
        let connection = &block.connections[place];
        for side in Side::BOTH {
            let mut candidates = candidates(connection, side, waits);
            candidates.retain(|&at| !evidence_only || waits[at as usize].is_evidence());
            if candidates.is_empty() {
                continue;
            }
            let step_ms = clocks.behind_ns(waits) as f64 / 1e6;
            let path = Path::of(connection, side, step_ms);
            let mut direction = Direction {
                connection,
                side,
                block: number as u32,
                place: place as u32,
                waits,
                begin: own,
                candidates,
                path,
                evidence_only,
            };
            direction.path.far = direction.is_far();
            all.push(direction);
        }
    }
    all
}

impl Path {
    fn of(connection: &Connection, side: Side, step_ms: f64) -> Self {
        let half = connection.half(side);
        let ms = |ns: i64| ns as f64 / 1e6;
        Self {
            rtt_ms: half.measured_rtt_ns().map(ms),
            jitter_ms: ms(half.jitter_ns()),
            bound_ms: half.longest_rtt_ns().map_or(UNBOUNDED_MS, ms),
            samples: half.rtt_samples,
            measured: half.is_path_measured(),
            shared: false,
            step_ms: step_ms.max(0.001),
            far: false,
        }
    }
}

impl Direction<'_> {
    fn is_far(&self) -> bool {
        if let Some(rtt_ms) = self.path.rtt_ms.filter(|_| self.path.is_known()) {
            return rtt_ms >= NEAR_RTT_MS;
        }
        let releases = self.candidate_waits().map(Wait::release_ns);
        let middle_ns = statistics::upper(&mut releases.collect::<Vec<i64>>());
        middle_ns.is_some_and(|ns| ns > FAR_RELEASE_NS)
    }
}

/// Two hosts.
type Hosts = (IpAddr, IpAddr);

/// Connections of the same two hosts share their path: what a handshake of one shows counts for all others, whose
/// round trip would be a guess.
fn share_paths(blocks: &[Block], directions: &mut [Direction<'_>]) {
    let hosts = |connection: &Connection| {
        let Ends { client, server } = connection.ends();
        (client.addr, server.addr)
    };
    let unknown = directions.iter().filter(|direction| !direction.path.measured);
    let mut shared: HashMap<Hosts, [Option<Path>; 2], RandomState> =
        unknown.map(|direction| (hosts(direction.connection), [None; 2])).collect();
    if shared.is_empty() {
        return;
    }
    for connection in blocks.iter().flat_map(|block| &block.connections) {
        let Some(known) = shared.get_mut(&hosts(connection)) else { continue };
        for side in Side::BOTH.into_iter().filter(|&side| connection.half(side).is_path_measured())
        {
            let path = Path::of(connection, side, 0.0);
            let known = &mut known[side as usize];
            let is_shorter = known.is_none_or(|known| path.rtt_ms < known.rtt_ms);
            *known = if is_shorter { Some(path) } else { *known };
        }
    }
    for direction in directions.iter_mut().filter(|direction| !direction.path.measured) {
        let known = shared.get(&hosts(direction.connection));
        if let Some(path) = known.and_then(|known| known[direction.side as usize]) {
            let Path { bound_ms, step_ms, .. } = direction.path;
            // Of another capture point: this host answered sooner.
            if path.rtt_ms.is_some_and(|rtt_ms| rtt_ms > 1.25 * bound_ms + 0.2 + step_ms) {
                continue;
            }
            direction.path = Path { step_ms, shared: true, ..path };
            direction.path.far = direction.is_far();
        }
    }
}
