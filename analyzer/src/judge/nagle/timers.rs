//! Delayed-ACK timers: the measured delays, and the stacks they are consistent with.
//!
//! Nothing here decides whether an ACK was delayed: see `judge::ack_delay`.

use crate::judge::statistics;
use crate::judge::thresholds::FEW_RELEASES;
use crate::track::thresholds::JIFFY_NS;

/// Delays of a fixed timer differ by less than this part of their median, or half a jiffy.
const LIKE_ONE_OF: i64 = 8;
const ADAPTIVE_OR_TICKS: &str = "an adaptive timer (Linux, up to 200 ms) or Windows ticks";
const NOT_FIXED: &str = "no fixed timer";

/// The late ACKs of one receiver, whether anything waited for them or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LateAcks {
    pub timer: Timer,
    pub first_frame: u32,
    /// Its prompt ones without data; no more are counted once this is full.
    pub prompt: u16,
}

/// Delays of one receiver's ACKs, in ns, less the round trip to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timer {
    pub count: u64,
    pub median_ns: i64,
    pub min_ns: i64,
    pub max_ns: i64,
    /// Are most of them as long as the median?
    pub alike: bool,
}

impl Timer {
    /// `None` without delays.
    pub fn of(delays_ns: &mut [i64]) -> Option<Self> {
        let (min_ns, max_ns) = (*delays_ns.iter().min()?, *delays_ns.iter().max()?);
        let median_ns = statistics::upper(delays_ns)?;
        let near_ns = (median_ns / LIKE_ONE_OF).max(JIFFY_NS / 2);
        let like = delays_ns.iter().filter(|&&delay_ns| (delay_ns - median_ns).abs() <= near_ns);
        let alike = 2 * like.count() > delays_ns.len();
        Some(Self { count: delays_ns.len() as u64, median_ns, min_ns, max_ns, alike })
    }

    /// May the receiver be Linux, which starts a connection with quick ACKs?
    pub fn has_quick_acks(&self) -> bool {
        self.stack().1
    }

    /// The stacks whose timer fits.
    pub fn consistent_with(&self) -> &'static str {
        self.stack().0
    }

    /// The stacks whose timer fits; may it be Linux?
    ///
    /// Sources: Linux `TCP_DELACK_MIN` (40 ms, one 4 ms jiffy more at HZ=250), and where the round trip is
    /// longer up to `TCP_DELACK_MAX` (200 ms); Windows since 8 (40 to 50 ms), before that Microsoft
    /// KB 328890 (200 ms from 100 ms ticks); XNU and older FreeBSD (100 ms); lwIP `TCP_TMR_INTERVAL`
    /// (250 ms heartbeat); RFC 1122, section 4.2.3.2 (at most 500 ms).
    fn stack(&self) -> (&'static str, bool) {
        let ms = |ns: i64| ns / 1_000_000;
        let (median, min, max) = (ms(self.median_ns), ms(self.min_ns), ms(self.max_ns));
        // A heartbeat may tick right after the data; a fixed timer never fires early, on any path.
        if self.count >= 5 && min < 35 && (140..=255).contains(&max) && median > 60 {
            return ("a 200-250 ms heartbeat timer (lwIP, old BSD)", false);
        }
        if !self.alike {
            let adapts = min >= 35 && max <= 225;
            return if adapts { (ADAPTIVE_OR_TICKS, true) } else { (NOT_FIXED, false) };
        }
        match median {
            0..=9 => ("no delay", false),
            10..=34 if max > 2 * min => (NOT_FIXED, false),
            // One or two may have met something else, or a path that is longer than it was measured.
            10..=34 if self.count < u64::from(FEW_RELEASES) => ("", false),
            10..=34 => ("a shortened delayed-ACK timer", false),
            35..=48 => ("Linux, or Windows 8 and later, 40 ms", true),
            49..=60 => ("Windows 8 and later, Solaris, or Linux on a long path, 50 ms", true),
            61..=88 => ("an adaptive timer (Linux, Windows 8 and later)", true),
            89..=112 => ("macOS, BSD or one tick of Windows, 100 ms", false),
            113..=179 => (ADAPTIVE_OR_TICKS, true),
            180..=225 => ("Windows up to 7, 200 ms", false),
            226..=500 => ("an unusually long timer", false),
            _ => ("no known timer", false),
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
        assert_eq!(named(&[41, 43, 44]), "Linux, or Windows 8 and later, 40 ms");
        assert_eq!(named(&[190, 201, 218]), "Windows up to 7, 200 ms");
        assert!(named(&[54]).contains("Linux") && named(&[54]).contains("Solaris"));
        assert!(named(&[20, 60, 110, 170, 240]).contains("heartbeat"));
    }

    #[test]
    fn full_queues_and_program_writes_are_no_timer() {
        assert!(!named(&[41, 42, 42, 45, 132, 142, 145, 150, 160, 163]).contains("heartbeat"));
        assert_eq!(named(&[12, 14, 22, 31, 42]), "no fixed timer");
        assert_eq!(named(&[20, 21, 22]), "a shortened delayed-ACK timer");
    }

    #[test]
    fn delays_that_differ_are_no_fixed_timer() {
        assert_eq!(named(&[41, 56]), ADAPTIVE_OR_TICKS);
        assert_eq!(named(&[14, 218]), NOT_FIXED);
        assert_eq!(named(&[39, 207, 207, 209]), "Windows up to 7, 200 ms");
    }

    /// With other stacks the first exchange may stall, too.
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
