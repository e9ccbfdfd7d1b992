//! When a byte was written: the writes of a trace, placed in streams and time of a capture.

use super::clock::{
    Clock, FEW, MOST_DRIFT, MOST_SPREAD_NS, Samples, agrees, densest, is_first, limit_ns, off_ns,
};
use super::directions::{CapturedDirection, Groups, directions, fill, wanted};
use super::line::TraceClock;
use super::place::{Fit, STRICTLY, TimedWrite, chosen, fits, misfits, steps};
use super::sockets::{Socket, Write, flag};
use super::trace::Trace;
use crate::capture::error::ScanError;
use crate::capture::progress::Progress;
use crate::track::Side;
use crate::track::reader::Reading;
use crate::track::tracked::Block;
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::collections::HashSet;
use std::hash::Hash;
use std::net::SocketAddr;
use std::sync::Arc;

/// Directions that one socket is compared with where no address shows which is its own.
const MOST_PAIRS: usize = 64;
/// Where clocks agree, its first piece left so soon after its first write.
const SOON_NS: std::ops::RangeInclusive<i64> = -5_000_000..=1_000_000_000;
/// A first write that takes longer than others by this is not where it seems to be.
const LATE_NS: i64 = 20_000_000;
/// Writes by which a socket has a place, if the trace is of this capture.
const MANY_WRITES: usize = 8;

/// The socket of a direction, and where its bytes are in it.
#[derive(Debug)]
struct PlacedSocket {
    socket: u32,
    shift: i64,
    /// Where not all bytes are in the trace: offsets of first writes, and whether each left when and
    /// where it should. Lines may be missing between.
    checks: Vec<(u64, bool)>,
}

/// A write, and when it was called by the capture's clock.
#[derive(Debug, Clone, Copy)]
pub struct WrittenAt<'a> {
    pub write: &'a Write,
    /// The one before it on the same socket.
    pub before: Option<&'a Write>,
    /// Writes since something was read, to the end of the segment.
    pub count: u32,
    /// When nothing more was said to come.
    pub ready_ns: i64,
    pub time_ns: i64,
    pub doubt_ns: i64,
    /// Something else than an ACK may have let it go, or nothing but a cork have held it.
    pub is_unclear: bool,
    /// No call said that it was all, when it left.
    pub says_more: bool,
}

/// All directions with known writes.
#[derive(Debug, Default)]
pub struct Written {
    pub trace: Arc<Trace>,
    placed: HashMap<(u32, u8), PlacedSocket, RandomState>,
    pub directions: Vec<CapturedDirection>,
    /// The trace's clock, if its times fit.
    pub clock: Option<Clock>,
    /// How the trace was matched: `addresses and bytes`, `addresses and times`, `sizes and times`, or
    /// empty.
    pub aligned_by: &'static str,
    /// A socket of a connection that the capture does not have.
    pub foreign: Option<usize>,
    /// Far ends, and near ports, of several connections: one of these alone does not tell whose a
    /// socket is.
    shared: (HashSet<SocketAddr>, HashSet<u16>),
}

impl Written {
    /// Reads the captures again for the segments of what the trace may have written.
    ///
    /// # Errors
    /// See a scan: the captures are read again.
    pub fn of(
        trace: &Arc<Trace>,
        blocks: &[Block],
        (paths, filter, reading): (&[String], Option<&str>, Reading),
        progress: &Arc<Progress>,
    ) -> Result<Self, ScanError> {
        let mut directions = directions(blocks);
        let groups = Groups::of(trace, &directions);
        let wanted = wanted(&groups.all, &directions);
        fill(&mut directions, &wanted, (paths, filter, reading), progress)?;
        let trace = Arc::clone(trace);
        let shared = (
            repeated(directions.iter().map(|one| one.remote)),
            repeated(directions.iter().map(|one| one.local.port())),
        );
        let foreign = groups.foreign;
        let mut written = Self { trace, directions, foreign, shared, ..Self::default() };
        written.place(&groups);
        Ok(written)
    }

