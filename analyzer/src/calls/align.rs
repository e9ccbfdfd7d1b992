//! The trace's clock in the capture: pieces that left at once were written a constant time before
//! they passed the capture point. If it varies little, trace and capture are of one run.
//!
//! A first write after a read has nothing in front of it and leaves at once. Its segment begins
//! where it begins: the bytes of all writes before it are the segment's offset. Where one of the
//! two began midway, each place is tried; the right one varies least by far.

use super::line::TraceClock;
use super::sockets::{Write, flag};

/// Times vary by less where trace and capture are of one run: 0.02 to 0.07 ms were measured, 6 ms
/// of another run of the same program.
pub const MOST_SPREAD_NS: i64 = 300_000;
/// The next best place varies by so many times as much.
const CLEARLY: i64 = 3;
/// Where the clocks do not agree, nine tenths of the times vary by so much less: timers of the
/// kernel give runs of one program nearly the same rhythm. 0.01 to 0.06 ms were measured of one run
/// (0.11 with `-k`), 0.13 ms and more of others.
pub const STRICTLY: i64 = 3;
/// The time from a trace's stamp to the segment, by one host's clock or two zones', if it left at
/// once.
const AT_ONCE_NS: i64 = 5_000_000;
/// Longest such time of a segment that was held.
const HELD_NS: i64 = 1_000_000_000;
/// Zones differ by multiples of this.
const ZONE_NS: i64 = 900_000_000_000;
/// First writes that suffice to find a clock.
pub const FEW: usize = 3;
/// Writes that are looked at to find a place.
const LOOK: usize = 2048;
/// Places that are tried.
const MOST_PLACES: usize = 4096;

/// A segment of a direction, sent for the first time.
#[derive(Debug, Clone, Copy)]
pub struct SentSegment {
    pub offset: u64,
    pub time_ns: i64,
    pub len: u32,
}

/// A place at which a socket's bytes fit a direction's segments.
#[derive(Debug, Clone, Copy)]
pub struct Fit {
    pub direction: usize,
    /// Offset in the direction of the socket's first byte.
    pub shift: i64,
    /// From the call until the capture point, of pieces that left at once.
    pub delta_ns: i64,
    /// Width of the shortest range that holds half of these times.
    pub spread_ns: i64,
    /// Width of the one that holds nine tenths. strace (`-k`) may delay a call after its stamp.
    pub range_ns: i64,
    /// Were there first writes to find it by?
    pub by_first: bool,
}

/// A write, and the time from it to the capture point, if a segment begins with it.
pub type TimedWrite<'a> = (&'a Write, Option<i64>);

/// The writes that the pieces cover.
pub fn steps<'a>(
    writes: &'a [Write],
    pieces: &'a [SentSegment],
    shift: i64,
) -> impl Iterator<Item = TimedWrite<'a>> {
    let at = move |write: &Write| write.offset as i64 + shift;
    let ends = pieces.first().zip(pieces.last());
    let (begin, end) =
        ends.map_or((1, 0), |(first, last)| (first.offset as i64, last.offset as i64));
    let from = writes.partition_point(|write| at(write) < begin);
    let mut rest = pieces;
    let covered = writes[from..].iter().take_while(move |write| at(write) <= end);
    covered.filter(|write| write.bytes > 0).map(move |write| {
        let skipped = rest.partition_point(|piece| (piece.offset as i64) < at(write));
        rest = &rest[skipped..];
        let piece = rest.first().filter(|piece| piece.offset as i64 == at(write));
        (write, piece.map(|piece| piece.time_ns.saturating_sub(write.time_ns)))
    })
}

/// Offsets at which a segment begins within a write though the one before it was not full: there
/// are no such segments, unless lines are missing. `mss` is what a full one carries.
pub fn misfits(writes: &[Write], pieces: &[SentSegment], shift: i64, mss: u32) -> Vec<u64> {
    let is_cut = |pair: &&[SentSegment]| {
        let [before, piece] = pair else { return false };
        before.offset + u64::from(before.len) == piece.offset && before.len < mss / 2
    };
    let cuts = pieces.windows(2).filter(is_cut).filter_map(|pair| {
        let offset = u64::try_from(pair[1].offset as i64 - shift).ok()?;
        let behind = writes.partition_point(|write| write.offset <= offset);
        let write = writes[..behind].iter().rfind(|write| write.bytes > 0)?;
        let is_within = write.offset < offset && offset < write.offset + u64::from(write.bytes);
        is_within.then_some(offset)
    });
    cuts.collect()
}

/// Is it the first since something was read, and sent at once?
pub fn is_first(write: &Write) -> bool {
    write.flags & (flag::FIRST | flag::MORE) == flag::FIRST
}

/// The times that first writes took, the shortest first.
pub fn samples(writes: &[Write], pieces: &[SentSegment], shift: i64) -> Vec<i64> {
    let first = steps(writes, pieces, shift).filter(|(write, _)| is_first(write)).take(LOOK);
    let mut samples: Vec<i64> = first.filter_map(|(_, took_ns)| took_ns).collect();
    samples.sort_unstable();
    samples
}

