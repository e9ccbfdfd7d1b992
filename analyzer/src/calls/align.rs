//! The trace's clock in the capture: pieces that left at once were written one constant time before they passed the
//! capture point. How little that time varies proves that trace and capture are of one run.
//!
//! A first write after a read has nothing in front of it and leaves at once. Its segment begins where it begins: the
//! bytes of all writes before it are the segment's offset. Where one of the two began midway, each place is tried; the
//! right one varies least by far.

use super::line::Clock;
use super::sockets::{Socket, Write, flag};

/// Times vary by less where trace and capture are of one run: 0.02 to 0.07 ms were measured, 6 ms of another run of the
/// same program.
const MOST_SPREAD_NS: i64 = 300_000;
/// The next best place varies by so many times as much.
const CLEARLY: i64 = 3;
/// Clocks of one host, or of two zones: a trace's stamp comes within this before the segment.
const AT_ONCE_NS: i64 = 5_000_000;
/// Zones differ by multiples of this.
const ZONE_NS: i64 = 900_000_000_000;
/// Pieces that tell a clock by themselves, and those that are looked at to find a place.
const FEW: usize = 3;
const LOOK: usize = 48;
/// Places that are tried.
const MOST_PLACES: usize = 4096;

/// A segment of a direction, sent for the first time.
#[derive(Debug, Clone, Copy)]
pub struct Piece {
    pub offset: u64,
    pub time_ns: i64,
}

/// A place at which a socket's bytes fit a direction's segments.
#[derive(Debug, Clone)]
pub struct Fit {
    /// Which direction.
    pub direction: usize,
    /// Offset in the direction of the socket's first byte.
    pub shift: i64,
    /// From the call until the capture point, of pieces that left at once.
    pub delta_ns: i64,
    /// How much half of them, and nine tenths, vary. strace, above all with `-k`, may hold a call up that it has stamped.
    pub spread_ns: i64,
    pub range_ns: i64,
    /// These times.
    pub samples: Vec<i64>,
    /// Were there first writes to tell it?
    pub by_first: bool,
}

