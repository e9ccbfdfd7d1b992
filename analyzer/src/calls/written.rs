//! When was a byte written? The writes of a trace, placed in the streams and on the clock of a capture.

use super::align::{Fit, Piece, agrees, chosen, densest, fits, limit_ns};
use super::sockets::{Protocol, Socket, Write, flag};
use super::trace::Trace;
use crate::capture::error::ScanError;
use crate::capture::progress::Progress;
use crate::track::reader::labels::Labels;
use crate::track::reader::range::Range;
use crate::track::reader::{self, Reading};
use crate::track::tracked::Block;
use crate::track::{Endpoint, Follower, Repeat, Side, TrackedSegment};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

/// Segments that are looked at: 100 MB.
const MOST_PIECES: usize = 4_000_000;
/// Pairs of a socket and a direction that are compared where no address tells which belong together.
const MOST_PAIRS: usize = 200_000;
/// Writes by which a socket has a place, if the trace is of this capture.
const MANY_WRITES: usize = 8;
/// Times of one call vary by so much at least.
const LEAST_DOUBT_NS: i64 = 50_000;

/// One direction of a connection.
#[derive(Debug)]
pub struct Direction {
    pub connection: u32,
    pub side: Side,
    local: SocketAddr,
    remote: SocketAddr,
    is_whole: bool,
    rtt_ns: i64,
    pub bytes: u64,
    pieces: Vec<Piece>,
}

impl Direction {
    /// Do both begin with the same byte?
    fn is_whole_with(&self, socket: &Socket) -> bool {
        self.is_whole && socket.is_whole
    }

    fn is_of(&self, socket: &Socket) -> bool {
        socket.ends() == Some((self.local, self.remote))
    }
}

/// The socket whose bytes a direction carries.
#[derive(Debug, Clone, Copy)]
pub struct Placed {
    pub socket: u32,
    shift: i64,
    delta_ns: i64,
    /// `None` without a clock: then the bytes alone are known.
    doubt_ns: Option<i64>,
}

/// A write, and when it was called by the capture's clock.
#[derive(Debug, Clone, Copy)]
pub struct WrittenAt<'a> {
    pub write: &'a Write,
    /// The one before it on the same socket.
    pub before: Option<&'a Write>,
    pub time_ns: i64,
    pub doubt_ns: i64,
    /// Something else than an ACK may have let it go, or nothing but a cork have held it.
    pub is_unclear: bool,
}

/// All directions whose writes are known.
#[derive(Debug, Default)]
pub struct Written {
    pub trace: Arc<Trace>,
    placed: HashMap<(u32, u8), Placed, RandomState>,
    pub directions: Vec<Direction>,
    pub spread_ns: Option<i64>,
    /// How the trace was matched: `addresses and times`, `sizes and times`, `addresses and sizes`, or empty.
    pub aligned_by: &'static str,
}

impl Written {
    /// Reads the captures again for the segments of what the trace may have written.
    ///
    /// # Errors
    /// As of a scan.
    pub fn of(
        trace: &Arc<Trace>,
        blocks: &[Block],
        (paths, filter, reading): (&[String], Option<&str>, Reading),
        progress: &Arc<Progress>,
    ) -> Result<Self, ScanError> {
        let mut directions = directions(blocks);
        let (mut pairs, by_address) = pairs(trace, &directions);
        let mut wanted: Vec<u32> = pairs.iter().map(|&(_, at)| directions[at].connection).collect();
        wanted.sort_unstable();
        wanted.dedup();
        fill(&mut directions, &wanted, (paths, filter, reading), progress)?;
        pairs.retain(|&(_, at)| !directions[at].pieces.is_empty());
        let mut written = Self { trace: Arc::clone(trace), directions, ..Self::default() };
        written.place(&pairs, by_address);
        Ok(written)
    }

    /// Finds the trace's clock by all sockets together, then the place of each.
    fn place(&mut self, pairs: &[(usize, usize)], by_address: bool) {
        let trace = Arc::clone(&self.trace);
        let mut found: Vec<(usize, Vec<Fit>)> = Vec::new();
        for of_socket in pairs.chunk_by(|one, next| one.0 == next.0) {
            let place = of_socket[0].0;
            let socket = &trace.sockets[place];
            let each = of_socket.iter().flat_map(|&(_, at)| {
                let direction = &self.directions[at];
                fits(socket, at, &direction.pieces, direction.is_whole_with(socket))
            });
            let mut fits: Vec<Fit> = each.collect();
            fits.sort_by_key(|fit| fit.spread_ns);
            found.push((place, fits));
        }
        if trace.clock.is_none() {
            return self.place_by_bytes(&found, by_address);
        }
        let Some((delta_ns, spread_ns)) = self.clock(&found, by_address) else { return };
        let doubt_ns = spread_ns.max(LEAST_DOUBT_NS);
        self.spread_ns = Some(spread_ns);
        self.aligned_by = if by_address { "addresses and times" } else { "sizes and times" };
        let mut best: Vec<(i64, i64, usize, usize, i64)> = Vec::new();
        for (socket, fits) in &found {
            for fit in fits.iter().filter(|fit| !fit.samples.is_empty()) {
                let off_ns = (fit.delta_ns - delta_ns).abs();
                if off_ns <= self.limit_ns(fit).max(2 * doubt_ns) {
                    best.push((fit.range_ns, off_ns, *socket, fit.direction, fit.shift));
                }
            }
        }
        // One socket has one direction, and the other way round.
        best.sort_unstable();
        let mut is_taken = vec![false; trace.sockets.len()];
        for (_, _, socket, at, shift) in best {
            let key = (self.directions[at].connection, self.directions[at].side as u8);
            if !is_taken[socket] && !self.placed.contains_key(&key) {
                is_taken[socket] = true;
                let doubt_ns = Some(doubt_ns);
                self.placed
                    .insert(key, Placed { socket: socket as u32, shift, delta_ns, doubt_ns });
            }
        }
    }