/// Where writes can begin among the pieces: anywhere, or near the time at which they were written.
fn places(writes: &[Write], pieces: &[SentSegment], is_near: bool) -> Vec<i64> {
    let shift = |write: &Write, piece: &SentSegment| piece.offset as i64 - write.offset as i64;
    let fits = |write: &Write, piece: &SentSegment| {
        !is_near || (-AT_ONCE_NS..HELD_NS).contains(&piece.time_ns.saturating_sub(write.time_ns))
    };
    let data = || writes.iter().filter(|write| write.bytes > 0);
    let (Some(write), Some(piece)) = (data().next(), pieces.first()) else { return Vec::new() };
    let among_pieces = pieces.iter().filter(|piece| fits(write, piece)).take(MOST_PLACES);
    let among_writes = data().filter(|write| fits(write, piece)).take(MOST_PLACES);
    let mut all: Vec<i64> = among_pieces.map(|piece| shift(write, piece)).collect();
    all.extend(among_writes.map(|write| shift(write, piece)));
    all.sort_unstable();
    all.dedup();
    all
}

/// All fits of a socket's writes among a direction's pieces; one place, if both are whole.
pub fn fits(
    writes: &[Write],
    pieces: &[SentSegment],
    is_whole: bool,
    clock: Option<TraceClock>,
) -> Vec<Fit> {
    if is_whole {
        return fit(writes, pieces, 0).into_iter().collect();
    }
    let at = |places: Vec<i64>| {
        let fits = places.into_iter().filter_map(|shift| fit(writes, pieces, shift));
        fits.filter(|fit| fit.by_first).collect::<Vec<_>>()
    };
    let near =
        if clock == Some(TraceClock::Unix) { at(places(writes, pieces, true)) } else { Vec::new() };
    match near.iter().any(|fit| agrees(clock, fit.delta_ns)) {
        true => near,
        false => at(places(writes, pieces, false)),
    }
}

fn fit(writes: &[Write], pieces: &[SentSegment], shift: i64) -> Option<Fit> {
    let (mut first, mut others, mut missing) = (Vec::new(), Vec::new(), 0_usize);
    for (write, took_ns) in steps(writes, pieces, shift).take(LOOK) {
        match took_ns {
            Some(took_ns) if is_first(write) => first.push(took_ns),
            Some(took_ns) => others.push(took_ns),
            None => missing += usize::from(is_first(write)),
        }
        if missing > 1 + (first.len() + missing) / 10 && missing > FEW {
            return None;
        }
    }
    // A first write begins a segment, but where frames are missing.
    if 10 * missing > first.len() + missing {
        return None;
    }
    let by_first = first.len() >= FEW;
    let mut all = others;
    all.extend(&first);
    all.sort_unstable();
    first.sort_unstable();
    // Later writes may have been held: of these, only the quickest left at once.
    let (delta_ns, spread_ns) = match (by_first, all.first()) {
        (true, _) => densest(&first, 5),
        (_, Some(&least_ns)) => (least_ns, all[all.len() / 8] - least_ns),
        _ => return None,
    };
    let range_ns = if by_first { densest(&first, 9).1 } else { i64::MAX };
    let early = all.partition_point(|&ns| ns < delta_ns - spread_ns.max(MOST_SPREAD_NS));
    // Nothing leaves before it is written.
    let is_possible = 20 * early <= all.len();
    is_possible.then_some(Fit { direction: 0, shift, delta_ns, spread_ns, range_ns, by_first })
}

/// The middle and the width of the shortest range that holds so many tenths of them.
pub fn densest(sorted: &[i64], tenths: usize) -> (i64, i64) {
    let Some(&only) = sorted.first() else { return (0, i64::MAX) };
    let len = (sorted.len() * tenths).div_ceil(10);
    let ranges = sorted.windows(len).map(|range| (range[len - 1] - range[0], range[len / 2]));
    let (spread_ns, middle_ns) = ranges.min().unwrap_or((0, only));
    (middle_ns, spread_ns)
}

/// The trace's clock agrees with the capture's, in any zone: what left at once took little.
pub fn agrees(clock: Option<TraceClock>, delta_ns: i64) -> bool {
    let off_ns = match clock {
        Some(TraceClock::Unix) => delta_ns.saturating_abs(),
        Some(TraceClock::Day) => {
            let rest_ns = delta_ns.saturating_add(ZONE_NS / 2).rem_euclid(ZONE_NS);
            rest_ns.abs_diff(ZONE_NS / 2) as i64
        }
        _ => return false,
    };
    off_ns <= AT_ONCE_NS
}

/// The fit with the least spread among those with an agreeing clock; without one, among all, if no
/// other comes close. Kernels' timers give runs of one program nearly the same rhythm.
pub fn chosen(
    fits: &[Fit],
    clock: Option<TraceClock>,
    limit_ns: impl Fn(&Fit) -> i64,
) -> Option<&Fit> {
    let by_clock = fits.iter().filter(|fit| agrees(clock, fit.delta_ns));
    let by_clock = by_clock.min_by_key(|fit| (fit.range_ns, fit.spread_ns));
    if let Some(fit) = by_clock.filter(|fit| fit.spread_ns <= limit_ns(fit)) {
        return Some(fit);
    }
    let best = fits.iter().filter(|fit| fit.by_first).min_by_key(|fit| fit.range_ns)?;
    let is_other = |fit: &&Fit| (fit.direction, fit.shift) != (best.direction, best.shift);
    let least = CLEARLY * best.range_ns.max(MOST_SPREAD_NS / CLEARLY);
    let is_clear = fits.iter().filter(is_other).all(|next| next.range_ns >= least);
    (best.range_ns <= limit_ns(best) / STRICTLY && is_clear).then_some(best)
}

/// The limit for what passes the capture point `rtt_ns` away from the program.
pub fn limit_ns(rtt_ns: i64) -> i64 {
    MOST_SPREAD_NS + rtt_ns / 10
}
