//! Does a program write only at the ticks of a timer?
//!
//! One that waits in `select` on a kernel of 100 Hz wakes up every 10 ms at best. On such a grid any pause
//! meets a round trip of 30 ms now and then, and by a whole tick or not at all.

use crate::judge::thresholds::{
    GRID_MULTIPLES, GRIDS_NS, HOLDS_PER_CONTRADICTION, PACE_SPREAD_SHARE, RHYTHM_EVENTS,
};
use crate::track::Side;
use crate::track::wait::{Wait, fact};

/// What the kernel's timers send.
const NO_PAUSE: u32 = fact::RETRANSMITTED | fact::RECOVERY | fact::ACK_ONLY | fact::CONNECTING;

/// The ticks at which `side` writes, in ns; 0 for none. Asked are the ends of its own pauses: what an ACK
/// let go comes by the receiver's ticks, whatever the program does.
pub fn grid_ns(side: Side, waits: &[Wait]) -> i64 {
    let is_own = |wait: &&Wait| wait.by == side && !wait.is_freed() && !wait.has_any(NO_PAUSE);
    let own = waits.iter().filter(is_own);
    if own.clone().count() < RHYTHM_EVENTS {
        return 0;
    }
    let ends_ns: Vec<i64> = own.map(|wait| wait.to.time_ns).collect();
    GRIDS_NS.into_iter().find(|&grid_ns| lie_on(&ends_ns, grid_ns)).unwrap_or(0)
}

/// From one to the next: over minutes a timer drifts.
fn lie_on(ends_ns: &[i64], grid_ns: i64) -> bool {
    let steps = || ends_ns.windows(2).map(|two| two[1] - two[0]);
    let off_ns = |step_ns: i64| (step_ns + grid_ns / 2).rem_euclid(grid_ns) - grid_ns / 2;
    let mut multiples: Vec<i64> =
        steps().map(|step_ns| (step_ns + grid_ns / 2) / grid_ns).collect();
    multiples.sort_unstable();
    multiples.dedup();
    let beside = steps().filter(|&step_ns| off_ns(step_ns).abs() > grid_ns / PACE_SPREAD_SHARE);
    multiples.len() >= GRID_MULTIPLES
        && HOLDS_PER_CONTRADICTION as usize * beside.count() <= ends_ns.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::Mark;

    const MS: i64 = 1_000_000;

    fn pauses(ends_ms: impl Iterator<Item = f64>) -> Vec<Wait> {
        let to = |ms: f64| Mark { time_ns: (ms * MS as f64) as i64, frame: 1 };
        let wait =
            |ms| Wait { facts: fact::OWN_PAUSE, to: to(ms), ..Wait::unknown(0, Side::Client) };
        ends_ms.map(wait).collect()
    }

    /// Multiples of 10 ms, and up to 0.35 ms beside them.
    fn ticking(number: i32) -> f64 {
        f64::from(number * number % 17 + 17 * number) * 10.0 + f64::from(number % 8) * 0.05
    }

    #[test]
    fn pauses_that_end_at_ticks_show_the_timer() {
        assert_eq!(grid_ns(Side::Client, &pauses((0..12).map(ticking))), 10 * MS);
        assert_eq!(grid_ns(Side::Server, &pauses((0..12).map(ticking))), 0);
    }

    #[test]
    fn few_pauses_or_equal_ones_or_many_beside_the_ticks_show_none() {
        assert_eq!(grid_ns(Side::Client, &pauses((0..7).map(ticking))), 0);
        assert_eq!(grid_ns(Side::Client, &pauses((0..40).map(|at| f64::from(at) * 40.0))), 0);
        let beside = (0..12).map(ticking).chain([3_003.0, 3_046.0]);
        assert_eq!(grid_ns(Side::Client, &pauses(beside)), 0);
    }
}
