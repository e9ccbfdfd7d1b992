//! The system calls behind the stalls: which call wrote each held segment, and when.

use crate::calls::directions::CapturedDirection;
use crate::calls::rows::{NamedCall, OptionRow, bounded, missing, options, traces_options};
use crate::calls::sockets::{Protocol, Socket, Write, flag};
use crate::calls::trace::Trace;
use crate::calls::written::Written;
use crate::judge::findings::Finding;
use crate::judge::model::Proof;
use crate::judge::words::evidence::ms;
use crate::result::connections::JudgedConnections;
use crate::result::in_ms::in_ms;
use crate::track::Side;
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

/// Kinds of stalls that the report names.
const MOST_KINDS: usize = 20;

/// The calls of all stalls, and of waits that were none.
#[derive(Debug, Clone)]
pub struct StallCalls {
    trace: Arc<Trace>,
    /// By connection and frame.
    rows: Vec<CallRow>,
    pub summary: CallsSummary,
}

/// The call that wrote the first byte of a segment.
#[derive(Debug, Clone, Copy)]
pub struct CallRow {
    key: (u32, u32),
    side: Side,
    write: Write,
    before: Option<Write>,
    count: u32,
    pub written_ns: i64,
    pub hold_ns: i64,
    pub proof: Proof,
}

/// The sums, as JSON has them.
#[derive(Debug, Clone, Default, Serialize)]
pub struct CallsSummary {
    /// The side that was traced: `client`, `server`, `both`, or empty where the calls fit nothing.
    pub side: &'static str,
    /// Stalls whose call was found, and waits that were none.
    pub matched: u64,
    /// Stalls whose bytes were written before the ACK, and sent only then.
    pub proven: u64,
    /// Waits whose bytes were written when the ACK had come.
    pub refuted: u64,
    /// Waits for more, as a call said that more was to come.
    pub corked: u64,
    /// Stalls on these connections whose sender was not traced, and one that held most.
    pub of_other_side: u64,
    pub untraced: Option<Sender>,
    /// Stalls that are proven while TCP_NODELAY was set.
    pub contradicted: u64,
    pub hold_min_ms: f64,
    pub hold_max_ms: f64,
    pub bytes_in_trace: u64,
    pub bytes_on_wire: u64,
    pub aligned_by: &'static str,
    /// How much the time from a call to the wire varies, of what left at once.
    pub spread_ms: Option<f64>,
    /// Was TCP_NODELAY set on the sockets that stalled: `never`, `not seen`, `late`, `taken back`,
    /// `set`, or empty.
    pub nodelay: &'static str,
    /// Number of stalls, and of waits for more, for which that is true.
    pub nodelay_stalls: u64,
    /// Stalls that the same two calls made.
    pub patterns: Vec<Pattern>,
    /// Calls that set `TCP_NODELAY`, `TCP_CORK` or `TCP_QUICKACK`.
    pub options: Vec<OptionRow>,
    /// Commands that find the lines of code.
    pub addr2line: Vec<String>,
    /// Why nothing, or not all, was found.
    pub note: String,
}

/// A side of a connection.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Sender {
    pub connection: u32,
    pub sender: &'static str,
}

/// Stalls that the same two calls made.
#[derive(Debug, Clone, Serialize)]
pub struct Pattern {
    /// One of their connections.
    pub connection: u32,
    pub sender: &'static str,
    pub stalls: u64,
    pub first: Option<NamedCall>,
    pub held: NamedCall,
    /// Calls that wrote the message, to the end of what was held.
    pub calls: u32,
    /// Was something read between the two?
    pub is_read_between: bool,
    /// By what the held one said that more was to come: `MSG_MORE`, `TCP_CORK`, or empty.
    pub more: &'static str,
}

