//! Times of frames, as far as arithmetic on them goes.
//!
//! They are ns since the epoch, from 0 to [`FARTHEST_NS`]: the reader clamps them once. So the
//! difference of two, twice that, and a time or a difference with a few days added fit an `i64`. A
//! round trip is a [day](DAY_NS) at most. Other products, and sums of durations, saturate.

/// In 2116. A pcap file ends in 2106.
pub const FARTHEST_NS: i64 = (1 << 62) - 1;

pub const SECOND_NS: i64 = 1_000_000_000;
pub const DAY_NS: i64 = 86_400 * SECOND_NS;

/// The nearest time that there is.
#[inline]
pub fn clamped(time_ns: i64) -> i64 {
    time_ns.clamp(0, FARTHEST_NS)
}

/// The decimals of a second in ns, 0 for none; `None` unless they are up to nine digits.
pub fn decimals_ns(decimals: &str) -> Option<i64> {
    let are_digits = decimals.len() <= 9 && decimals.bytes().all(|digit| digit.is_ascii_digit());
    let digits = decimals.bytes().chain(std::iter::repeat(b'0')).take(9);
    are_digits.then(|| digits.fold(0, |ns, digit| 10 * ns + i64::from(digit - b'0')))
}

/// The sum of durations; 292 years at most.
pub fn sum_ns(durations_ns: impl IntoIterator<Item = i64>) -> i64 {
    durations_ns.into_iter().fold(0, i64::saturating_add)
}