    fn limit_ns(&self, fit: &Fit) -> i64 {
        limit_ns(self.directions[fit.direction].rtt_ns)
    }

    /// From a call to the capture point, of what leaves at once, and how much that varies.
    fn clock(&self, found: &[(usize, Vec<Fit>)], by_address: bool) -> Option<(i64, i64)> {
        let clock = self.trace.clock;
        let (mut samples, mut most_ns, mut all) = (Vec::new(), 0, Vec::new());
        for (socket, fits) in found {
            let socket = &self.trace.sockets[*socket];
            let is_sure = |fit: &&Fit| {
                let direction = &self.directions[fit.direction];
                direction.is_of(socket) && direction.is_whole_with(socket)
            };
            let sure = fits.iter().find(is_sure);
            if !fits.is_empty() || socket.writes.len() >= MANY_WRITES {
                let best = sure.or(fits.first()).filter(|fit| fit.by_first);
                all.push(best.map_or(i64::MAX, |fit| fit.delta_ns));
            }
            if let Some(fit) = sure.or_else(|| chosen(fits, clock, |fit| self.limit_ns(fit))) {
                most_ns = most_ns.max(self.limit_ns(fit));
                samples.extend(&fit.samples);
            }
        }
        samples.sort_unstable();
        let (delta_ns, spread_ns) = densest(&samples, 5);
        // Of another run some connections may keep the rhythm, but not all.
        let all_agree = |delta_ns: i64| {
            let near =
                all.iter().filter(|own_ns| own_ns.abs_diff(delta_ns) <= most_ns as u64).count();
            4 * near >= 3 * all.len()
        };
        let agrees = agrees(clock, delta_ns);
        let is_right = match agrees {
            true => samples.len() >= 3 || by_address,
            false => {
                samples.len() >= 3 && densest(&samples, 9).1 <= most_ns / 2 && all_agree(delta_ns)
            }
        };
        (is_right && spread_ns <= most_ns).then_some((delta_ns, spread_ns))
    }

    /// Without times: only what both show from the beginning, by addresses.
    fn place_by_bytes(&mut self, found: &[(usize, Vec<Fit>)], by_address: bool) {
        for (socket, fits) in found.iter().filter(|_| by_address) {
            let (Some(fit), 1) = (fits.first(), fits.len()) else { continue };
            let direction = &self.directions[fit.direction];
            if direction.is_whole_with(&self.trace.sockets[*socket]) {
                let key = (direction.connection, direction.side as u8);
                let placed =
                    Placed { socket: *socket as u32, shift: 0, delta_ns: 0, doubt_ns: None };
                self.placed.insert(key, placed);
                self.aligned_by = "addresses and sizes";
            }
        }
    }

    pub fn socket(&self, connection: u32, side: Side) -> Option<&Socket> {
        let placed = self.placed.get(&(connection, side as u8))?;
        Some(&self.trace.sockets[placed.socket as usize])
    }

    /// Directions whose sockets are known, with these.
    pub fn matched(&self) -> impl Iterator<Item = (&Direction, &Socket)> {
        let each = self.directions.iter();
        each.filter_map(|one| Some((one, self.socket(one.connection, one.side)?)))
    }