/// The system call that wrote a held segment.
#[derive(Debug, Serialize)]
pub struct StallCall {
    #[serde(flatten)]
    pub call: NamedCall,
    /// Time of the call by the capture's clock.
    pub written_ns: Option<i64>,
    /// Time until the segment left.
    #[serde(rename = "hold_ms", serialize_with = "in_ms")]
    pub hold_ns: Option<i64>,
    /// `proven`, or empty.
    pub proof: &'static str,
}

impl CallRow {
    pub fn named(&self, calls: &StallCalls) -> StallCall {
        let has_time = calls.trace.clock.is_some();
        StallCall {
            call: NamedCall::of(&calls.trace, &self.write, self.before.as_ref()),
            written_ns: has_time.then_some(self.written_ns),
            hold_ns: has_time.then_some(self.hold_ns),
            proof: self.proof.name(),
        }
    }
}

impl StallCalls {
    /// Looks for the calls of all findings on `connections`.
    pub fn of(connections: &JudgedConnections, written: &Written) -> Self {
        let mut rows = Vec::new();
        for (direction, _) in written.matched() {
            let index = connections.index_of(direction.connection);
            let own = index.into_iter().flat_map(|index| connections.findings_of(index).iter());
            let own = own.filter(|row| row.wait.by == direction.side);
            rows.extend(own.filter_map(|row| CallRow::of(row, direction, written)));
        }
        rows.sort_unstable_by_key(|row| row.key);
        let mut calls =
            Self { trace: Arc::clone(&written.trace), rows, summary: CallsSummary::default() };
        calls.summary = calls.summed(connections, written);
        calls
    }

    /// Without names of functions and files, which may tell whose program it is.
    pub fn anonymized(&self) -> Self {
        let trace = Trace { clock: self.trace.clock, ..Trace::default() };
        let mut calls = Self { trace: Arc::new(trace), ..self.clone() };
        for pattern in &mut calls.summary.patterns {
            for call in pattern.first.iter_mut().chain([&mut pattern.held]) {
                call.anonymize();
            }
        }
        calls.summary.options.iter_mut().for_each(|option| option.function.clear());
        calls.summary.addr2line.clear();
        calls
    }

    /// The call of the wait that this frame ended.
    pub fn row(&self, connection: u32, frame: u32) -> Option<&CallRow> {
        let at = self.rows.binary_search_by_key(&(connection, frame), |row| row.key).ok()?;
        Some(&self.rows[at])
    }

    fn held(&self) -> impl Iterator<Item = &CallRow> {
        self.rows.iter().filter(|row| row.proof != Proof::Refuted)
    }

    fn summed(&self, connections: &JudgedConnections, written: &Written) -> CallsSummary {
        let count = |proof: Proof| self.rows.iter().filter(|row| row.proof == proof).count() as u64;
        let proven = || self.rows.iter().filter(|row| row.proof == Proof::Proven);
        let holds = || proven().map(|row| row.hold_ns);
        let sides = Side::BOTH.map(|side| written.matched().any(|(one, _)| one.side == side));
        let sum = |bytes: fn((&CapturedDirection, &Socket)) -> u64| {
            written.matched().map(bytes).fold(0, u64::saturating_add)
        };
        let (nodelay, nodelay_stalls) = self.nodelay(written);
        let (of_other_side, untraced) = of_other_side(connections, written);
        let mut summary = CallsSummary {
            side: match sides {
                [true, true] => "both",
                [true, false] => "client",
                [false, true] => "server",
                _ => "",
            },
            matched: self.rows.len() as u64,
            proven: count(Proof::Proven),
            refuted: count(Proof::Refuted),
            corked: count(Proof::Corked),
            of_other_side,
            untraced,
            contradicted: proven().filter(|row| row.write.flags & flag::NODELAY != 0).count()
                as u64,
            hold_min_ms: ms(holds().min().unwrap_or(0)),
            hold_max_ms: ms(holds().max().unwrap_or(0)),
            bytes_in_trace: sum(|(_, socket)| socket.bytes),
            bytes_on_wire: sum(|(direction, _)| direction.bytes),
            aligned_by: written.aligned_by,
            spread_ms: written.clock.map(|clock| ms(clock.spread_ns)),
            nodelay,
            nodelay_stalls,
            patterns: self.patterns(written),
            options: options(&self.trace),
            addr2line: self.trace.functions.commands(self.held().map(|row| {
                (row.write.stack, row.before.as_ref().map_or(0, |before| before.stack))
            })),
            note: String::new(),
        };
        summary.note = note(&summary, written);
        summary
    }

