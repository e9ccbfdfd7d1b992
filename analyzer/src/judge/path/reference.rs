//! Where a path varies: each release is compared with how its sender reacted near by in time, and the
//! sender's timestamps take its own segment's way off it (RFC 7323).
//!
//! What varies on the way to the sender shows in its reactions of the same second. What varies on the way
//! from it, a full queue say, shows in the capture's time less the timestamp, which ticks at the sender.

use crate::judge::statistics;
use crate::judge::thresholds::{
    NEAR_IN_TIME_NS, NEAR_PATH_ONE_OF, REACTION_SPREADS, TICK_OFF_ONE_OF, TICKS_NS,
};
use crate::track::Side;
use crate::track::thresholds::{MAX_TOLERANCE_NS, NETWORK_TOLERANCE_NS};
use crate::track::wait::{Reaction, Wait};
use serde::{Deserialize, Serialize};

/// What releases are compared with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Frame {
    /// The round trip.
    #[default]
    Fixed,
    /// The reaction near by in time, or the round trip.
    Near,
    /// The same in the sender's own time.
    Stamped(Stamps),
    /// Anything from the round trip on that the path allows: other waits show that only the ACK was
    /// waited for.
    Followed,
}

/// The timestamps of a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamps {
    tick_ns: i64,
    /// A segment's time and timestamp.
    origin: (i64, u32),
    /// The promptest reaction, in the sender's time from `origin` on.
    prompt_ns: i64,
}

impl Stamps {
    /// Of `waits` of one direction, if its timestamps tick evenly.
    fn of<'a>(waits: impl Iterator<Item = &'a Wait> + Clone) -> Option<Self> {
        let mut stamped = waits.filter(|wait| wait.tsval != 0);
        let first = stamped.next()?;
        let last = stamped.clone().last()?;
        let origin = (first.to.time_ns, first.tsval);
        let tick_ns = tick_ns(last.to.time_ns - origin.0, last.tsval.wrapping_sub(origin.1))?;
        let stamps = Self { tick_ns, origin, prompt_ns: 0 };
        let reactions = std::iter::once(first).chain(stamped);
        let prompt_ns = reactions.filter_map(|wait| stamps.reacted_ns(wait)).min()?;
        Some(Self { prompt_ns, ..stamps })
    }

    /// How much longer than the first segment one took from the sender to the capture point.
    fn way_ns(&self, time_ns: i64, tsval: u32) -> i64 {
        let ticks = i64::from(tsval.wrapping_sub(self.origin.1).cast_signed());
        (time_ns - self.origin.0) - ticks * self.tick_ns
    }

    /// The release in the sender's time.
    fn released_ns(&self, wait: &Wait) -> Option<i64> {
        (wait.tsval != 0).then(|| wait.release_ns() - self.way_ns(wait.to.time_ns, wait.tsval))
    }

    /// The reaction near by in the sender's time.
    fn reacted_ns(&self, wait: &Wait) -> Option<i64> {
        let Reaction { tsval, .. } = wait.reaction;
        let took_ns = near_ns(wait).filter(|_| tsval != 0)?;
        let at_ns = wait.to.time_ns - i64::from(wait.reaction.since_us) * 1000;
        Some(took_ns - self.way_ns(at_ns, tsval))
    }
}

impl Frame {
    /// How late a release is that is so late after the round trip.
    #[inline]
    pub fn off_ns(&self, wait: &Wait, fixed_ns: i64) -> i64 {
        match self {
            Self::Fixed => fixed_ns,
            _ => self.varying_off_ns(wait, fixed_ns),
        }
    }

    fn varying_off_ns(&self, wait: &Wait, fixed_ns: i64) -> i64 {
        let near = || near_ns(wait).map(|took_ns| wait.release_ns() - took_ns);
        match self {
            Self::Fixed | Self::Followed => fixed_ns,
            Self::Near => nearest([Some(fixed_ns), near()]),
            Self::Stamped(stamps) => match stamps.released_ns(wait) {
                Some(released_ns) => nearest([
                    stamps.reacted_ns(wait).map(|reacted_ns| released_ns - reacted_ns),
                    Some(released_ns - stamps.prompt_ns),
                ]),
                None => nearest([Some(fixed_ns), near()]),
            },
        }
    }
}

/// Frames that may explain the releases of one direction, each with its tolerance.
pub fn frames<'a>(waits: impl Iterator<Item = &'a Wait> + Clone) -> Vec<(Frame, i64)> {
    let near: Vec<i64> = waits.clone().filter_map(near_ns).collect();
    let stamps = Stamps::of(waits.clone());
    let stamped = stamps.and_then(|stamps| {
        let reacted: Vec<i64> = waits.filter_map(|wait| stamps.reacted_ns(wait)).collect();
        Some((Frame::Stamped(stamps), tolerance_ns(&reacted, &near)? + stamps.tick_ns))
    });
    let near = tolerance_ns(&near, &near).map(|tolerance_ns| (Frame::Near, tolerance_ns));
    stamped.into_iter().chain(near).collect()
}

/// As far as successive reactions differ, but no more than a part of how long they take.
fn tolerance_ns(reactions_ns: &[i64], took_ns: &[i64]) -> Option<i64> {
    let mut steps: Vec<i64> = reactions_ns.windows(2).map(|two| (two[1] - two[0]).abs()).collect();
    let most_ns = statistics::lower(&mut took_ns.to_vec())? / NEAR_PATH_ONE_OF;
    let spread_ns = REACTION_SPREADS * statistics::upper(&mut steps)?;
    Some((NETWORK_TOLERANCE_NS + spread_ns).min(most_ns.max(MAX_TOLERANCE_NS)))
}

fn nearest<const N: usize>(off_ns: [Option<i64>; N]) -> i64 {
    off_ns.into_iter().flatten().min_by_key(|off_ns| off_ns.abs()).unwrap_or(i64::MAX / 4)
}

/// How soon the sender of a wait reacted near by in time.
pub fn near_ns(wait: &Wait) -> Option<i64> {
    let since_ns = i64::from(wait.reaction.since_us).abs() * 1000;
    wait.reaction.took_ns().filter(|_| since_ns <= NEAR_IN_TIME_NS)
}

/// The step of timestamps that tell `ticks` of them in so long a time.
fn tick_ns(elapsed_ns: i64, ticks: u32) -> Option<i64> {
    let is_it = |tick_ns: &i64| {
        let told_ns = i64::from(ticks) * tick_ns;
        ticks > 0 && (told_ns - elapsed_ns).abs() <= elapsed_ns / TICK_OFF_ONE_OF
    };
    TICKS_NS.into_iter().find(is_it)
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
    next.reaction.took_ns()?;
    let at_ns = next.to.time_ns - i64::from(next.reaction.since_us) * 1000;
    let since_us = i32::try_from((wait.to.time_ns - at_ns) / 1000).ok()?;
    let later = Wait { reaction: Reaction { since_us, ..next.reaction }, ..*wait };
    let off_ns = |wait: &Wait| near_ns(wait).map(|took_ns| (wait.release_ns() - took_ns).abs());
    let better = off_ns(&later)? < off_ns(wait).unwrap_or(i64::MAX);
    (since_us < 0 && better).then_some(later.reaction)
}
