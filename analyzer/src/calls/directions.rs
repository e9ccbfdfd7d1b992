//! Directions of connections that may carry what a trace wrote, with their segments.

use super::align::SentSegment;
use super::sockets::Socket;
use super::trace::Trace;
use crate::capture::error::ScanError;
use crate::capture::progress::Progress;
use crate::track::follower::{Follower, Repeat, TrackedSegment};
use crate::track::reader::labels::Labels;
use crate::track::reader::range::Range;
use crate::track::reader::{self, Reading};
use crate::track::tracked::Block;
use crate::track::{Endpoint, Side};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::collections::HashSet;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

/// Segments that are looked at: 100 MB.
const MOST_PIECES: usize = 4_000_000;

/// One direction of a connection.
#[derive(Debug)]
pub struct CapturedDirection {
    pub connection: u32,
    pub side: Side,
    local: SocketAddr,
    remote: SocketAddr,
    is_whole: bool,
    pub rtt_ns: i64,
    pub mss: u32,
    pub bytes: u64,
    pub pieces: Vec<SentSegment>,
}

impl CapturedDirection {
    /// Do both begin with the same byte?
    pub fn is_whole_with(&self, socket: &Socket) -> bool {
        self.is_whole && socket.is_whole
    }

    pub fn is_of(&self, socket: &Socket) -> bool {
        socket.ends() == Some((self.local, self.remote))
    }
}

/// Both directions of all connections.
pub fn directions(blocks: &[Block]) -> Vec<CapturedDirection> {
    let address = |end: Endpoint| SocketAddr::new(end.addr.to_canonical(), end.port);
    let mut all = Vec::new();
    for block in blocks {
        for connection in &block.connections {
            for side in Side::BOTH.into_iter().filter(|side| connection.half(*side).bytes() > 0) {
                all.push(CapturedDirection {
                    connection: block.numbers[connection.id as usize],
                    side,
                    local: address(connection.endpoint(side)),
                    remote: address(connection.endpoint(side.other())),
                    is_whole: connection.half(side).has_syn(),
                    rtt_ns: connection.half(side).rtt_or_zero_ns(),
                    mss: connection.effective_mss().0,
                    bytes: connection.half(side).bytes(),
                    pieces: Vec::new(),
                });
            }
        }
    }
    all.sort_unstable_by_key(|one| (one.connection, one.side as u8));
    all
}

/// A socket, and the directions that may be its own.
pub type Candidates = (usize, Rc<Vec<usize>>);

/// Sockets with directions that may be theirs, and whether addresses tell so. A capture of another
/// place may have others: then all are compared.
pub fn groups(trace: &Trace, directions: &[CapturedDirection]) -> (Vec<Candidates>, bool) {
    let mut by_ends: HashMap<_, Rc<Vec<usize>>, RandomState> = HashMap::default();
    let mut by_remote: HashMap<_, Rc<Vec<usize>>, RandomState> = HashMap::default();
    let mut by_port: HashMap<_, Rc<Vec<usize>>, RandomState> = HashMap::default();
    for (at, one) in directions.iter().enumerate() {
        Rc::make_mut(by_ends.entry((one.local, one.remote)).or_default()).push(at);
        Rc::make_mut(by_remote.entry(one.remote).or_default()).push(at);
        Rc::make_mut(by_port.entry(one.local.port()).or_default()).push(at);
    }
    let sockets = trace.sockets.iter().enumerate();
    let written = sockets.filter(|(_, socket)| socket.bytes > 0 && !socket.writes.is_empty());
    let same = |(place, socket): (usize, &Socket)| {
        // Between the program and the capture the near address may have been translated.
        let same = socket.ends().and_then(|ends| by_ends.get(&ends));
        let same = same.or_else(|| by_remote.get(&socket.remote?));
        let same = same.or_else(|| by_port.get(&socket.local?.port()))?;
        Some((place, Rc::clone(same)))
    };
    let all: Vec<Candidates> = written.clone().filter_map(same).collect();
    if !all.is_empty() {
        return (all, true);
    }
    let every = Rc::new((0..directions.len()).collect());
    (written.map(|(place, _)| (place, Rc::clone(&every))).collect(), false)
}

/// The numbers of the connections of all groups; many sockets have the same group.
pub fn wanted(groups: &[Candidates], directions: &[CapturedDirection]) -> Vec<u32> {
    let mut seen = HashSet::new();
    let each = groups.iter().filter(|(_, group)| seen.insert(Rc::as_ptr(group)));
    let each = each.flat_map(|(_, group)| group.iter().map(|&at| directions[at].connection));
    let mut wanted: Vec<u32> = each.collect();
    wanted.sort_unstable();
    wanted.dedup();
    wanted
}

/// Reads the captures again for the segments of these connections.
pub fn fill(
    directions: &mut [CapturedDirection],
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
            let piece = SentSegment { offset: segment.rel_seq, time_ns: segment.mark.time_ns, len };
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
