//! What tells where releases are expected, where the handshake does not.
//!
//! A release is never its own yardstick: a single one lies exactly one round trip after its ACK
//! whatever made it. What replies and pure ACKs show bounds the round trip from above; a release right
//! after its ACK needs no round trip but that within the sender's own host; and several releases that
//! agree show one that none of them could.

use crate::judge::thresholds::FEW_RELEASES;
use crate::track::Half;
use crate::track::band::Band;
use crate::track::thresholds::LOCAL_TOLERANCE_NS;
use serde::{Deserialize, Serialize};

/// What the place of a direction's releases is known from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Basis {
    /// Nothing: any release would fit itself.
    #[default]
    Nothing,
    /// The handshake, or round trips after it.
    Handshake,
    /// Data that was sent right after an ACK: the capture was taken at its sender.
    AtSender,
    /// The fastest replies and ACKs after the handshake: they may have been slow.
    Replies,
    /// At least [`FEW_RELEASES`] that agree.
    Releases,
}

/// Where the releases of a direction are expected, in ns after their ACKs, and what from.
pub fn find(half: &Half, releases_ns: impl Iterator<Item = i64>, clock_ns: i64) -> (i64, Basis) {
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
    if agreeing >= FEW_RELEASES as usize {
        return (first_ns, Basis::Releases);
    }
    let shortest_ns = releases_ns.first().copied().unwrap_or(i64::MAX);
    if shortest_ns <= LOCAL_TOLERANCE_NS + clock_ns {
        return (shortest_ns, Basis::AtSender);
    }
    match half.measured_rtt_ns() {
        Some(rtt_ns) => (rtt_ns, Basis::Replies),
        None => (shortest_ns, Basis::Nothing),
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

/// Of releases on a path without jitter.
fn tolerance_ns(rtt_ns: i64, clock_ns: i64) -> i64 {
    Band::new(rtt_ns, 0, clock_ns).tolerance_ns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::Side;
    use crate::track::story::{Story, client, server};

    const MS: i64 = 1_000_000;

    fn found(half: &Half, releases_ms: &[f64]) -> (i64, Basis) {
        find(half, releases_ms.iter().map(|ms| (ms * 1e6) as i64), 1_000)
    }

    #[test]
    fn one_release_or_two_show_no_round_trip() {
        let unknown = Half::new();
        assert_eq!(found(&unknown, &[2720.6]).1, Basis::Nothing);
        assert_eq!(found(&unknown, &[49.4, 49.5]).1, Basis::Nothing);
        assert_eq!(found(&unknown, &[]), (i64::MAX, Basis::Nothing));
        assert_eq!(found(&unknown, &[170.0, 49.4, 50.9, 49.5]), (49_400_000, Basis::Releases));
        assert_eq!(found(&unknown, &[0.02, 170.0]), (20_000, Basis::AtSender));
    }

    #[test]
    fn releases_that_agree_outvote_an_accidental_one() {
        assert_eq!(found(&Half::new(), &[0.1, 49.4, 49.5, 49.6]), (49_400_000, Basis::Releases));
    }

    #[test]
    fn replies_bound_the_round_trip_and_may_show_it() {
        let replied = Story::new().after_ms(0.0, client(100)).after_ms(30.0, server(100)).end();
        let server = replied.half(Side::Server);
        assert_eq!(found(server, &[29.5]), (30 * MS, Basis::Replies));
        assert_eq!(found(server, &[18.0, 55.0, 55.1, 55.2]), (30 * MS, Basis::Replies));
        assert_eq!(found(server, &[18.0, 18.1, 18.2]), (18 * MS, Basis::Releases));
    }

    #[test]
    fn a_pure_ack_that_may_be_late_bounds_it_too() {
        let acked = Story::new().after_ms(0.0, client(100)).after_ms(50.0, server(0)).end();
        let server = acked.half(Side::Server);
        assert_eq!(found(server, &[170.0, 170.1, 170.2]).1, Basis::Nothing);
        assert_eq!(found(server, &[49.5, 49.6, 49.7]).1, Basis::Releases);
    }
}