    /// Places sockets by their bytes, then finds the trace's clock by all of these together, and by it
    /// the places of others.
    fn place(&mut self, groups: &Groups) {
        let trace = Arc::clone(&self.trace);
        let mut samples = Samples::default();
        let mut others = Vec::new();
        for (place, group) in &groups.all {
            let socket = &trace.sockets[*place];
            let has_all = |at: &&usize| {
                let one = &self.directions[**at];
                one.has_all_of(socket)
                    && misfits(&socket.writes, &one.pieces, 0, one.mss).is_empty()
            };
            let mut own = group.iter().take(MOST_PAIRS).filter(has_all);
            match (own.next(), own.next()) {
                (Some(&at), None) => {
                    let direction = &self.directions[at];
                    for (write, took_ns) in steps(&socket.writes, &direction.pieces, 0) {
                        samples.add(write, took_ns);
                        samples.add_begin(write, took_ns);
                    }
                    self.aligned_by = "addresses and bytes";
                    self.put(*place, at, 0, Vec::new());
                }
                _ => others.push((*place, group)),
            }
        }
        if trace.clock.is_none() {
            return;
        }
        self.clock = samples
            .clock(trace.clock, MOST_DRIFT)
            .filter(|clock| samples.all.len() >= FEW || agrees(trace.clock, clock.delta_ns));
        let each = self.directions.iter().enumerate();
        let begin =
            |(at, one): (usize, &CapturedDirection)| Some((one.pieces.first()?.time_ns, at));
        let mut begins: Vec<(i64, usize)> = each.filter_map(begin).collect();
        begins.sort_unstable();
        let mut found: Vec<(usize, Vec<Fit>)> = Vec::new();
        for (place, group) in others {
            let socket = &trace.sockets[place];
            let mut all = Vec::new();
            for at in self.likely(socket, group, &begins) {
                let direction = &self.directions[at];
                let is_whole = direction.begins_with(socket);
                let fits = fits(&socket.writes, &direction.pieces, is_whole, trace.clock);
                all.extend(fits.into_iter().map(|fit| Fit { direction: at, ..fit }));
            }
            all.sort_by_key(|fit| fit.spread_ns);
            found.push((place, all));
        }
        if self.clock.is_none() {
            self.clock = self.clock_of(&found, groups.by_address);
            if self.clock.is_some() && self.placed.is_empty() {
                self.aligned_by =
                    if groups.by_address { "addresses and times" } else { "sizes and times" };
            }
        }
        let Some(clock) = self.clock else { return };
        let mut best: Vec<(i64, i64, usize, &Fit)> = Vec::new();
        for (socket, fits) in &found {
            for fit in fits {
                let shown_ns = clock.passed_ns(fit.at_ns).saturating_sub(fit.at_ns);
                let off_ns = shown_ns.saturating_sub(fit.delta_ns).saturating_abs();
                if off_ns <= self.limit_ns(fit).max(2 * clock.doubt_ns()) {
                    best.push((fit.range_ns, off_ns, *socket, fit));
                }
            }
        }
        // One socket has one direction, and the other way round.
        best.sort_by_key(|(range_ns, off_ns, socket, _)| (*range_ns, *off_ns, *socket));
        let mut is_taken = vec![false; trace.sockets.len()];
        for (_, _, socket, fit) in best {
            if !is_taken[socket] {
                let checks = self.checks(&trace.sockets[socket].writes, fit, &clock);
                is_taken[socket] = self.put(socket, fit.direction, fit.shift, checks);
            }
        }
    }

    /// The directions that may be a socket's: of very many, those that began when it did. `begins`
    /// are the times of the first pieces of all.
    fn likely(&self, socket: &Socket, group: &[usize], begins: &[(i64, usize)]) -> Vec<usize> {
        let has_data = |at: &usize| !self.directions[*at].pieces.is_empty();
        if group.len() <= MOST_PAIRS || self.trace.clock != Some(TraceClock::Unix) {
            return group.iter().copied().filter(has_data).take(MOST_PAIRS).collect();
        }
        let began_ns = socket.writes.first().map_or(0, |write| write.time_ns);
        let from_ns = began_ns.saturating_add(*SOON_NS.start());
        let until_ns = began_ns.saturating_add(*SOON_NS.end());
        let soon = &begins[begins.partition_point(|(ns, _)| *ns < from_ns)..];
        let soon = soon.iter().take_while(|(ns, _)| *ns <= until_ns).map(|(_, at)| *at);
        soon.filter(|at| group.binary_search(at).is_ok()).take(MOST_PAIRS).collect()
    }

    /// Puts a socket at its place, unless another is there.
    fn put(&mut self, socket: usize, at: usize, shift: i64, checks: Vec<(u64, bool)>) -> bool {
        let direction = &self.directions[at];
        let key = (direction.connection, direction.side as u8);
        if self.placed.contains_key(&key) {
            return false;
        }
        self.placed.insert(key, PlacedSocket { socket: socket as u32, shift, checks });
        true
    }

