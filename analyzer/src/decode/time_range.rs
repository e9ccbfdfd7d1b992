//! Times at the beginning of a filter: `time >= 1700000000.5 and time < 1700000001 and (tcp)`.
//!
//! Seconds since the epoch, as editcap takes them with -A and -B. BPF knows no times.

use crate::capture::times::{SECOND_NS, decimals_ns};

/// A range of times in ns since the epoch, the end excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeRange {
    begin_ns: i64,
    end_ns: i64,
}

impl Default for TimeRange {
    fn default() -> Self {
        Self { begin_ns: i64::MIN, end_ns: i64::MAX }
    }
}

impl TimeRange {
    /// The times at the beginning of `expression`, and what follows: BPF, or nothing.
    pub fn split(expression: &str) -> (Self, &str) {
        let (mut range, mut rest) = (Self::default(), expression.trim());
        while let Some((is_begin, time_ns, behind)) = bound(rest) {
            match is_begin {
                true => range.begin_ns = range.begin_ns.max(time_ns),
                false => range.end_ns = range.end_ns.min(time_ns),
            }
            match behind.strip_prefix("and ") {
                Some(behind) => rest = behind.trim_start(),
                None if behind.is_empty() => return (range, behind),
                None => return (Self::default(), expression),
            }
        }
        (range, rest)
    }

    pub fn contains(self, time_ns: i64) -> bool {
        (self.begin_ns..self.end_ns).contains(&time_ns)
    }
}

/// Whether it is the begin, its time, and what follows it.
fn bound(expression: &str) -> Option<(bool, i64, &str)> {
    let bound = expression.strip_prefix("time ")?;
    let (is_begin, bound) = match bound.strip_prefix(">= ") {
        Some(bound) => (true, bound),
        None => (false, bound.strip_prefix("< ")?),
    };
    let (seconds, rest) = bound.split_once(' ').unwrap_or((bound, ""));
    Some((is_begin, nanoseconds(seconds)?, rest.trim_start()))
}

/// Nanoseconds from seconds with at most nine decimals.
fn nanoseconds(seconds: &str) -> Option<i64> {
    let (whole, part) = seconds.split_once('.').unwrap_or((seconds, ""));
    whole.bytes().all(|digit| digit.is_ascii_digit()).then_some(())?;
    whole.parse::<i64>().ok()?.checked_mul(SECOND_NS)?.checked_add(decimals_ns(part)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_stand_before_bpf() {
        let split = |expression| {
            let (TimeRange { begin_ns, end_ns }, rest) = TimeRange::split(expression);
            (begin_ns, end_ns, rest)
        };
        let (first, last) = (i64::MIN, i64::MAX);
        assert_eq!(split("tcp port 80"), (first, last, "tcp port 80"));
        assert_eq!(split("time >= 2.5"), (2_500_000_000, last, ""));
        assert_eq!(split("time < 3 and (tcp)"), (first, 3_000_000_000, "(tcp)"));
        assert_eq!(split(" time >= 1 and time < 2.000000001"), (SECOND_NS, 2 * SECOND_NS + 1, ""));
        // The narrower one counts; anything but a time is left to libpcap, which refuses it.
        assert_eq!(split("time < 3 and time < 2 and tcp"), (first, 2 * SECOND_NS, "tcp"));
        for other in ["time > 3", "time >= x", "time >= 1.0123456789", "time >= 9999999999999"] {
            assert_eq!(split(other), (first, last, other));
        }
        assert_eq!(split("time >= 1 or tcp"), (first, last, "time >= 1 or tcp"));
    }

    #[test]
    fn the_end_is_excluded() {
        let (range, _) = TimeRange::split("time >= 1 and time < 2");
        let within = [SECOND_NS - 1, SECOND_NS, 2 * SECOND_NS - 1, 2 * SECOND_NS]
            .map(|time_ns| range.contains(time_ns));
        assert_eq!(within, [false, true, true, false]);
    }
}