    /// The write of the byte at this offset of a direction, which passed the capture point at `left_ns`.
    pub fn at(
        &self,
        connection: u32,
        side: Side,
        offset: u64,
        left_ns: i64,
    ) -> Option<WrittenAt<'_>> {
        let placed = self.placed.get(&(connection, side as u8))?;
        let writes = &self.trace.sockets[placed.socket as usize].writes;
        let offset = u64::try_from(offset as i64 - placed.shift).ok()?;
        let after = writes.partition_point(|write| write.offset <= offset);
        let is_data = |write: &&Write| write.bytes > 0;
        let place = after - 1 - writes[..after].iter().rev().position(|write| write.bytes > 0)?;
        let write = &writes[place];
        if offset >= write.offset + u64::from(write.bytes) {
            return None;
        }
        let doubt_ns = placed.doubt_ns.unwrap_or(i64::MAX);
        let time_ns = write.time_ns.saturating_add(placed.delta_ns);
        let lets_go = |push: &&Write| push.flags & flag::PUSH != 0;
        let is_then = |push: &Write| {
            (push.time_ns + placed.delta_ns).abs_diff(left_ns)
                <= doubt_ns.saturating_add(1_000_000) as u64
        };
        let pushed = writes[place + 1..]
            .iter()
            .take_while(|later| later.time_ns <= left_ns - placed.delta_ns)
            .filter(lets_go)
            .any(is_then);
        let before = writes[..place].iter().rev().find(is_data);
        Some(WrittenAt {
            write,
            before,
            time_ns,
            doubt_ns,
            is_unclear: pushed || write.flags & flag::MORE != 0,
        })
    }
}

/// Both directions of all connections.
fn directions(blocks: &[Block]) -> Vec<Direction> {
    let address = |end: Endpoint| SocketAddr::new(end.addr.to_canonical(), end.port);
    let mut all = Vec::new();
    for block in blocks {
        for connection in &block.connections {
            for side in Side::BOTH.into_iter().filter(|side| connection.half(*side).bytes() > 0) {
                all.push(Direction {
                    connection: block.numbers[connection.id as usize],
                    side,
                    local: address(connection.endpoint(side)),
                    remote: address(connection.endpoint(side.other())),
                    is_whole: connection.half(side).has_syn(),
                    rtt_ns: connection.half(side).rtt_or_zero_ns(),
                    bytes: connection.half(side).bytes(),
                    pieces: Vec::new(),
                });
            }
        }
    }
    all.sort_unstable_by_key(|one| (one.connection, one.side as u8));
    all
}

/// Sockets with directions that may be theirs, and whether addresses tell so. A capture of another place may have
/// others: then all are compared.
fn pairs(trace: &Trace, directions: &[Direction]) -> (Vec<(usize, usize)>, bool) {
    let written = |socket: &&(usize, &Socket)| socket.1.bytes > 0 && !socket.1.writes.is_empty();
    let sockets: Vec<(usize, &Socket)> = trace.sockets.iter().enumerate().collect();
    let sockets: Vec<(usize, &Socket)> = sockets.iter().filter(written).copied().collect();
    let mut by_ends: HashMap<_, Vec<usize>, RandomState> = HashMap::default();
    let mut by_remote: HashMap<_, Vec<usize>, RandomState> = HashMap::default();
    let mut by_port: HashMap<_, Vec<usize>, RandomState> = HashMap::default();
    for (at, one) in directions.iter().enumerate() {
        by_ends.entry((one.local, one.remote)).or_default().push(at);
        by_remote.entry(one.remote).or_default().push(at);
        by_port.entry(one.local.port()).or_default().push(at);
    }
    let mut all = Vec::new();
    for (place, socket) in &sockets {
        // Between the program and the capture the near address may have been translated.
        let same = socket.ends().and_then(|ends| by_ends.get(&ends));
        let same = same.or_else(|| by_remote.get(&socket.remote?));
        let same = same.or_else(|| by_port.get(&socket.local?.port()));
        let left = MOST_PAIRS.saturating_sub(all.len());
        all.extend(same.into_iter().flatten().map(|&at| (*place, at)).take(left));
    }
    if !all.is_empty() {
        return (all, true);
    }
    let likely = sockets.iter().filter(|(_, socket)| socket.protocol >= Protocol::Unknown);
    let each = likely.flat_map(|(place, _)| (0..directions.len()).map(move |at| (*place, at)));
    (each.take(MOST_PAIRS).collect(), false)
}

/// Reads the captures again for the segments of these connections.
fn fill(
    directions: &mut [Direction],
    wanted: &[u32],
    (paths, filter, reading): (&[String], Option<&str>, Reading),
    progress: &Arc<Progress>,
) -> Result<(), ScanError> {
    if wanted.is_empty() {
        return Ok(());
    }
    let mut kept = 0;
    let see = |number: u32, segment: TrackedSegment| {
        let (len, is_new) = (segment.header.len, segment.repeat == Repeat::No);
        if len == 0 || !is_new || kept == MOST_PIECES {
            return;
        }
        let key = (number, segment.by as u8);
        if let Ok(at) =
            directions.binary_search_by_key(&key, |one| (one.connection, one.side as u8))
        {
            kept += 1;
            let piece = Piece { offset: segment.rel_seq, time_ns: segment.mark.time_ns };
            directions[at].pieces.push(piece);
        }
    };
    let mut follower = Follower::new(wanted, see);
    let take = |range: &Range, shard: usize| follower.take(range, shard);
    reader::read_all(paths, &Labels::default(), filter, reading, progress, vec![take])?;
    for one in directions {
        one.pieces.sort_by_key(|piece| piece.offset);
    }
    Ok(())
}