    /// Offsets of first writes, and whether each left when and where it should.
    fn checks(&self, writes: &[Write], fit: &Fit, clock: &Clock) -> Vec<(u64, bool)> {
        let direction = &self.directions[fit.direction];
        let limit_ns = limit_ns(direction.rtt_ns);
        let all = steps(writes, &direction.pieces, fit.shift);
        let first: Vec<TimedWrite<'_>> = all.filter(|(write, _)| is_first(write)).collect();
        let is_right = |at: usize, took_ns: i64| {
            // strace may hold a call up, but an exchange more or less is another place.
            let own_ns = first[at].0.time_ns;
            let next = first.get(at + 1).map_or(i64::MAX, |(next, _)| next.time_ns);
            let late_ns = limit_ns.max(LATE_NS.min(next.saturating_sub(own_ns) / 2));
            let off_ns = own_ns.saturating_add(took_ns).saturating_sub(clock.passed_ns(own_ns));
            (-limit_ns..=late_ns).contains(&off_ns)
        };
        let first_writes = first.iter().enumerate().map(|(at, (write, took_ns))| {
            (write.offset, took_ns.is_some_and(|took_ns| is_right(at, took_ns)))
        });
        let misfits = misfits(writes, &direction.pieces, fit.shift, direction.mss);
        let misfits = misfits.into_iter().map(|offset| (offset, false));
        let mut checks: Vec<(u64, bool)> = first_writes.chain(misfits).collect();
        checks.sort_unstable();
        checks
    }

    fn limit_ns(&self, fit: &Fit) -> i64 {
        limit_ns(self.directions[fit.direction].rtt_ns)
    }

    /// The clock of sockets whose bytes are not all known, by the surest place of each.
    fn clock_of(&self, found: &[(usize, Vec<Fit>)], by_address: bool) -> Option<Clock> {
        let clock = self.trace.clock;
        let (mut samples, mut most_ns, mut all) = (Samples::default(), 0, Vec::new());
        for (socket, fits) in found {
            let socket = &self.trace.sockets[*socket];
            let is_sure = |fit: &&Fit| {
                let direction = &self.directions[fit.direction];
                direction.is_of(socket) && direction.begins_with(socket)
            };
            let sure = fits.iter().find(is_sure);
            if !fits.is_empty() || socket.writes.len() >= MANY_WRITES {
                let best = sure.or(fits.first()).filter(|fit| fit.by_first);
                all.push(best.map_or(i64::MAX, |fit| fit.delta_ns));
            }
            // Another program of the same clients may keep nearly the same time, though it hardly
            // writes as much, and each time before the segment leaves.
            let is_strict = |fit: &&Fit| {
                let has_all = self.directions[fit.direction].bytes == socket.bytes;
                let is_after = off_ns(clock, fit.delta_ns).is_some_and(|off_ns| off_ns >= 0);
                by_address || (has_all && is_after) || fit.range_ns <= self.limit_ns(fit) / STRICTLY
            };
            let best = sure.or_else(|| chosen(fits, clock, |fit| self.limit_ns(fit)));
            if let Some(fit) = best.filter(is_strict) {
                most_ns = most_ns.max(self.limit_ns(fit));
                let direction = &self.directions[fit.direction];
                for (write, took_ns) in steps(&socket.writes, &direction.pieces, fit.shift) {
                    samples.add(write, took_ns);
                }
            }
        }
        let found = samples.clock(clock, 0.0)?;
        // Some connections of another run may keep the rhythm, but not all.
        let all_agree = || {
            let is_near = |own_ns: &&i64| own_ns.abs_diff(found.delta_ns) <= most_ns as u64;
            4 * all.iter().filter(is_near).count() >= 3 * all.len()
        };
        let took = samples.first.iter();
        let is_few = match samples.first.len() {
            0 => samples.all.len() < MANY_WRITES,
            first => first < FEW,
        };
        let range_ns = densest(took.map(|(_, took_ns)| *took_ns).collect(), 9, false).1;
        let is_right = match agrees(clock, found.delta_ns) {
            true => !is_few || by_address,
            false => !is_few && range_ns <= most_ns / STRICTLY && all_agree(),
        };
        (is_right && found.spread_ns <= most_ns).then_some(found)
    }

    /// The place of a direction's socket in the trace.
    pub fn place_of(&self, connection: u32, side: Side) -> Option<u32> {
        Some(self.placed.get(&(connection, side as u8))?.socket)
    }

    pub fn socket(&self, connection: u32, side: Side) -> Option<&Socket> {
        Some(&self.trace.sockets[self.place_of(connection, side)? as usize])
    }

    pub fn direction(&self, connection: u32, side: Side) -> Option<&CapturedDirection> {
        let key = (connection, side as u8);
        let at = self.directions.binary_search_by_key(&key, |one| (one.connection, one.side as u8));
        Some(&self.directions[at.ok()?])
    }

    /// Directions with their sockets, where these are known.
    pub fn matched(&self) -> impl Iterator<Item = (&CapturedDirection, &Socket)> {
        let each = self.directions.iter();
        each.filter_map(|one| Some((one, self.socket(one.connection, one.side)?)))
    }

