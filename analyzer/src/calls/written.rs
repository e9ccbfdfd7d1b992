//! When a byte was written: the writes of a trace, placed in streams and time of a capture.

use super::align::{
    FEW, Fit, MOST_SPREAD_NS, STRICTLY, TimedWrite, agrees, chosen, densest, fits, is_first,
    limit_ns, misfits, samples as samples_of, steps,
};
use super::directions::{Candidates, CapturedDirection, directions, fill, groups, wanted};
use super::line::TraceClock;
use super::sockets::{Socket, Write, flag};
use super::trace::Trace;
use crate::capture::error::ScanError;
use crate::capture::progress::Progress;
use crate::track::Side;
use crate::track::reader::Reading;
use crate::track::tracked::Block;
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::sync::Arc;

/// Directions that one socket is compared with where no address shows which is its own.
const MOST_PAIRS: usize = 64;
/// Where clocks agree, its first piece left so soon after its first write.
const SOON_NS: std::ops::RangeInclusive<i64> = -5_000_000..=1_000_000_000;
/// A first write that takes longer than others by this is not where it seems to be.
const LATE_NS: i64 = 20_000_000;
/// Writes by which a socket has a place, if the trace is of this capture.
const MANY_WRITES: usize = 8;
/// Times of one call vary by so much at least.
const LEAST_DOUBT_NS: i64 = 50_000;

/// The socket of a direction, and where its bytes are in it.
#[derive(Debug)]
struct PlacedSocket {
    socket: u32,
    shift: i64,
    delta_ns: i64,
    /// `None` without a clock: then the bytes alone are known.
    doubt_ns: Option<i64>,
    /// Offsets of first writes, and whether each left when and where it should: lines may be
    /// missing between.
    anchors: Vec<(u64, bool)>,
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
}

