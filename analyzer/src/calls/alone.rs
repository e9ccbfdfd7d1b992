//! A trace without a capture: where a program writes twice and then reads, and how long that read took. It
//! proves nothing: which end delayed what, only packets show.

use super::sockets::{Protocol, Socket, Write, flag};
use super::told::{NamedCall, OptionRow, missing, options, traces_options};
use super::trace::Trace;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A write of this many bytes fills a segment of an Ethernet: it does not wait.
const FULL_BYTES: u32 = 1448;
const MOST_PATTERNS: usize = 5;

/// A trace in sums.
#[derive(Debug, Serialize)]
pub struct Alone {
    pub lines: u64,
    pub calls: u64,
    pub has_times: bool,
    /// TCP connections, or sockets of which that is not known.
    pub connections: usize,
    /// Bytes that were written to them.
    pub bytes: u64,
    pub patterns: Vec<Repeated>,
    pub options: Vec<OptionRow>,
    /// Was `TCP_NODELAY` set on the sockets of the patterns: `never`, `not seen`, or empty where it was?
    pub nodelay: &'static str,
    /// Why calls may be missing.
    pub note: &'static str,
}

/// Several writes, then a read, on sockets of one kind.
#[derive(Debug, Clone, Serialize)]
pub struct Repeated {
    pub descriptor: i32,
    /// `tcp`, `socket` or `unknown`.
    pub protocol: &'static str,
    pub is_server: bool,
    pub local: Option<String>,
    pub remote: Option<String>,
    pub port: Option<u16>,
    pub first: NamedCall,
    pub last: NamedCall,
    /// Was `TCP_NODELAY` set meanwhile? And does the trace show the socket from its beginning?
    pub nodelay: bool,
    pub is_whole: bool,
    /// How often, and how often something was written before a read at all.
    pub count: u64,
    pub turns: u64,
    /// From the last write until something had been read: the median, and how many took 35 to 60 ms, or 150 to 250.
    pub wait_ms: Option<f64>,
    pub linux: u64,
    pub windows: u64,
    #[serde(skip)]
    waits_us: Vec<u32>,
}

/// The sums of a trace.
pub fn alone(trace: &Trace) -> Alone {
    let mut kinds: BTreeMap<_, Repeated> = BTreeMap::new();
    let mut turns: BTreeMap<_, u64> = BTreeMap::new();
    let mut of_patterns: Vec<&Socket> = Vec::new();
    // Where sockets are known, other descriptors are files.
    let known = match trace.sockets.iter().any(|socket| socket.protocol > Protocol::Unknown) {
        true => Protocol::Socket,
        false => Protocol::Unknown,
    };
    let has_data = |socket: &&Socket| {
        let is_standard = socket.protocol == Protocol::Unknown && socket.descriptor <= 2;
        socket.bytes > 0 && socket.protocol >= known && !is_standard
    };
    for socket in trace.sockets.iter().filter(has_data) {
        let data = sent(&socket.writes);
        for turn in data.chunk_by(|_, next| next.flags & flag::FIRST == 0) {
            let (Some(first), Some(last)) = (turn.first(), turn.last()) else { continue };
            if last.answered_us == u32::MAX {
                continue;
            }
            *turns.entry(whose(socket)).or_default() += 1;
            if is_repeated(turn) {
                of_patterns.push(socket);
                let nodelay = last.flags & flag::NODELAY != 0;
                let key =
                    (whose(socket), first.name, first.function, last.name, last.function, nodelay);
                let new = || Repeated::new(trace, socket, first, last, nodelay);
                kinds.entry(key).or_insert_with(new).add(trace, first, last);
            }
        }
    }
    let mut patterns = Vec::new();
    for (key, mut kind) in kinds {
        kind.turns = turns.get(&key.0).copied().unwrap_or(0);
        kind.sum(trace.clock.is_some());
        patterns.push(kind);
    }
    patterns.sort_by_key(|kind| (kind.nodelay, Reverse(kind.count)));
    patterns.truncate(MOST_PATTERNS);
    let connections: Vec<&Socket> = trace.sockets.iter().filter(has_data).collect();
    let bytes = connections.iter().map(|socket| socket.bytes).sum();
    Alone {
        lines: trace.lines,
        calls: trace.calls,
        has_times: trace.clock.is_some(),
        connections: connections.len(),
        bytes,
        options: options(trace),
        nodelay: nodelay(trace, &of_patterns),
        note: match trace.more_writes {
            0 if bytes == 0 => missing(trace),
            0 => "",
            _ => "only the first two million writes were looked at",
        },
        patterns,
    }
}

