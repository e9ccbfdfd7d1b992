//! Does a timer send the ACKs of a receiver? Kernels run the timers of TCP on the ticks of a clock (jiffies), so
//! that the ACKs leave whole ticks apart, however late they are after their data. On a path alone they come about
//! equally late, however far apart they are.

use crate::judge::thresholds::{TICK_ONE_OF, TICKS_APART_NS, TICKS_MS, TICKS_SEEN};

/// Are these ACKs, in the order of time, on ticks? Each is its time, and how long after its data it came, in ns.
/// The clock of the capture has steps of `step_ms`.
pub fn show(acks: impl Iterator<Item = (i64, i64)> + Clone, step_ms: f64) -> bool {
    let pairs = || acks.clone().zip(acks.clone().skip(1));
    let within_ms = |tick_ms: f64| tick_ms / TICK_ONE_OF;
    TICKS_MS.into_iter().filter(|tick_ms| step_ms <= within_ms(*tick_ms)).any(|tick_ms| {
        let within_ms = within_ms(tick_ms);
        let is_whole = |ms: f64| (ms - (ms / tick_ms).round() * tick_ms).abs() <= within_ms;
        let near =
            pairs().filter(|((before_ns, _), (now_ns, _))| now_ns - before_ns <= TICKS_APART_NS);
        let seen = near.map(|((before_ns, first_ns), (now_ns, next_ns))| {
            let is_tick = is_whole((now_ns - before_ns) as f64 / 1e6);
            let is_path = (next_ns - first_ns).abs() as f64 / 1e6 <= within_ms;
            (1, i32::from(is_tick), i32::from(is_tick) - i32::from(is_path))
        });
        let (count, ticks, more) =
            seen.fold((0, 0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1, sum.2 + one.2));
        // Among many pairs chance alone makes some.
        2 * ticks >= count && more >= TICKS_SEEN
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Data comes every 50 ms or so, and its ACK at the next tick of 4 ms after 40 ms.
    #[test]
    fn timers_leave_on_ticks_and_paths_do_not() {
        let data_ns = |at: i64| at * 50_000_000 + at * at % 7 * 613_000;
        let by_timer = (0..12).map(|at| {
            let acked_ns = (data_ns(at) + 40_000_000).div_euclid(4_000_000) * 4_000_000 + 4_000_000;
            (acked_ns, acked_ns - data_ns(at))
        });
        let by_path = (0..12).map(|at| (data_ns(at) + 42_000_000, 42_000_000));
        // A path with 10 ms of jitter: by chance some are whole ticks apart.
        let noise = |at: i64| (at * 7_919_i64.pow(2) % 10_007) * 1_000;
        let jitter = (0..400).map(|at| (at * 70_123_457 + noise(at), 60_000_000 + noise(at)));
        assert!(!show(jitter, 0.001));
        // Data that is itself on ticks shows nothing.
        let even = (0..12).map(|at| (at * 48_000_000, 42_000_000));
        assert!(show(by_timer.clone(), 0.001));
        assert!(!show(by_timer.clone().take(4), 0.001));
        assert!(!show(by_timer, 1.0));
        assert!(!show(by_path, 0.001) && !show(even, 0.001));
    }
}
