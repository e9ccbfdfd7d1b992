//! Delayed-ACK timers: what was measured, and what stack that is consistent with.
//!
//! Nothing here decides whether there is a stall: a name is given to what was measured.

use crate::judge::statistics;
use serde::{Deserialize, Serialize};

/// Delays of one receiver's ACKs, in ns, with the round trip to it taken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timer {
    pub count: u64,
    pub median_ns: i64,
    pub min_ns: i64,
    pub max_ns: i64,
}

impl Timer {
    /// From single delays; `None` without any.
    pub fn of(delays_ns: &mut [i64]) -> Option<Self> {
        let (min_ns, max_ns) = (*delays_ns.iter().min()?, *delays_ns.iter().max()?);
        let median_ns = statistics::upper(delays_ns)?;
        Some(Self { count: delays_ns.len() as u64, median_ns, min_ns, max_ns })
    }

    /// Does the host acknowledge at once while a connection is young, as Linux does (quick ACKs)?
    pub fn has_quick_acks(&self) -> bool {
        self.consistent_with().contains("Linux")
    }

    /// Names a stack whose timer looks like this.
    ///
    /// Sources: Linux `TCP_DELACK_MIN` (40 ms, one 4 ms jiffy more at HZ=250) and
    /// `TCP_DELACK_MAX` (200 ms); Microsoft KB 328890 (200 ms from 100 ms ticks); XNU and older
    /// FreeBSD (100 ms); lwIP `TCP_TMR_INTERVAL` (250 ms heartbeat); RFC 1122, section 4.2.3.2
    /// (at most 500 ms).
    pub fn consistent_with(&self) -> &'static str {
        let ms = |ns: i64| ns / 1_000_000;
        let (median, min, max) = (ms(self.median_ns), ms(self.min_ns), ms(self.max_ns));
        // Its ticks come as soon as any time after the data; with a fixed timer on a path that varies no ACK
        // comes before the timer.
        if self.count >= 5 && min < 35 && (140..=255).contains(&max) && median > 60 {
            return "a 200-250 ms heartbeat timer (lwIP, old BSD)";
        }
        match median {
            0..=9 => "no delay",
            10..=34 if max > 2 * min => "no fixed timer",
            10..=34 => "a shortened delayed-ACK timer",
            35..=48 => "Linux, 40 ms",
            49..=60 => "recent Windows or Solaris, 50 ms",
            61..=88 => "a timer that adapts (Linux, recent Windows)",
            89..=112 => "macOS, BSD or one tick of Windows, 100 ms",
            113..=179 => "a timer that adapts (Linux up to 200 ms) or Windows ticks",
            180..=225 => "Windows, 200 ms",
            226..=500 => "an unusually long timer",
            _ => "no known timer",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(delays_ms: &[i64]) -> &'static str {
        let mut delays: Vec<i64> = delays_ms.iter().map(|ms| ms * 1_000_000).collect();
        Timer::of(&mut delays).unwrap().consistent_with()
    }

    #[test]
    fn well_known_timers_are_named() {
        assert_eq!(named(&[41, 43, 44]), "Linux, 40 ms");
        assert_eq!(named(&[190, 201, 218]), "Windows, 200 ms");
        assert!(named(&[20, 60, 110, 170, 240]).contains("heartbeat"));
    }

    #[test]
    fn a_full_queue_or_a_program_that_writes_makes_no_timer() {
        assert!(!named(&[41, 42, 42, 45, 132, 142, 145, 150, 160, 163]).contains("heartbeat"));
        assert_eq!(named(&[12, 14, 22, 31, 42]), "no fixed timer");
        assert_eq!(named(&[20, 21, 22]), "a shortened delayed-ACK timer");
    }

    /// Elsewhere the first exchange of a connection may stall, too.
    #[test]
    fn only_linux_has_quick_acks() {
        let quick = |delays_ms: &[i64]| {
            let mut delays: Vec<i64> = delays_ms.iter().map(|ms| ms * 1_000_000).collect();
            Timer::of(&mut delays).unwrap().has_quick_acks()
        };
        assert!(quick(&[41, 43, 44]));
        assert!(!quick(&[190, 201, 218]) && !quick(&[97, 99, 101]));
    }

    #[test]
    fn no_delays_no_timer() {
        assert_eq!(Timer::of(&mut []), None);
    }
}
