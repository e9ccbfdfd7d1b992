//! How coarse a clock is: the largest power of ten in ns that divides all its times.

/// Clocks that tick more slowly than this are not looked for (captures with 10 ms steps exist).
/// Leans: larger blurs captures whose times happen to be round.
pub const COARSEST_NS: i64 = 100_000_000;
/// Clocks as fine as this need no allowance.
pub const FINE_NS: i64 = 1_000;

/// The largest step that divides `time_ns` too, given the step of all times before it.
#[inline]
pub fn common_ns(mut step_ns: i64, time_ns: i64) -> i64 {
    while step_ns > FINE_NS && time_ns % step_ns != 0 {
        step_ns /= 10;
    }
    step_ns
}
