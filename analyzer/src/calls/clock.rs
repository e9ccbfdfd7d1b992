//! The clock of a trace, by that of the capture.
//!
//! Nothing leaves before it is written, and much leaves at once: of the times from a call to the
//! capture point the least are the clock's own, the longer ones holds. Clocks drift apart, and
//! strace may stamp a call some time before the kernel has it; how much the least times vary is
//! what the clock cannot tell, so that nothing closer than this is proven.

use super::line::TraceClock;
use super::sockets::{Write, flag};

/// First writes that suffice to find a clock.
pub const FEW: usize = 3;
/// Times vary by less where trace and capture are of one run: 0.02 to 0.07 ms were measured, 6 ms
/// of another run of the same program.
pub const MOST_SPREAD_NS: i64 = 300_000;
const LEAST_DOUBT_NS: i64 = 50_000;
/// Times that vary by more are not of what left at once.
const MOST_JITTER_NS: i64 = 1_000_000;
/// Faster than any clock drifts that keeps time: NTP corrects by 500 ppm.
pub const MOST_DRIFT: f64 = 1e-3;
/// The time from a trace's stamp to the segment, by one host's clock or two zones', if it left at
/// once.
const AT_ONCE_NS: i64 = 5_000_000;
/// Zones differ by multiples of this.
const ZONE_NS: i64 = 900_000_000_000;
/// One in so many may seem to have left before it was written: stamps vary.
const EARLY: usize = 20;
/// Parts of the time by which the drift is found, and samples that each has.
const PARTS: usize = 16;
const IN_PART: usize = 8;

/// When something was written by the trace's clock, and how long it took to the capture point.
type Sample = (i64, i64);

/// The times from calls to the wire, of writes with which segments begin.
#[derive(Debug, Default)]
pub struct Samples {
    /// First writes after something was read: mostly nothing is in front of these.
    pub first: Vec<Sample>,
    pub all: Vec<Sample>,
    /// Writes with which connections begin: these leave at once.
    begins: Vec<Sample>,
}

/// Time by the trace's clock when the capture's shows more by `delta_ns`.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    pub delta_ns: i64,
    /// By how much more it differs, for each ns since `at_ns`.
    drift: f64,
    at_ns: i64,
    /// Width of the shortest range that holds most of what left at once.
    pub spread_ns: i64,
}

impl Clock {
    /// By the capture's clock, and until what was written then passed the capture point.
    pub fn passed_ns(&self, written_ns: i64) -> i64 {
        let since_ns = written_ns.saturating_sub(self.at_ns);
        let drift_ns = (since_ns as f64 * self.drift) as i64;
        written_ns.saturating_add(self.delta_ns).saturating_add(drift_ns)
    }

    /// Nothing closer is known: times of one call vary by so much at least.
    pub fn doubt_ns(&self) -> i64 {
        self.spread_ns.max(LEAST_DOUBT_NS)
    }

    /// Back to the trace's clock; drift within a hold is nothing.
    pub fn written_ns(&self, passed_ns: i64) -> i64 {
        let about_ns = passed_ns.saturating_sub(self.delta_ns);
        about_ns.saturating_sub(self.passed_ns(about_ns).saturating_sub(passed_ns))
    }
}

impl Samples {
    pub fn add(&mut self, write: &Write, took_ns: Option<i64>) {
        let Some(took_ns) = took_ns else { return };
        let sample = (write.time_ns, took_ns);
        self.all.push(sample);
        if is_first(write) {
            self.first.push(sample);
        }
    }

    /// The fit of a connection whose first byte is the first of the writes.
    pub fn add_begin(&mut self, write: &Write, took_ns: Option<i64>) {
        let is_at_once = write.offset == 0 && write.flags & flag::MORE == 0;
        self.begins.extend(took_ns.filter(|_| is_at_once).map(|took_ns| (write.time_ns, took_ns)));
    }

    /// The clock by the surest samples that do not contradict others; it drifts by `most` at most.
    /// Only if it is the capture's own, as `kind` may show, do the begins of connections suffice.
    pub fn clock(&self, kind: Option<TraceClock>, most: f64) -> Option<Clock> {
        let by = |samples: &[Sample], range: (usize, bool), few: usize| {
            (samples.len() >= few).then(|| fitted(samples, range, most))
        };
        let begins = by(&self.begins, (5, false), 1).filter(|clock| agrees(kind, clock.delta_ns));
        let clocks = [by(&self.first, (5, false), FEW), by(&self.all, (2, true), 1), begins];
        clocks.into_iter().flatten().find(|clock| {
            // Nothing leaves before it is written, and what begins a connection leaves at once.
            let least_ns = -clock.spread_ns.max(MOST_SPREAD_NS);
            let early = |samples: &[Sample]| {
                let left_ns = |(written_ns, took_ns): &Sample| {
                    written_ns.saturating_add(*took_ns).saturating_sub(clock.passed_ns(*written_ns))
                };
                samples.iter().filter(|sample| left_ns(sample) < least_ns).count()
            };
            clock.spread_ns <= MOST_JITTER_NS
                && EARLY * early(&self.all) <= self.all.len()
                && early(&self.begins) == 0
        })
    }
}