    /// Was the option set on the sockets that stalled, for all that the trace can show, and when? And of
    /// how many stalls is that true?
    fn nodelay(&self, written: &Written) -> (&'static str, u64) {
        let mut counts: Vec<(&'static str, u64)> = Vec::new();
        for row in self.held() {
            let state = self.nodelay_at(row, written);
            match counts.iter_mut().find(|(known, _)| *known == state) {
                Some((_, count)) => *count += 1,
                None => counts.push((state, 1)),
            }
        }
        // Where it was never set, all must show that.
        let most = counts.into_iter().max_by_key(|(state, count)| (*state != "never", *count));
        most.unwrap_or_default()
    }

    fn nodelay_at(&self, row: &CallRow, written: &Written) -> &'static str {
        let ends = written.direction(row.key.0, row.side);
        let Some((direction, socket)) = ends.zip(written.socket(row.key.0, row.side)) else {
            return "not seen";
        };
        let is_known = || {
            traces_options(&self.trace)
                && socket.has_all_options
                && socket.is_whole
                && socket.bytes >= direction.bytes
        };
        match () {
            () if row.write.flags & flag::NODELAY != 0 => "set",
            () if socket.had_nodelay && self.was_set_before(row, written) => "taken back",
            () if socket.had_nodelay => "late",
            () if is_known() => "never",
            () => "not seen",
        }
    }

    /// On this socket, or on the listener that gave it.
    fn was_set_before(&self, row: &CallRow, written: &Written) -> bool {
        let Some(place) = written.place_of(row.key.0, row.side) else { return false };
        let mut own = self.trace.options.iter().filter(|option| option.socket == Some(place));
        own.find(|option| option.name == "TCP_NODELAY")
            .is_none_or(|first| first.value == 0 || first.line < row.write.line)
    }

    fn patterns(&self, written: &Written) -> Vec<Pattern> {
        let mut kinds: BTreeMap<_, Pattern> = BTreeMap::new();
        for row in self.held() {
            let named = |write, beside| NamedCall::of(&self.trace, write, beside);
            let held = named(&row.write, row.before.as_ref());
            let first = row.before.as_ref().map(|before| named(before, Some(&row.write)));
            let is_read_between = row.write.flags & flag::FIRST != 0;
            let named = |call: &NamedCall| (call.name, call.function.clone(), call.caller.clone());
            let server = written.direction(row.key.0, row.side).map(|one| match one.side {
                Side::Server => one.local,
                Side::Client => one.remote,
            });
            let key = (
                (row.side as u8, server),
                first.as_ref().map(named),
                named(&held),
                is_read_between,
                row.count,
                row.proof == Proof::Corked,
            );
            let more = if row.proof == Proof::Corked { row.write.more() } else { "" };
            let sender = row.side.name();
            let new = Pattern {
                connection: row.key.0,
                sender,
                stalls: 0,
                first,
                held,
                calls: row.count,
                is_read_between,
                more,
            };
            kinds.entry(key).or_insert(new).stalls += 1;
        }
        let mut patterns: Vec<Pattern> = kinds.into_values().collect();
        patterns.sort_by_key(|pattern| std::cmp::Reverse(pattern.stalls));
        patterns.truncate(MOST_KINDS);
        patterns
    }
}

