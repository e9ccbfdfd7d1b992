//! Holds: does data leave when the ACK arrives, because it arrives?
//!
//! A pure ACK is invisible to the application, so data that leaves exactly one round trip (between
//! the capture point and the sender) after it was let go by the kernel. One such event can be a
//! coincidence; that they *peak* at the round trip, over all events, cannot.

use crate::flow::{Connection, Half, Side};
use crate::wait::{Wait, fact};

/// At the sender's own capture point only the kernel lies between ACK and release: 3-140 us
/// measured on Linux 6.18, idle and overloaded. 0.5 ms leaves room for slower machines, and is
/// short enough to tell an application that wakes up 0.2-4 ms after the ACK.
const LOCAL_TOLERANCE_NS: i64 = 500_000;
/// Over a network: the path's own jitter, and never less than what scheduling on two hosts adds.
const NETWORK_TOLERANCE_NS: i64 = 2_000_000;
/// Beyond this, 'the path's jitter' would explain anything.
const MAX_TOLERANCE_NS: i64 = 8_000_000;
/// The neighbourhood in which releases that were *not* locked to the ACK are counted.
const NEAR_NS: i64 = 20_000_000;
/// The peak must stand this many times above what the neighbourhood makes likely by chance.
const PEAK_OVER_CHANCE: f64 = 4.0;
/// Contradictions are looked for among this many neighbouring candidates on each side.
const NEIGHBOURS: usize = 8;
/// Contradictions per neighbour, on both sides, from which Nagle was off here.
const CONTRADICTED: f64 = 0.1;
/// Nothing that forbids a hold: what must be absent from the facts.
const EXCLUDED: u16 = fact::FIN
    | fact::URGENT
    | fact::RETRANSMITTED
    | fact::RECOVERY
    | fact::ZERO_WINDOW
    | fact::WINDOW_FULL
    | fact::ACK_ONLY;

/// What is known of the releases of one direction.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lock {
    /// Round trip between the capture point and the sender, in ns, as far as known.
    pub center_ns: i64,
    /// Was it measured apart from the releases themselves?
    pub measured: bool,
    pub tolerance_ns: i64,
    /// Waits whose release lies within the tolerance, and those that lie near it.
    pub in_band: u32,
    pub near: u32,
    /// Full-sized segments that waited for an ACK in the same way.
    pub full_sized: u32,
    /// Do the releases peak at the round trip?
    pub peaks: bool,
}

/// Can this wait be a hold, whatever the release time says?
pub fn is_candidate(wait: &Wait) -> bool {
    wait.is(fact::OWN_DATA_BEFORE | fact::PURE_ACK | fact::SMALL)
        && wait.has_ack()
        && !wait.has_any(EXCLUDED)
        && !wait.is(fact::LARGE_FLIGHT | fact::PARTIAL_ACK)
}

impl Lock {
    /// Measures the releases of `side` from all its waits that an ACK ended.
    pub fn measure(connection: &Connection, side: Side, waits: &[Wait]) -> Self {
        let half = connection.half(side);
        let freed: Vec<&Wait> = waits
            .iter()
            .filter(|wait| wait.by == side && wait.is(fact::OWN_DATA_BEFORE | fact::PURE_ACK))
            .filter(|wait| wait.has_ack())
            .collect();
        let mut lock = Self::around(half, &freed);
        for wait in &freed {
            let off = wait.release_ns() - lock.center_ns;
            match (off.abs() <= lock.tolerance_ns, is_candidate(wait)) {
                (true, true) => lock.in_band += 1,
                (true, false) if !wait.is(fact::SMALL) => lock.full_sized += 1,
                (false, _) if off > 0 && off <= lock.tolerance_ns + NEAR_NS => lock.near += 1,
                _ => {}
            }
        }
        lock.peaks = lock.is_peak();
        lock
    }

    /// Where the releases should lie, and how far off they may be.
    fn around(half: &Half, freed: &[&Wait]) -> Self {
        let shortest = freed.iter().map(|wait| wait.release_ns()).min();
        let known = (half.rtt_ns != i64::MAX).then_some(half.rtt_ns);
        let center_ns = match (known, shortest) {
            (Some(rtt_ns), _) if half.syn => rtt_ns,
            // Without a handshake the shortest reply bounds the round trip from above only.
            (Some(rtt_ns), Some(release_ns)) => rtt_ns.min(release_ns),
            (Some(rtt_ns), None) => rtt_ns,
            (None, Some(release_ns)) => release_ns,
            (None, None) => 0,
        };
        Self {
            center_ns,
            measured: known.is_some() && half.syn,
            tolerance_ns: tolerance_ns(center_ns, half.jitter_ns()),
            ..Self::default()
        }
    }