/// The clock by the shortest range that holds so many tenths of the samples, with the drift of
/// parts of the time where that makes it shorter.
fn fitted(samples: &[Sample], (tenths, edge): (usize, bool), most_drift: f64) -> Clock {
    let at_ns = samples.first().map_or(0, |(written_ns, _)| *written_ns);
    let of = |drift: f64| {
        let level = |(written_ns, took_ns): &Sample| {
            took_ns.saturating_sub((written_ns.saturating_sub(at_ns) as f64 * drift) as i64)
        };
        let (delta_ns, spread_ns) = densest(samples.iter().map(level).collect(), tenths, edge);
        Clock { delta_ns, drift, at_ns, spread_ns }
    };
    let mut still = of(0.0);
    if samples.len() < FEW {
        // One time says nothing of how much it varies.
        still.spread_ns = still.spread_ns.max(MOST_SPREAD_NS);
    }
    let parts = (samples.len() / IN_PART).min(PARTS);
    if most_drift == 0.0 || parts < 2 {
        return still;
    }
    let mut ordered = samples.to_vec();
    ordered.sort_unstable();
    let middle = |part: &[Sample]| {
        let (took_ns, _) =
            densest(part.iter().map(|(_, took_ns)| *took_ns).collect(), tenths, edge);
        (part[part.len() / 2].0, took_ns)
    };
    let middles: Vec<Sample> = ordered.chunks(samples.len().div_ceil(parts)).map(middle).collect();
    let slope = |from: &Sample, to: &Sample| {
        let since_ns = to.0.saturating_sub(from.0);
        (since_ns > 0).then(|| to.1.saturating_sub(from.1) as f64 / since_ns as f64)
    };
    let pairs = middles
        .iter()
        .enumerate()
        .flat_map(|(at, from)| middles[at + 1..].iter().filter_map(move |to| slope(from, to)));
    let mut slopes: Vec<f64> = pairs.collect();
    slopes.sort_unstable_by(f64::total_cmp);
    let drift = slopes.get(slopes.len() / 2).copied().unwrap_or(0.0);
    let drifting = if drift.abs() <= most_drift { of(drift) } else { still };
    if drifting.spread_ns < still.spread_ns { drifting } else { still }
}

/// The middle and the width of the shortest range that holds so many tenths of them; at the `edge`
/// among those that begin with the least, where the others were held.
pub fn densest(mut times: Vec<i64>, tenths: usize, edge: bool) -> (i64, i64) {
    times.sort_unstable();
    let Some(&only) = times.first() else { return (0, i64::MAX) };
    let few = if edge { FEW.min(times.len()) } else { 1 };
    let len = (times.len() * tenths).div_ceil(10).max(few);
    let begins = if edge { times.len() / EARLY + 1 } else { times.len() };
    let ranges = times.windows(len).take(begins);
    let ranges = ranges.map(|range| (range[len - 1].saturating_sub(range[0]), range[len / 2]));
    let (spread_ns, middle_ns) = ranges.min().unwrap_or((0, only));
    (middle_ns, spread_ns)
}

/// The trace's clock agrees with the capture's, in any zone: what left at once took little.
pub fn agrees(clock: Option<TraceClock>, delta_ns: i64) -> bool {
    off_ns(clock, delta_ns).is_some_and(|off_ns| off_ns.saturating_abs() <= AT_ONCE_NS)
}

/// The time that is left of it when zones are taken off, if the clock is one of those that agree.
pub fn off_ns(clock: Option<TraceClock>, delta_ns: i64) -> Option<i64> {
    match clock? {
        TraceClock::Unix => Some(delta_ns),
        TraceClock::Day => {
            let half_ns = ZONE_NS / 2;
            Some(delta_ns.saturating_add(half_ns).rem_euclid(ZONE_NS) - half_ns)
        }
        TraceClock::Relative | TraceClock::Elapsed => None,
    }
}

/// The limit for what passes the capture point `rtt_ns` away from the program.
pub fn limit_ns(rtt_ns: i64) -> i64 {
    MOST_SPREAD_NS + rtt_ns / 10
}

/// Is it the first since something was read, and sent at once?
pub fn is_first(write: &Write) -> bool {
    write.flags & (flag::FIRST | flag::MORE) == flag::FIRST
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A write each 50 ms, which takes `took_us` by the capture's clock.
    fn clock(late_us: &[i64], drift: f64) -> Option<Clock> {
        let mut samples = Samples::default();
        for (at, us) in (0_i64..).zip(late_us) {
            let written_ns = at * 50_000_000;
            let took_ns = us * 1000 + (written_ns as f64 * drift) as i64;
            samples.all.push((written_ns, took_ns));
        }
        samples.begins.push(samples.all[0]);
        samples.clock(Some(TraceClock::Unix), MOST_DRIFT)
    }

    /// Held pieces are no sign of the clock, how many there are, and how alike.
    #[test]
    fn the_clock_is_that_of_what_left_at_once() {
        let at_once: Vec<i64> = (0..60).map(|at| 3_200_000 + at % 3 * 10).collect();
        let found = clock(&at_once, 1e-5).unwrap();
        assert!(found.passed_ns(3_000_000_000).abs_diff(6_200_040_000) < 40_000, "{found:?}");
        assert!(found.spread_ns < 20_000);
        let mostly_held: Vec<i64> =
            (0..60).map(|at| if at % 9 == 0 { 20 } else { 44_000 }).collect();
        let found = clock(&mostly_held, 0.0).unwrap();
        assert!(found.delta_ns < 1_000_000, "{found:?}");
    }

    /// So that a rhythm which only looks alike gives no clock.
    #[test]
    fn times_that_vary_give_no_clock() {
        let random: Vec<i64> = (0..60).map(|at| at * at * 977 % 9973 + 20).collect();
        assert!(clock(&random[1..], 0.0).is_none_or(|clock| clock.spread_ns >= MOST_SPREAD_NS));
    }
}