/// Where writes can begin among the pieces: `None` is the only place of what both show from the beginning.
fn places(writes: &[Write], pieces: &[Piece], is_whole: bool) -> Vec<i64> {
    if is_whole {
        return vec![0];
    }
    let shift = |write: &Write, piece: &Piece| piece.offset as i64 - write.offset as i64;
    let data = || writes.iter().filter(|write| write.bytes > 0).take(MOST_PLACES);
    let mut all: Vec<i64> = vec![0];
    if let Some(first) = data().next() {
        all.extend(pieces.iter().take(MOST_PLACES).map(|piece| shift(first, piece)));
    }
    if let Some(first) = pieces.first() {
        all.extend(data().map(|write| shift(write, first)));
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// All fits of a socket among the pieces of a direction.
pub fn fits(socket: &Socket, direction: usize, pieces: &[Piece], is_whole: bool) -> Vec<Fit> {
    let all = places(&socket.writes, pieces, is_whole).into_iter();
    let all = all.filter(|&shift| is_whole || looks_right(&socket.writes, pieces, shift));
    let fits = all.filter_map(|shift| fit(&socket.writes, pieces, shift));
    fits.map(|fit| Fit { direction, ..fit }).collect()
}

/// Pieces that begin where a write begins, with that write.
fn begun<'a>(
    writes: &'a [Write],
    pieces: &'a [Piece],
    shift: i64,
) -> impl Iterator<Item = (&'a Piece, Option<&'a Write>)> {
    let mut rest = writes.iter().filter(|write| write.bytes > 0).peekable();
    let end = writes.last().map_or(0, |last| last.offset + u64::from(last.bytes));
    let within = move |piece: &&Piece| (0..end as i64).contains(&(piece.offset as i64 - shift));
    pieces.iter().filter(within).map(move |piece| {
        let offset = (piece.offset as i64 - shift) as u64;
        while rest.next_if(|write| write.offset + u64::from(write.bytes) <= offset).is_some() {}
        (piece, rest.peek().copied().filter(|write| write.offset == offset))
    })
}

/// Do the first segments begin where writes begin?
fn looks_right(writes: &[Write], pieces: &[Piece], shift: i64) -> bool {
    let first = writes.first().map_or(0, |write| write.offset as i64 + shift);
    let from = pieces.partition_point(|piece| (piece.offset as i64) < first);
    let some = &pieces[from..pieces.len().min(from + LOOK)];
    let begin = writes.partition_point(|write| {
        some.first().is_some_and(|piece| {
            (write.offset as i64 + shift + i64::from(write.bytes)) <= piece.offset as i64
        })
    });
    let some_writes = &writes[begin..writes.len().min(begin + 4 * LOOK)];
    let (mut all, mut at_begin) = (0, 0);
    for (_, write) in begun(some_writes, some, shift) {
        all += 1;
        at_begin += usize::from(write.is_some());
    }
    all > 0 && 2 * at_begin >= all
}

fn fit(writes: &[Write], pieces: &[Piece], shift: i64) -> Option<Fit> {
    let (mut all, mut first, mut seen) = (Vec::new(), Vec::new(), 0_usize);
    for (piece, write) in begun(writes, pieces, shift) {
        seen += 1;
        let Some(write) = write else { continue };
        let ns = piece.time_ns.saturating_sub(write.time_ns);
        all.push(ns);
        if write.flags & (flag::FIRST | flag::MORE) == flag::FIRST {
            first.push(ns);
        }
    }
    if all.is_empty() || 3 * all.len() < seen {
        return None;
    }
    let by_first = first.len() >= FEW;
    all.sort_unstable();
    first.sort_unstable();
    // What was not written first may have been held: of such, only the quickest left at once.
    let (delta_ns, spread_ns, range_ns) = if by_first {
        let (delta_ns, spread_ns) = densest(&first, 5);
        (delta_ns, spread_ns, densest(&first, 9).1)
    } else {
        (all[0], all[all.len() / 8] - all[0], i64::MAX)
    };
    let early = all.partition_point(|&ns| ns < delta_ns - spread_ns.max(MOST_SPREAD_NS));
    // Nothing leaves before it is written.
    let is_possible = 20 * early <= all.len();
    let samples = if by_first || all.len() < FEW { first.clone() } else { all };
    is_possible.then_some(Fit {
        direction: 0,
        shift,
        delta_ns,
        spread_ns,
        range_ns,
        samples,
        by_first,
    })
}

/// The middle and the width of the shortest range that holds so many tenths of them.
pub fn densest(sorted: &[i64], tenths: usize) -> (i64, i64) {
    let Some(&only) = sorted.first() else { return (0, i64::MAX) };
    let len = (sorted.len() * tenths).div_ceil(10);
    let ranges = sorted.windows(len).map(|range| (range[len - 1] - range[0], range[len / 2]));
    let (spread_ns, middle_ns) = ranges.min().unwrap_or((0, only));
    (middle_ns, spread_ns)
}

/// How far a clock is from one that agrees with the capture's, in another zone or not.
fn off_ns(clock: Clock, delta_ns: i64) -> Option<i64> {
    match clock {
        Clock::Relative => None,
        Clock::Unix => Some(delta_ns.abs()),
        Clock::Day => {
            Some((delta_ns + ZONE_NS / 2).rem_euclid(ZONE_NS).abs_diff(ZONE_NS / 2) as i64)
        }
    }
}

/// Does a clock that agrees with the capture's say so little?
pub fn agrees(clock: Option<Clock>, delta_ns: i64) -> bool {
    let off_ns = clock.and_then(|clock| off_ns(clock, delta_ns));
    off_ns.is_some_and(|off_ns| off_ns <= AT_ONCE_NS)
}

/// The fit that varies least: of those whose clock agrees, or, if no other comes near it, of all. Kernels' timers give
/// runs of one program nearly the same rhythm.
pub fn chosen(fits: &[Fit], clock: Option<Clock>, limit_ns: impl Fn(&Fit) -> i64) -> Option<&Fit> {
    let by_clock = fits.iter().filter(|fit| agrees(clock, fit.delta_ns));
    let by_clock = by_clock.min_by_key(|fit| (fit.range_ns, fit.spread_ns));
    if let Some(fit) = by_clock.filter(|fit| fit.spread_ns <= limit_ns(fit)) {
        return Some(fit);
    }
    let best = fits.iter().filter(|fit| fit.by_first).min_by_key(|fit| fit.range_ns)?;
    let is_other = |fit: &&Fit| (fit.direction, fit.shift) != (best.direction, best.shift);
    let least = CLEARLY * best.range_ns.max(MOST_SPREAD_NS / CLEARLY);
    let is_clear = fits.iter().filter(is_other).all(|next| next.range_ns >= least);
    (best.range_ns <= limit_ns(best) / 2 && is_clear).then_some(best)
}

/// The limit for what passes the capture point `rtt_ns` away from the program.
pub fn limit_ns(rtt_ns: i64) -> i64 {
    MOST_SPREAD_NS + rtt_ns / 10
}
