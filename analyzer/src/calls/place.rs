//! Where a socket's bytes are in a direction of the capture, and by which clock.
//!
//! Bytes are the ground truth: where both begin with a SYN, or have the same number of bytes, the
//! place of each is certain. Else places are tried: a first write after a read has nothing in front
//! of it and leaves at once, a constant time before its segment passes the capture point. At the
//! right place that time varies least by far.

use super::clock::{FEW, MOST_SPREAD_NS, Samples, agrees, densest, is_first};
use super::line::TraceClock;
use super::sockets::Write;

/// The next best place varies by so many times as much.
const CLEARLY: i64 = 3;
/// Where the clocks do not agree, nine tenths of the times vary by so much less: timers of the
/// kernel give runs of one program nearly the same rhythm. 0.01 to 0.06 ms were measured of one run
/// (0.11 with `-k`), 0.13 ms and more of others.
pub const STRICTLY: i64 = 3;
/// The time from a trace's stamp to the segment: at least, by clocks that agree, and of a segment
/// that was held, at most.
const SOONEST_NS: i64 = 5_000_000;
const HELD_NS: i64 = 1_000_000_000;
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
    /// When its first bytes were written, by the trace's clock.
    pub at_ns: i64,
    /// From the call until the capture point, of pieces that left at once.
    pub delta_ns: i64,
    /// Width of the shortest range that holds half of these times.
    pub spread_ns: i64,
    /// Width of the one that holds nine tenths, or three where held ones are among them. strace (`-k`)
    /// may delay a call after its stamp.
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

/// Where writes can begin among the pieces: anywhere, or near the time at which they were written.
fn places(writes: &[Write], pieces: &[SentSegment], is_near: bool) -> Vec<i64> {
    let shift = |write: &Write, piece: &SentSegment| piece.offset as i64 - write.offset as i64;
    let fits = |write: &Write, piece: &SentSegment| {
        !is_near || (-SOONEST_NS..HELD_NS).contains(&piece.time_ns.saturating_sub(write.time_ns))
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

/// All fits of a socket's writes among a direction's pieces; one place, if both begin with the same
/// byte.
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
    let (mut samples, mut missing) = (Samples::default(), 0_usize);
    for (write, took_ns) in steps(writes, pieces, shift).take(LOOK) {
        samples.add(write, took_ns);
        missing += usize::from(is_first(write) && took_ns.is_none());
        if missing > 1 + (samples.first.len() + missing) / 10 && missing > FEW {
            return None;
        }
    }
    // A first write begins a segment, but where frames are missing.
    if 10 * missing > samples.first.len() + missing {
        return None;
    }
    let by_first = samples.first.len() >= FEW;
    let (timed, tenths) = if by_first { (&samples.first, 9) } else { (&samples.all, 3) };
    let range_ns =
        densest(timed.iter().map(|(_, took_ns)| *took_ns).collect(), tenths, !by_first).1;
    let clock = samples.clock(None, 0.0)?;
    let (delta_ns, spread_ns) = (clock.delta_ns, clock.spread_ns);
    let at_ns = samples.all.first().map_or(0, |(written_ns, _)| *written_ns);
    Some(Fit { direction: 0, shift, at_ns, delta_ns, spread_ns, range_ns, by_first })
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