impl CallRow {
    fn of(row: Finding<'_>, direction: &CapturedDirection, written: &Written) -> Option<Self> {
        if !row.is_stall() && row.held.proof == Proof::None {
            return None;
        }
        let wait = row.wait;
        let call = written.at(
            (direction.connection, direction.side),
            (wait.rel_seq, wait.len),
            wait.to.time_ns,
        )?;
        Some(Self {
            key: (direction.connection, wait.to.frame),
            side: direction.side,
            write: *call.write,
            before: call.before.copied(),
            count: call.count,
            written_ns: call.time_ns,
            hold_ns: wait.to.time_ns - call.time_ns,
            proof: row.held.proof,
        })
    }
}

/// Stalls on the same connections that untraced senders held: their number, and one of the senders
/// that held most.
fn of_other_side(connections: &JudgedConnections, written: &Written) -> (u64, Option<Sender>) {
    let stalls = |(one, _): (&CapturedDirection, _)| {
        let (connection, other) = (one.connection, one.side.other());
        let index = connections.index_of(connection)?;
        written.socket(connection, other).is_none().then_some(())?;
        let own = connections.findings_of(index).stalls().filter(|stall| stall.wait.by == other);
        Some((own.count() as u64, Sender { connection, sender: other.name() }))
    };
    let counts: Vec<_> = written.matched().filter_map(stalls).filter(|one| one.0 > 0).collect();
    let sum = counts.iter().map(|(count, _)| count).sum();
    (sum, counts.into_iter().max_by_key(|(count, _)| *count).map(|(_, sender)| sender))
}

/// The trace's connections are others, between hosts that the capture has.
fn foreign(socket: &Socket, written: &Written) -> String {
    let port =
        |end: Option<SocketAddr>| end.map_or_else(|| "?".to_owned(), |end| end.port().to_string());
    let mut servers: Vec<u16> = written
        .directions
        .iter()
        .filter(|one| one.side == Side::Server)
        .map(|one| one.local.port())
        .collect();
    servers.sort_unstable();
    servers.dedup();
    let shown: Vec<String> = servers.iter().take(3).map(u16::to_string).collect();
    format!(
        "the trace is of other connections, on the same hosts: between ports {} and {}, and the servers of the capture have port {}: trace the program of these",
        port(socket.local),
        port(socket.remote),
        shown.join(", ")
    )
}

fn note(summary: &CallsSummary, written: &Written) -> String {
    let trace = &written.trace;
    if summary.side.is_empty() {
        let connections =
            || trace.sockets.iter().filter(|socket| socket.protocol > Protocol::Unknown);
        let has_data = connections().any(|socket| socket.bytes > 0)
            || (connections().next().is_none()
                && trace.sockets.iter().any(|socket| socket.bytes > 0));
        if let Some(socket) = written.foreign.map(|place| &trace.sockets[place]) {
            return foreign(socket, written);
        }
        return if !has_data {
            missing(trace)
        } else if trace.clock.is_none() {
            "the trace has no times finer than a second (strace -ttt), and its addresses are not in the capture"
        } else if trace.options.iter().any(|option| option.name == "TCP_CORK" && option.value != 0)
        {
            "the program corks its sockets, so that no write leaves at once and tells the clock of the trace"
        } else {
            "the trace does not fit the capture: it is of another run or of another program, or calls are missing; trace and capture the same minutes with the command that `nagle-scan --calls` prints"
        }
        .into();
    }
    if written
        .matched()
        .any(|(direction, socket)| socket.is_whole && socket.bytes < direction.bytes)
    {
        return missing(trace).into();
    }
    if !bounded(trace).is_empty() {
        return bounded(trace).into();
    }
    if !written.proves() {
        "no address of the trace is in the capture: sizes and times alone tell which call is whose, so that nothing is proven"
    } else if trace.clock.is_none() {
        "the trace has no times finer than a second (strace -ttt): nothing is proven"
    } else if written.clock.is_none() {
        "bytes tell which call wrote what, but the trace's times do not fit the capture: nothing is proven"
    } else {
        ""
    }
    .into()
}