    fn is_peak(&self) -> bool {
        if self.in_band == 0 || self.full_sized > self.in_band {
            return false;
        }
        let band = 2.0 * self.tolerance_ns as f64;
        let by_chance = f64::from(self.near) * band / NEAR_NS as f64;
        f64::from(self.in_band) > PEAK_OVER_CHANCE * by_chance
    }

    pub fn holds(&self, wait: &Wait) -> bool {
        self.peaks
            && is_candidate(wait)
            && (wait.release_ns() - self.center_ns).abs() <= self.tolerance_ns
    }

    /// How likely a release this close to the ACK is for an application that knows nothing of it.
    pub fn chance(&self, wait: &Wait) -> f64 {
        /// What timestamps and scheduling blur in any case.
        const RESOLUTION_NS: i64 = 50_000;
        let off = (wait.release_ns() - self.center_ns).abs().max(RESOLUTION_NS);
        (2.0 * off as f64 / wait.wait_ns().max(1) as f64).min(1.0)
    }
}

fn tolerance_ns(center_ns: i64, jitter_ns: i64) -> i64 {
    let floor = (center_ns / 2).clamp(LOCAL_TOLERANCE_NS, NETWORK_TOLERANCE_NS);
    // Below a millisecond there is no network between the capture point and the sender.
    let jitter = if center_ns < 1_000_000 { 0 } else { 3 * jitter_ns };
    floor.max(jitter).min(MAX_TOLERANCE_NS)
}

/// For each of the candidates of one direction, in order: was Nagle off around it?
///
/// `contradictions` are the counts carried by the candidates, `total` the direction's final one.
/// Judged near the candidate in time: programs switch TCP_NODELAY in the middle of a connection,
/// and a single exception among thousands of segments clears nothing.
pub fn contradicted(contradictions: &[u32], total: u32) -> Vec<bool> {
    let count = contradictions.len();
    let mostly_off = f64::from(total) > 3.0 * count as f64;
    (0..count)
        .map(|index| {
            let left = index.saturating_sub(NEIGHBOURS);
            let right = index + NEIGHBOURS;
            let before = if left == 0 { 0 } else { contradictions[left] };
            let after = contradictions.get(right).copied().unwrap_or(total);
            let here = contradictions[index];
            let rate_before = f64::from(here - before) / (index - left + 1) as f64;
            let rate_after = f64::from(after - here) / (right.min(count - 1) - index + 1) as f64;
            let both_sides = rate_before.min(rate_after) >= CONTRADICTED;
            both_sides || (mostly_off && !in_quiet_run(contradictions, index))
        })
        .collect()
}

/// Three candidates in a row with no contradiction between them.
fn in_quiet_run(contradictions: &[u32], index: usize) -> bool {
    let same = |other: usize| contradictions.get(other) == Some(&contradictions[index]);
    let before = (1..=2).take_while(|&step| index >= step && same(index - step)).count();
    let after = (1..=2).take_while(|&step| same(index + step)).count();
    before + after >= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerance_follows_the_path_not_a_share_of_the_round_trip() {
        assert_eq!(tolerance_ns(20_000, 5_000_000), LOCAL_TOLERANCE_NS);
        assert_eq!(tolerance_ns(1_900_000, 0), 950_000);
        assert_eq!(tolerance_ns(88_000_000, 100_000), NETWORK_TOLERANCE_NS);
        assert_eq!(tolerance_ns(88_000_000, 1_500_000), 4_500_000);
        assert_eq!(tolerance_ns(88_000_000, 7_000_000), MAX_TOLERANCE_NS);
    }

    #[test]
    fn switching_nodelay_on_late_clears_nothing_before() {
        assert!(contradicted(&[0; 20], 500).iter().all(|&off| !off));
    }

    #[test]
    fn contradictions_all_around_mean_coincidence() {
        let counts: Vec<u32> = (0..20).map(|index| index * 2 + 1).collect();
        assert!(contradicted(&counts, 60).iter().all(|&off| off));
    }

    #[test]
    fn one_exception_among_many_clears_nothing() {
        let counts: Vec<u32> = (0..40).map(|index| u32::from(index >= 20)).collect();
        assert!(contradicted(&counts, 1).iter().all(|&off| !off));
    }

    #[test]
    fn releases_spread_around_the_ack_are_no_peak() {
        let spread = Lock { tolerance_ns: 500_000, in_band: 8, near: 90, ..Lock::default() };
        let peak = Lock { in_band: 60, near: 40, ..spread };
        assert!(!spread.is_peak());
        assert!(peak.is_peak());
    }
}
