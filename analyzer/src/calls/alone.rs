//! A trace without a capture: where a program writes twice and then reads, and how long that read
//! took. It proves nothing: which end delayed what, only packets show.

use super::rows::{NamedCall, OptionRow, bounded, missing, options, traces_options};
use super::sockets::{Protocol, Socket, Write, flag};
use super::trace::Trace;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

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
    /// A write that did not return.
    pub blocked: Option<BlockedWrite>,
    pub options: Vec<OptionRow>,
    /// Commands that find the lines of code.
    pub addr2line: Vec<String>,
    /// Was `TCP_NODELAY` set on the sockets of the patterns: `never`, `not seen`, or empty?
    pub nodelay: &'static str,
    /// Why calls may be missing.
    pub note: &'static str,
}

/// A write with which the trace ends: the other end does not read.
#[derive(Debug, Serialize)]
pub struct BlockedWrite {
    pub descriptor: i32,
    pub line: u32,
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
    /// By what the last write said that more was to come: `MSG_MORE`, `TCP_CORK`, or empty.
    pub more: &'static str,
    /// Turns of this pattern.
    pub count: u64,
    /// All turns of its sockets in which something was written before a read.
    pub turns: u64,
    /// From the last write to a read: the median, and how many took 35 to 60 ms, or 150 to 250.
    pub wait_ms: Option<f64>,
    pub linux: u64,
    pub windows: u64,
}

/// The sums of a trace.
pub fn alone(trace: &Trace) -> Alone {
    let mut kinds: BTreeMap<_, AlikeTurns<'_>> = BTreeMap::new();
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
            let (Some(&first), Some(&last)) = (turn.first(), turn.last()) else { continue };
            if last.answered_us == u32::MAX {
                continue;
            }
            *turns.entry(kind_of(socket)).or_default() += 1;
            if is_repeated(turn) {
                of_patterns.push(socket);
                let nodelay = last.flags & flag::NODELAY != 0;
                let key = (
                    kind_of(socket),
                    first.name,
                    first.stack,
                    last.name,
                    last.stack,
                    nodelay,
                    last.more(),
                );
                let new = || AlikeTurns { socket, example: [first, last], waits_us: Vec::new() };
                kinds.entry(key).or_insert_with(new).add([first, last]);
            }
        }
    }
    let pairs = kinds.keys().map(|(_, _, first, _, last, ..)| (*first, *last));
    let addr2line = trace.functions.commands(pairs);
    // Several stacks may have one name.
    let mut by_name: BTreeMap<_, AlikeTurns<'_>> = BTreeMap::new();
    for ((kind, first, first_stack, last, last_stack, nodelay, more), turns) in kinds {
        let of_first = trace.functions.names(first_stack, last_stack);
        let of_last = trace.functions.names(last_stack, first_stack);
        match by_name.entry((kind, first, of_first, last, of_last, nodelay, more)) {
            Entry::Vacant(entry) => _ = entry.insert(turns),
            Entry::Occupied(mut entry) => entry.get_mut().waits_us.extend(turns.waits_us),
        }
    }
    let each = by_name.into_iter();
    let mut patterns: Vec<Repeated> =
        each.map(|(key, kind)| kind.repeated(trace, turns[&key.0])).collect();
    // A cork holds data whatever the option says.
    patterns.sort_by_key(|kind| (kind.nodelay && kind.more.is_empty(), Reverse(kind.count)));
    patterns.truncate(MOST_PATTERNS);
    let connections: Vec<&Socket> = trace.sockets.iter().filter(has_data).collect();
    let bytes = connections.iter().map(|socket| socket.bytes).sum();
    let mut blocked = connections.iter().filter(|socket| socket.blocked > 0);
    let blocked = blocked
        .next()
        .map(|socket| BlockedWrite { descriptor: socket.descriptor, line: socket.blocked });
    Alone {
        lines: trace.lines,
        calls: trace.calls,
        has_times: trace.clock.is_some(),
        connections: connections.len(),
        bytes,
        options: options(trace),
        addr2line,
        nodelay: nodelay(trace, &of_patterns),
        note: if bytes == 0 { missing(trace) } else { bounded(trace) },
        patterns,
        blocked,
    }
}

/// The data that was written; before an option that lets go, no piece says that more is to come.
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
fn kind_of(socket: &Socket) -> (bool, Option<String>, i32) {
    let end = if socket.is_server { socket.local } else { socket.remote };
    let descriptor = if end.is_some() { 0 } else { socket.descriptor };
    (socket.is_server, end.map(|end| end.to_string()), descriptor)
}

/// The port that a capture asks for. Of a socket without a begin, mostly the lower one.
fn server_port(socket: &Socket) -> Option<u16> {
    let ports = [socket.local, socket.remote].map(|end| end.map(|end| end.port()));
    match ports {
        [Some(local), Some(remote)] if !socket.is_whole => Some(local.min(remote)),
        [local, _] if socket.is_server => local,
        [_, remote] => remote,
    }
}

/// Did the program write at least twice and then read, with a last piece that may have waited? One
/// that says more is to come waits by itself.
fn is_repeated(turn: &[Write]) -> bool {
    let [before @ .., last] = turn else { return false };
    let says_more = |write: &Write| write.flags & flag::MORE != 0;
    last.bytes < FULL_BYTES && (says_more(last) || before.iter().any(|write| !says_more(write)))
}

/// Turns alike: an example, and how long each took from its last write to a read.
struct AlikeTurns<'a> {
    socket: &'a Socket,
    /// Its first and its last write.
    example: [Write; 2],
    waits_us: Vec<u32>,
}

impl AlikeTurns<'_> {
    fn add(&mut self, turn: [Write; 2]) {
        // A later turn is more typical than the first.
        if self.waits_us.len().is_power_of_two() {
            self.example = turn;
        }
        self.waits_us.push(turn[1].answered_us);
    }

    /// `turns` is how often sockets of this kind wrote before a read at all.
    fn repeated(mut self, trace: &Trace, turns: u64) -> Repeated {
        let (socket, [first, last]) = (self.socket, &self.example);
        self.waits_us.sort_unstable();
        let has_times = trace.clock.is_some();
        let within = |ms: std::ops::Range<u32>| {
            let is_in = |us: &&u32| has_times && ms.contains(&(**us / 1000));
            self.waits_us.iter().filter(is_in).count() as u64
        };
        let median = self.waits_us.get(self.waits_us.len() / 2).filter(|_| has_times);
        Repeated {
            descriptor: socket.descriptor,
            protocol: socket.protocol.name(),
            is_server: socket.is_server,
            local: socket.local.map(|end| end.to_string()),
            remote: socket.remote.map(|end| end.to_string()),
            port: server_port(socket),
            first: NamedCall::of(trace, first, Some(last)),
            last: NamedCall::of(trace, last, Some(first)),
            nodelay: last.flags & flag::NODELAY != 0,
            is_whole: socket.is_whole,
            more: last.more(),
            count: self.waits_us.len() as u64,
            turns,
            wait_ms: median.map(|&us| f64::from(us) / 1e3),
            linux: within(35..60),
            windows: within(150..250),
        }
    }
}
