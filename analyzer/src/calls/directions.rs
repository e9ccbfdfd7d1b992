//! Directions of connections that may carry what a trace wrote, with their segments.

use super::place::SentSegment;
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

/// Connections of one end of a client, one after the other, that are looked at.
const MOST_OF_CLIENT: usize = 64;
/// Segments that are looked at: 100 MB.
const MOST_PIECES: usize = 4_000_000;

/// One direction of a connection.
#[derive(Debug)]
pub struct CapturedDirection {
    pub connection: u32,
    pub side: Side,
    pub local: SocketAddr,
    pub remote: SocketAddr,
    is_whole: bool,
    pub rtt_ns: i64,
    pub mss: u32,
    pub bytes: u64,
    pub pieces: Vec<SentSegment>,
}

impl CapturedDirection {
    /// Do both begin with the same byte? So they do if as much was written as went over the wire.
    pub fn begins_with(&self, socket: &Socket) -> bool {
        self.is_whole && (socket.is_whole || socket.bytes == self.bytes)
    }

    /// Has each byte of the direction its place in the trace, whatever the clocks say?
    pub fn has_all_of(&self, socket: &Socket) -> bool {
        self.is_whole && socket.bytes == self.bytes && self.is_of(socket)
    }

    /// The far end shows whose it is, unless the near one is another. `accept` tells the far end of
    /// a connection of its own, `connect` that of a server that has many.
    pub fn is_of(&self, socket: &Socket) -> bool {
        let is_near = |local: SocketAddr| {
            let is_any = local.ip().is_unspecified();
            local.port() == self.local.port() && (is_any || local.ip() == self.local.ip())
        };
        socket.remote == Some(self.remote) && socket.local.map_or(socket.is_server, is_near)
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

/// The sockets of a trace with the directions that may be theirs.
#[derive(Debug, Default)]
pub struct Groups {
    pub all: Vec<Candidates>,
    /// Do addresses tell whose they are? A capture of another place may have others: then all
    /// directions are compared.
    pub by_address: bool,
    /// A socket of another connection between hosts of the capture, where there is no other.
    pub foreign: Option<usize>,
}

impl Groups {
    pub fn of(trace: &Trace, directions: &[CapturedDirection]) -> Self {
        let mut by_ends: HashMap<_, Rc<Vec<usize>>, RandomState> = HashMap::default();
        let mut by_remote: HashMap<_, Rc<Vec<usize>>, RandomState> = HashMap::default();
        let mut by_port: HashMap<_, Rc<Vec<usize>>, RandomState> = HashMap::default();
        let mut hosts = HashSet::new();
        for (at, one) in directions.iter().enumerate() {
            Rc::make_mut(by_ends.entry((one.local, one.remote)).or_default()).push(at);
            Rc::make_mut(by_remote.entry(one.remote).or_default()).push(at);
            Rc::make_mut(by_port.entry(one.local.port()).or_default()).push(at);
            hosts.insert(one.local.ip());
        }
        let mut groups = Self::default();
        let mut unknown = Vec::new();
        for (place, socket) in trace.sockets.iter().enumerate() {
            if socket.bytes == 0 || socket.writes.is_empty() {
                continue;
            }
            let remote = socket.remote.and_then(|remote| by_remote.get(&remote));
            let port = || by_port.get(&socket.local?.port());
            // The trace may know no address of a listener: a client's end is that of one connection.
            let accepted = || {
                let all = remote.filter(|all| socket.is_server && all.len() <= MOST_OF_CLIENT)?;
                let own = all.iter().copied().filter(|&at| directions[at].is_of(socket));
                Some(Rc::new(own.collect::<Vec<usize>>())).filter(|own| !own.is_empty())
            };
            let own = socket.ends().and_then(|ends| by_ends.get(&ends).map(Rc::clone));
            // Addresses that the capture has were not translated on the way to it.
            let local = socket.local.filter(|local| !local.ip().is_unspecified());
            let is_here =
                |end: Option<SocketAddr>| end.is_some_and(|end| hosts.contains(&end.ip()));
            let found = match own.or_else(accepted) {
                Some(own) => Some(own),
                None if local.is_none() || !is_here(local) => {
                    remote.or_else(|| port().filter(|_| !is_here(socket.remote))).map(Rc::clone)
                }
                None => port().filter(|_| !is_here(socket.remote)).map(Rc::clone),
            };
            match found {
                Some(found) => groups.all.push((place, found)),
                None if is_here(local) || is_here(socket.remote) => {
                    groups.foreign.get_or_insert(place);
                }
                None => unknown.push(place),
            }
        }
        groups.by_address = !groups.all.is_empty();
        if !groups.by_address && groups.foreign.is_none() {
            let every = Rc::new((0..directions.len()).collect());
            groups.all = unknown.into_iter().map(|place| (place, Rc::clone(&every))).collect();
        }
        groups
    }
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
