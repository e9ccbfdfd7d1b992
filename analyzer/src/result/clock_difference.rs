//! How far the clocks of two captures are apart, by the segments that both stamped.
//!
//! A segment that goes from the first capture to the second is stamped later there by its way and by
//! how far the second clock is ahead; one that comes back, by that less its way. So the true line of
//! the difference over time lies below all of the former and above all of the latter. Of all lines
//! the one is taken that has the most room on both sides: half of the least round trip between the
//! capture points, by which the difference is known. How the ways differ, no stamps tell.

use serde::Serialize;

/// Clocks of computers drift by up to 100 ppm.
const MOST_DRIFT: f64 = 200e-6;
/// Halvings of the range of drifts: to less than a part in 10^12.
const STEPS: u32 = 60;

/// A segment that both captures stamped.
#[derive(Debug, Clone, Copy)]
pub struct Stamped {
    /// When the first capture had it, and how much later the second, by their own clocks.
    pub first_ns: i64,
    pub later_ns: i64,
    /// It went from the first capture to the second.
    pub is_forth: bool,
}

/// How far the clock of the second end is ahead of that of the first, in ms, when the first capture
/// begins.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ClockDifference {
    pub ahead_ms: f64,
    /// Half of the least round trip between the capture points: it is known to within this.
    pub bound_ms: f64,
    /// By how much the second clock gains on the first, in millionths; `null` if too little time passed to
    /// tell.
    pub drift_ppm: Option<f64>,
}

/// The difference at `begin_ns`. `None` where segments were seen in one direction only, or no line
/// fits them.
pub fn difference(segments: &[Stamped], begin_ns: i64) -> Option<ClockDifference> {
    let base = segments.first()?;
    let from_ns = segments.iter().map(|one| one.first_ns).min()?;
    let until_ns = segments.iter().map(|one| one.first_ns).max()?;
    let middle_ns = from_ns + (until_ns - from_ns) / 2;
    let room = |drift: f64| {
        let (mut below, mut above) = (f64::INFINITY, f64::NEG_INFINITY);
        for one in segments {
            let passed = (one.first_ns - middle_ns) as f64;
            let rest = (one.later_ns - base.later_ns) as f64 - drift * passed;
            if one.is_forth { below = below.min(rest) } else { above = above.max(rest) }
        }
        (below, above)
    };
    // The room is concave in the drift.
    let (mut low, mut high) = (-MOST_DRIFT, MOST_DRIFT);
    for _ in 0..STEPS {
        let third = (high - low) / 3.0;
        let width = |drift: f64| {
            let (below, above) = room(drift);
            below - above
        };
        if width(low + third) < width(high - third) { low += third } else { high -= third }
    }
    let drift = f64::midpoint(low, high);
    let (below, above) = room(drift);
    let bound_ns = (below - above) / 2.0;
    let is_known = bound_ns.is_finite() && bound_ns >= 0.0;
    let to_begin = drift * (begin_ns - middle_ns) as f64;
    let ahead_ns = base.later_ns as f64 + f64::midpoint(below, above) + to_begin;
    // The least ways at the beginning and at the end allow lines as steep as that.
    let is_long = 4.0 * bound_ns < MOST_UNSURE * (until_ns - from_ns) as f64;
    is_known.then(|| ClockDifference {
        ahead_ms: ahead_ns / 1e6,
        bound_ms: bound_ns / 1e6,
        drift_ppm: is_long.then_some(drift * 1e6),
    })
}

/// A drift is told if it is known to within 1,000 ppm at worst; in practice to a hundredth of that.
const MOST_UNSURE: f64 = 1e-3;

#[cfg(test)]
mod tests {
    use super::*;

    const MS: f64 = 1e6;

    /// A client and a server 13 ms apart each way, with jitter; the server's clock is an hour ahead and
    /// gains 40 ppm.
    fn exchanged(jitter_ms: f64) -> Vec<Stamped> {
        let ahead = |at: f64| 3_600e9 + 40e-6 * at;
        let both = |at: u32| {
            let sent = f64::from(at) * 250.0 * MS;
            let wobble = f64::from(at * 7919 % 101) / 100.0 * jitter_ms * MS;
            let arrives = sent + 13.0 * MS + wobble;
            let back = arrives + 13.0 * MS + f64::from(at * 104_729 % 97) / 96.0 * jitter_ms * MS;
            [(sent, arrives, true), (back, arrives, false)].map(|(first, second, is_forth)| {
                let later_ns = (second + ahead(second) - first) as i64;
                Stamped { first_ns: first as i64, later_ns, is_forth }
            })
        };
        (0..400).flat_map(both).collect()
    }

    #[test]
    fn clocks_are_known_to_within_half_of_the_least_round_trip() {
        for jitter_ms in [0.0, 8.0] {
            let found = difference(&exchanged(jitter_ms), 0).unwrap();
            assert!((found.ahead_ms - 3_600_000.0).abs() < 0.5, "{found:?}");
            assert!((found.bound_ms - 13.0).abs() < 0.5, "{found:?}");
            assert!((found.drift_ppm.unwrap() - 40.0).abs() < 10.0, "{found:?}");
        }
    }

    #[test]
    fn one_direction_tells_nothing_of_the_clocks() {
        let forth: Vec<Stamped> = exchanged(0.0).into_iter().filter(|one| one.is_forth).collect();
        assert_eq!(difference(&forth, 0), None);
        assert_eq!(difference(&[], 0), None);
    }
}
