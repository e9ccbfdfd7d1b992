//! Times of frames, as far as arithmetic on them goes.
//!
//! They are ns since the epoch, from 0 to [`FARTHEST_NS`]: the reader clamps them once. So the
//! difference of two, twice that, and a time or a difference with a few days added fit an `i64`. A
//! round trip is a [day](DAY_NS) at most. Other products, and sums of durations, saturate.

/// In 2116. A pcap file ends in 2106.
pub const FARTHEST_NS: i64 = (1 << 62) - 1;

pub use texts::{DAY_NS, SECOND_NS, decimals_ns};

/// The nearest time that there is.
#[inline]
pub fn clamped(time_ns: i64) -> i64 {
    time_ns.clamp(0, FARTHEST_NS)
}

/// The sum of durations; 292 years at most.
pub fn sum_ns(durations_ns: impl IntoIterator<Item = i64>) -> i64 {
    durations_ns.into_iter().fold(0, i64::saturating_add)
}