    /// The write of the first byte of a segment, which passed the capture point at `left_ns`: the
    /// segment has this offset in its direction, and this length.
    pub fn at(
        &self,
        (connection, side): (u32, Side),
        (offset, len): (u64, u32),
        left_ns: i64,
    ) -> Option<WrittenAt<'_>> {
        let placed = self.placed.get(&(connection, side as u8))?;
        let writes = &self.trace.sockets[placed.socket as usize].writes;
        let offset = u64::try_from(offset as i64 - placed.shift).ok()?;
        let after = writes.partition_point(|write| write.offset <= offset);
        let is_data = |write: &&Write| write.bytes > 0;
        let place = writes[..after].iter().rposition(|write| write.bytes > 0)?;
        let write = &writes[place];
        if offset >= write.offset + u64::from(write.bytes) || !placed.is_sure_of(offset) {
            return None;
        }
        let before = writes[..place].iter().rev().find(is_data);
        // The segment is ready with the first write, or option, after which no more is to come.
        let end = offset + u64::from(len.max(1));
        let mut own = writes[place..].iter().take_while(|write| write.offset < end);
        let ready = own.find(|write| write.flags & flag::MORE == 0);
        let is_first = |write: &Write| write.bytes > 0 && write.flags & flag::FIRST != 0;
        let first = writes[..=place].iter().rposition(is_first).unwrap_or(place);
        let turn = writes[first..].iter().take_while(|write| write.offset < end);
        let count = turn.filter(is_data).count() as u32;
        let by_bytes = WrittenAt {
            write,
            before,
            count,
            ready_ns: left_ns,
            time_ns: left_ns,
            doubt_ns: i64::MAX,
            is_unclear: true,
            says_more: false,
        };
        let Some(clock) = self.clock else { return Some(by_bytes) };
        let (time_ns, doubt_ns) = (clock.passed_ns(write.time_ns), clock.doubt_ns());
        // Nothing leaves before it is written: lines are missing, or the clock jumped.
        if time_ns > left_ns.saturating_add(doubt_ns) {
            return placed.checks.is_empty().then_some(by_bytes);
        }
        let is_push = |later: &&Write| later.flags & flag::PUSH != 0;
        let lets_go = |push: &Write| {
            let ns = clock.passed_ns(push.time_ns);
            ns.abs_diff(left_ns) <= (doubt_ns + MOST_SPREAD_NS) as u64
        };
        let until_ns = clock.written_ns(left_ns).saturating_add(doubt_ns);
        let meanwhile = writes[place + 1..].iter().take_while(|later| later.time_ns <= until_ns);
        let mut pushes = meanwhile.filter(is_push).peekable();
        let is_own = self.is_own((connection, side));
        let says_more = is_own && ready.is_none() && pushes.peek().is_none();
        let is_unclear = !is_own || ready.is_none() || pushes.any(lets_go);
        let ready_ns = ready.map_or(left_ns, |ready| clock.passed_ns(ready.time_ns));
        Some(WrittenAt { ready_ns, time_ns, doubt_ns, is_unclear, says_more, ..by_bytes })
    }

    /// Do addresses tell that this direction's socket is its own?
    fn is_own(&self, (connection, side): (u32, Side)) -> bool {
        let found = self.direction(connection, side).zip(self.socket(connection, side));
        found.is_some_and(|(direction, socket)| {
            let (remote, port) = (direction.remote, direction.local.port());
            let is_only = match (socket.local, socket.remote) {
                (None, Some(far)) => far == remote && !self.shared.0.contains(&remote),
                (Some(near), None) => near.port() == port && !self.shared.1.contains(&port),
                _ => false,
            };
            is_only || direction.is_of(socket)
        })
    }

    /// Do addresses tell whose bytes these are? Another program of the same clients may write as much
    /// at nearly the same times.
    pub fn proves(&self) -> bool {
        self.aligned_by.starts_with("addresses")
    }
}

/// Values that come more than once.
fn repeated<T: Copy + Eq + Hash>(every: impl Iterator<Item = T>) -> HashSet<T> {
    let mut seen = HashSet::new();
    every.filter(|&one| !seen.insert(one)).collect()
}

impl PlacedSocket {
    /// Did the first writes before and behind this offset leave when and where they should?
    fn is_sure_of(&self, offset: u64) -> bool {
        let behind = self.checks.partition_point(|(begin, _)| *begin <= offset);
        let is_right = |at: usize| self.checks.get(at).is_none_or(|(_, is_right)| *is_right);
        is_right(behind.wrapping_sub(1)) && is_right(behind)
    }
}
