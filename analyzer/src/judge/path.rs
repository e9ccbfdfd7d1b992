//! Did data follow an ACK by the round trip to its sender? Asked for waits that Nagle's algorithm cannot have
//! made: a full window, or a sender with one segment in flight, waits for ACKs, too.

use crate::judge::thresholds::{EARLY_NS, FEW_RELEASES, ROUND_TRIP_SAMPLES};
use crate::track::band::Band;
use crate::track::thresholds::{IN_TRANSIT_ONE_OF, JITTERS, LOCAL_TOLERANCE_NS};
use crate::track::wait::{Wait, fact};
use crate::track::{Half, Side};

/// The basis on which releases of a direction are expected at some place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Basis {
    /// Nothing: any release would fit itself.
    #[default]
    Nothing,
    /// The handshake, or round trips after it.
    Handshake,
    /// Replies, releases that agree, or data that was sent right after an ACK.
    Estimate,
}

/// The path between the capture point and a sender.
#[derive(Debug, Clone, Copy, Default)]
pub struct SenderPath {
    /// Where data lies that an ACK let go.
    pub band: Band,
    pub basis: Basis,
    /// How much sooner than the round trip that may be: the shortest one measured may not be the shortest there
    /// is.
    pub early_ns: i64,
    /// Step of the clock.
    pub clock_ns: i64,
    /// Full-sized segments that waited for an ACK, a single one in flight.
    pub full_sized: u32,
}

impl SenderPath {
    /// The path of `side`, from what it sent and from the `waits` that an ACK ended.
    pub fn of(half: &Half, side: Side, waits: &[Wait], clock_ns: i64) -> Self {
        let freed = || waits.iter().filter(|wait| wait.by == side && wait.is_freed());
        let (center_ns, basis) = find(half, freed().map(Wait::release_ns), clock_ns);
        let band = Band::new(center_ns, half.jitter_ns(), clock_ns);
        let is_known = basis == Basis::Handshake && half.rtt_samples >= ROUND_TRIP_SAMPLES;
        let early_ns = EARLY_NS + JITTERS * half.jitter_ns() + clock_ns;
        let quarter_ns = EARLY_NS + clock_ns + center_ns / IN_TRANSIT_ONE_OF;
        let early_ns = if is_known {
            early_ns.min(band.tolerance_ns).min(quarter_ns)
        } else {
            band.tolerance_ns
        };
        let mut path = Self { band, basis, early_ns, clock_ns, full_sized: 0 };
        let is_full =
            |wait: &&Wait| !wait.has_any(fact::SMALL | fact::LARGE_FLIGHT | fact::ACK_FIN);
        path.full_sized =
            freed().filter(is_full).filter(|wait| path.follows_ack(wait)).count() as u32;
        path
    }

    /// Does the segment follow the ACK by the round trip to the sender?
    pub fn follows_ack(&self, wait: &Wait) -> bool {
        let off_ns = self.band.off_ns(wait.release_ns());
        self.basis != Basis::Nothing && (-self.early_ns..=self.band.tolerance_ns).contains(&off_ns)
    }

    /// Was the round trip measured apart from the releases themselves?
    pub fn is_measured(&self) -> bool {
        self.basis == Basis::Handshake
    }
}

/// Where the releases of a direction are expected, in ns after their ACKs, and what from.
fn find(half: &Half, releases_ns: impl Iterator<Item = i64>, clock_ns: i64) -> (i64, Basis) {
    if half.is_path_measured() {
        return (half.rtt_or_zero_ns(), Basis::Handshake);
    }
    let bound_ns = half.rtt_bound_ns();
    // Clocks may step back: a negative time is no measurement.
    let longest_ns = bound_ns.saturating_add(tolerance_ns(bound_ns, clock_ns));
    let mut releases_ns: Vec<i64> =
        releases_ns.filter(|release_ns| (0..=longest_ns).contains(release_ns)).collect();
    releases_ns.sort_unstable();
    let (first_ns, agreeing) = densest(&releases_ns, clock_ns);
    let shortest_ns = releases_ns.first().copied().unwrap_or(i64::MAX);
    match half.measured_rtt_ns() {
        _ if agreeing >= FEW_RELEASES as usize => (first_ns, Basis::Estimate),
        _ if shortest_ns <= LOCAL_TOLERANCE_NS + clock_ns => (shortest_ns, Basis::Estimate),
        Some(rtt_ns) => (rtt_ns, Basis::Estimate),
        None => (0, Basis::Nothing),
    }
}

/// The shortest of the largest group within one tolerance, and how many they are; of groups as large
/// that of the shorter ones.
fn densest(sorted_ns: &[i64], clock_ns: i64) -> (i64, usize) {
    let (mut best, mut end) = ((i64::MAX, 0), 0);
    for (begin, &first_ns) in sorted_ns.iter().enumerate() {
        let last_ns = first_ns + tolerance_ns(first_ns, clock_ns);
        end += sorted_ns[end..].iter().take_while(|&&release_ns| release_ns <= last_ns).count();
        if end - begin > best.1 {
            best = (first_ns, end - begin);
        }
    }
    best
}

/// A direction's releases on a path without jitter.
fn tolerance_ns(rtt_ns: i64, clock_ns: i64) -> i64 {
    Band::new(rtt_ns, 0, clock_ns).tolerance_ns
}