/// All directions with known writes.
#[derive(Debug, Default)]
pub struct Written {
    pub trace: Arc<Trace>,
    placed: HashMap<(u32, u8), PlacedSocket, RandomState>,
    pub directions: Vec<CapturedDirection>,
    pub spread_ns: Option<i64>,
    /// How the trace was matched: `addresses and times`, `sizes and times`, `addresses and sizes`, or
    /// empty.
    pub aligned_by: &'static str,
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
        let (groups, by_address) = groups(trace, &directions);
        let wanted = wanted(&groups, &directions);
        fill(&mut directions, &wanted, (paths, filter, reading), progress)?;
        let mut written = Self { trace: Arc::clone(trace), directions, ..Self::default() };
        written.place(&groups, by_address);
        Ok(written)
    }

    /// Finds the trace's clock by all sockets together, then the place of each.
    fn place(&mut self, groups: &[Candidates], by_address: bool) {
        let trace = Arc::clone(&self.trace);
        let each = self.directions.iter().enumerate();
        let begin =
            |(at, one): (usize, &CapturedDirection)| Some((one.pieces.first()?.time_ns, at));
        let mut begins: Vec<(i64, usize)> = each.filter_map(begin).collect();
        begins.sort_unstable();
        let mut found: Vec<(usize, Vec<Fit>)> = Vec::new();
        for (place, group) in groups {
            let socket = &trace.sockets[*place];
            let mut all = Vec::new();
            for at in self.likely(socket, group, &begins) {
                let direction = &self.directions[at];
                let is_whole = direction.is_whole_with(socket);
                let fits = fits(&socket.writes, &direction.pieces, is_whole, trace.clock);
                all.extend(fits.into_iter().map(|fit| Fit { direction: at, ..fit }));
            }
            all.sort_by_key(|fit| fit.spread_ns);
            found.push((*place, all));
        }
        if trace.clock.is_none() {
            return self.place_by_bytes(&found, by_address);
        }
        let Some((delta_ns, spread_ns)) = self.clock(&found, by_address) else { return };
        let doubt_ns = spread_ns.max(LEAST_DOUBT_NS);
        self.spread_ns = Some(spread_ns);
        self.aligned_by = if by_address { "addresses and times" } else { "sizes and times" };
        let mut best: Vec<(i64, i64, usize, &Fit)> = Vec::new();
        for (socket, fits) in &found {
            for fit in fits {
                let off_ns = (fit.delta_ns - delta_ns).abs();
                if off_ns <= self.limit_ns(fit).max(2 * doubt_ns) {
                    best.push((fit.range_ns, off_ns, *socket, fit));
                }
            }
        }
        // One socket has one direction, and the other way round.
        best.sort_by_key(|(range_ns, off_ns, socket, _)| (*range_ns, *off_ns, *socket));
        let mut is_taken = vec![false; trace.sockets.len()];
        for (_, _, socket, fit) in best {
            if !is_taken[socket] {
                is_taken[socket] = self.put(socket, fit, delta_ns, Some(doubt_ns));
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
    fn put(&mut self, socket: usize, fit: &Fit, delta_ns: i64, doubt_ns: Option<i64>) -> bool {
        let direction = &self.directions[fit.direction];
        let key = (direction.connection, direction.side as u8);
        if self.placed.contains_key(&key) {
            return false;
        }
        let limit_ns = limit_ns(direction.rtt_ns);
        let writes = &self.trace.sockets[socket].writes;
        let all = steps(writes, &direction.pieces, fit.shift);
        let first: Vec<TimedWrite<'_>> = all.filter(|(write, _)| is_first(write)).collect();
        let is_right = |at: usize, took_ns: i64| {
            // strace may hold a call up, but an exchange more or less is another place.
            let next = first.get(at + 1).map_or(i64::MAX, |(next, _)| next.time_ns);
            let between_ns = next.saturating_sub(first[at].0.time_ns);
            let late_ns = limit_ns.max(LATE_NS.min(between_ns / 2));
            doubt_ns.is_none() || (-limit_ns..=late_ns).contains(&(took_ns - delta_ns))
        };
        let first_writes = first.iter().enumerate().map(|(at, (write, took_ns))| {
            (write.offset, took_ns.is_some_and(|took_ns| is_right(at, took_ns)))
        });
        let misfits = misfits(writes, &direction.pieces, fit.shift, direction.mss);
        let misfits = misfits.into_iter().map(|offset| (offset, false));
        let mut anchors: Vec<(u64, bool)> = first_writes.chain(misfits).collect();
        anchors.sort_unstable();
        let placed =
            PlacedSocket { socket: socket as u32, shift: fit.shift, delta_ns, doubt_ns, anchors };
        self.placed.insert(key, placed);
        true
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
                let direction = &self.directions[fit.direction];
                samples.extend(samples_of(&socket.writes, &direction.pieces, fit.shift));
            }
        }
        samples.sort_unstable();
        let (delta_ns, spread_ns) = densest(&samples, 5);
        // Some connections of another run may keep the rhythm, but not all.
        let all_agree = |delta_ns: i64| {
            let near =
                all.iter().filter(|own_ns| own_ns.abs_diff(delta_ns) <= most_ns as u64).count();
            4 * near >= 3 * all.len()
        };
        let is_right = match agrees(clock, delta_ns) {
            true => samples.len() >= FEW || by_address,
            false => {
                samples.len() >= FEW
                    && densest(&samples, 9).1 <= most_ns / STRICTLY
                    && all_agree(delta_ns)
            }
        };
        (is_right && spread_ns <= most_ns).then_some((delta_ns, spread_ns))
    }

    /// Without times: only what both show from the beginning to the end, by addresses.
    fn place_by_bytes(&mut self, found: &[(usize, Vec<Fit>)], by_address: bool) {
        for (place, fits) in found.iter().filter(|_| by_address) {
            let socket = &self.trace.sockets[*place];
            let (Some(fit), 1) = (fits.first(), fits.len()) else { continue };
            let direction = &self.directions[fit.direction];
            if direction.is_whole_with(socket) && direction.bytes == socket.bytes {
                self.put(*place, fit, 0, None);
                self.aligned_by = "addresses and sizes";
            }
        }
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
        let (ready_ns, time_ns) = (left_ns, left_ns);
        let by_bytes = WrittenAt {
            write,
            before,
            count,
            ready_ns,
            time_ns,
            doubt_ns: i64::MAX,
            is_unclear: true,
        };
        let Some(doubt_ns) = placed.doubt_ns else { return Some(by_bytes) };
        let time_ns = write.time_ns.saturating_add(placed.delta_ns);
        // Nothing leaves before it is written: lines are missing.
        if time_ns > left_ns.saturating_add(doubt_ns) {
            return None;
        }
        let is_push = |later: &&Write| later.flags & flag::PUSH != 0;
        let lets_go = |push: &Write| {
            let ns = push.time_ns.saturating_add(placed.delta_ns);
            ns.abs_diff(left_ns) <= (doubt_ns + MOST_SPREAD_NS) as u64
        };
        let until_ns = left_ns.saturating_sub(placed.delta_ns).saturating_add(doubt_ns);
        let meanwhile = writes[place + 1..].iter().take_while(|later| later.time_ns <= until_ns);
        let is_unclear = ready.is_none() || meanwhile.filter(is_push).any(lets_go);
        let ready_ns = ready.map_or(left_ns, |ready| ready.time_ns.saturating_add(placed.delta_ns));
        Some(WrittenAt { ready_ns, time_ns, doubt_ns, is_unclear, ..by_bytes })
    }
}

impl PlacedSocket {
    /// Did the first writes before and behind this offset leave when and where they should?
    fn is_sure_of(&self, offset: u64) -> bool {
        let behind = self.anchors.partition_point(|(begin, _)| *begin <= offset);
        let is_right = |at: usize| self.anchors.get(at).is_none_or(|(_, is_right)| *is_right);
        is_right(behind.wrapping_sub(1)) && is_right(behind)
    }
}