/// The data that was written; the last piece before an option that lets go says no longer that more is to come.
fn sent(writes: &[Write]) -> Vec<Write> {
    let mut data: Vec<Write> = Vec::new();
    for write in writes {
        match data.last_mut() {
            Some(last) if write.flags & flag::PUSH != 0 => last.flags &= !flag::MORE,
            _ if write.bytes > 0 => data.push(*write),
            _ => {}
        }
    }
    data
}

fn nodelay(trace: &Trace, sockets: &[&Socket]) -> &'static str {
    let all = |is: fn(&&Socket) -> bool| sockets.iter().copied().all(|socket| is(&socket));
    match () {
        () if sockets.is_empty() || !all(|socket| !socket.had_nodelay) => "",
        () if traces_options(trace) && all(|socket| socket.has_all_options) => "never",
        () => "not seen",
    }
}

/// Sockets of one kind: clients of one server, connections of one server, or one descriptor.
fn whose(socket: &Socket) -> (bool, Option<String>, i32) {
    let end = if socket.is_server { socket.local } else { socket.remote };
    let descriptor = if end.is_some() { 0 } else { socket.descriptor };
    (socket.is_server, end.map(|end| end.to_string()), descriptor)
}

/// The port that a capture asks for. Of a socket whose begin is unknown the lower one is mostly the server's.
fn server_port(socket: &Socket) -> Option<u16> {
    let ports = [socket.local, socket.remote].map(|end| end.map(|end| end.port()));
    match ports {
        [Some(local), Some(remote)] if !socket.is_whole => Some(local.min(remote)),
        [local, _] if socket.is_server => local,
        [_, remote] => remote,
    }
}

/// Did the program write at least twice and then read, with a last piece that may have waited?
fn is_repeated(turn: &[Write]) -> bool {
    let [before @ .., last] = turn else { return false };
    let says_more = |write: &Write| write.flags & flag::MORE != 0;
    last.bytes < FULL_BYTES && !says_more(last) && before.iter().any(|write| !says_more(write))
}

impl Repeated {
    fn new(trace: &Trace, socket: &Socket, first: &Write, last: &Write, nodelay: bool) -> Self {
        Self {
            descriptor: socket.descriptor,
            protocol: match socket.protocol {
                Protocol::Tcp => "tcp",
                Protocol::Socket => "socket",
                Protocol::Unknown => "unknown",
            },
            is_server: socket.is_server,
            local: socket.local.map(|end| end.to_string()),
            remote: socket.remote.map(|end| end.to_string()),
            port: server_port(socket),
            first: NamedCall::of(trace, first),
            last: NamedCall::of(trace, last),
            nodelay,
            is_whole: socket.is_whole,
            count: 0,
            turns: 0,
            wait_ms: None,
            linux: 0,
            windows: 0,
            waits_us: Vec::new(),
        }
    }

    fn add(&mut self, trace: &Trace, first: &Write, last: &Write) {
        // A later turn is more typical than the first.
        if self.count.is_power_of_two() {
            (self.first, self.last) = (NamedCall::of(trace, first), NamedCall::of(trace, last));
        }
        self.count += 1;
        self.waits_us.push(last.answered_us);
    }

    fn sum(&mut self, has_times: bool) {
        self.waits_us.sort_unstable();
        let within = |ms: std::ops::Range<u32>| {
            let is_in = |us: &&u32| ms.contains(&(**us / 1000));
            self.waits_us.iter().filter(is_in).count() as u64
        };
        (self.linux, self.windows) =
            if has_times { (within(35..60), within(150..250)) } else { (0, 0) };
        let median = self.waits_us.get(self.waits_us.len() / 2).filter(|_| has_times);
        self.wait_ms = median.map(|&us| f64::from(us) / 1e3);
    }
}
