//! Where a path varies: each release is compared with how its sender reacted near by in time, and the
//! sender's timestamps take its own segment's way off it (RFC 7323).
//!
//! What varies on the way to the sender shows in its reactions of the same second. What varies on the way
//! from it, a full queue say, shows in the capture's time less the timestamp, which ticks at the sender.

use crate::judge::path::sender_clock::SenderClock;
use crate::judge::statistics;
use crate::judge::thresholds::{NEAR_PATH_ONE_OF, REACTION_SPREADS};
use crate::track::Side;
use crate::track::thresholds::{MAX_TOLERANCE_NS, NETWORK_TOLERANCE_NS};
use crate::track::wait::{Reaction, Wait};
use serde::{Deserialize, Serialize};

/// What releases are compared with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub enum Reference {
    /// The round trip.
    #[default]
    RoundTrip,
    /// The reaction near by in time, or the round trip.
    Reaction,
    /// When the ACK came, in the sender's own time.
    Timestamps(SenderClock),
    /// Anything from the round trip on that the path allows: other waits show that only the ACK was
    /// waited for.
    Ack,
}

impl Reference {
    /// How late a release is that is so late after the round trip.
    #[inline]
    pub fn off_ns(&self, wait: &Wait, round_trip_off_ns: i64) -> i64 {
        match self {
            Self::RoundTrip => round_trip_off_ns,
            _ => self.varying_off_ns(wait, round_trip_off_ns),
        }
    }

    fn varying_off_ns(&self, wait: &Wait, round_trip_off_ns: i64) -> i64 {
        let near = || wait.reaction.took_ns().map(|took_ns| wait.release_ns() - took_ns);
        match self {
            Self::RoundTrip | Self::Ack => round_trip_off_ns,
            Self::Reaction => nearest([Some(round_trip_off_ns), near()]),
            Self::Timestamps(clock) => clock.off_ns(wait).unwrap_or(round_trip_off_ns),
        }
    }
}

/// How far a release of `waits` may be off the reaction near by: as far as successive reactions differ, but
/// no more than a part of how long they take.
pub fn near_tolerance_ns<'a>(waits: impl Iterator<Item = &'a Wait>) -> Option<i64> {
    let mut near: Vec<i64> = waits.filter_map(|wait| wait.reaction.took_ns()).collect();
    let mut steps: Vec<i64> = near.windows(2).map(|two| (two[1] - two[0]).abs()).collect();
    let most_ns = statistics::lower(&mut near)? / NEAR_PATH_ONE_OF;
    let spread_ns = REACTION_SPREADS * statistics::upper(&mut steps)?;
    Some((NETWORK_TOLERANCE_NS + spread_ns).min(most_ns.max(MAX_TOLERANCE_NS)))
}

fn nearest<const N: usize>(off_ns: [Option<i64>; N]) -> i64 {
    off_ns.into_iter().flatten().min_by_key(|off_ns| off_ns.abs()).unwrap_or(i64::MAX / 4)
}

/// Each wait knows how its sender reacted before it; the next one of the same sender, how it reacted
/// after: the one that the release is like counts.
pub fn share_reactions(waits: &mut [Wait]) {
    for side in Side::BOTH {
        let mut earlier: Option<usize> = None;
        for at in 0..waits.len() {
            if waits[at].by != side || !waits[at].is_freed() {
                continue;
            }
            if let Some(later) = earlier.and_then(|earlier| after(&waits[earlier], &waits[at])) {
                waits[earlier.unwrap_or(at)].reaction = later;
            }
            earlier = Some(at);
        }
    }
}

/// How the sender reacted after `wait`, as `next` knows it, if that is more like the release.
fn after(wait: &Wait, next: &Wait) -> Option<Reaction> {
    // Mostly none was noted.
    let took_ns = next.reaction.took_ns()?;
    let at_ns = next.to.time_ns - i64::from(next.reaction.since_us) * 1000;
    let since_us = i32::try_from((wait.to.time_ns - at_ns) / 1000).ok()?;
    let off_ns = |took_ns: i64| (wait.release_ns() - took_ns).abs();
    let better = off_ns(took_ns) < wait.reaction.took_ns().map_or(i64::MAX, off_ns);
    (since_us < 0 && better).then_some(Reaction { since_us, ..next.reaction })
}
