//! Is `TCP_NODELAY` in effect in a direction? Small segments that leave while a small one is
//! unacknowledged show that it is, held ones that it is not.

use crate::judge::confidence::{Confidence, Doubt};
use crate::judge::findings::{Finding, Findings};
use crate::judge::releases::{Releases, ReleasesOf};
use crate::judge::thresholds::{CHANCE_AMONG_OTHERS, CONTRADICTED, NEIGHBOURS, QUIET_NEIGHBOURS};
use crate::track::wait::{Wait, fact};
use crate::track::{Half, Side};
use serde::Serialize;
use std::ops::AddAssign;

/// Was Nagle's algorithm at work in a direction?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nagle {
    On,
    Off,
    Unknown,
}

impl Nagle {
    pub const NAMES: [&'static str; 3] = ["on", "off", "unknown"];

    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// Connections by what is known of Nagle's algorithm on one side.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct NagleTotals {
    pub on: u32,
    pub off: u32,
    pub unknown: u32,
}

impl NagleTotals {
    /// Of one connection.
    pub fn of(nagle: Nagle) -> Self {
        let one = |judged| u32::from(nagle == judged);
        Self { on: one(Nagle::On), off: one(Nagle::Off), unknown: one(Nagle::Unknown) }
    }

    /// Of all that are known, if they agree.
    pub fn name(&self) -> &'static str {
        match (self.on, self.off) {
            (0, 0) => Nagle::Unknown.name(),
            (_, 0) => Nagle::On.name(),
            (0, _) => Nagle::Off.name(),
            _ => "mixed",
        }
    }

    pub fn connections(&self) -> u32 {
        self.on + self.off + self.unknown
    }
}

impl AddAssign for NagleTotals {
    fn add_assign(&mut self, more: Self) {
        self.on += more.on;
        self.off += more.off;
        self.unknown += more.unknown;
    }
}

/// Is the algorithm on, off, or is it not known? With the frames that prove it.
///
/// A stall proves it if no program writes so close to the ACK, and if nothing else left without waiting
/// where the stall is less than certain.
pub fn nagle(
    half: &Half,
    side: Side,
    findings: Findings<'_>,
    releases: Option<&ReleasesOf>,
) -> (Nagle, (u64, u64)) {
    let own = || findings.stalls().filter(|finding| finding.wait.by == side);
    let stalls = || {
        own()
            .filter(Finding::is_sure)
            // What a relay passed on says nothing of its socket.
            .filter(|finding| !finding.doubts.iter().any(Doubt::is_relay))
    };
    let contradictions = half.contradictions();
    // Set in the middle of a connection, as SSH does after the login, TCP_NODELAY stays set.
    let switched_off = contradictions as usize > stalls().count()
        && stalls().all(|stall| stall.wait.contradictions == 0);
    let proves = |finding: &Finding<'_>| {
        let of_wait = releases.map(|releases| releases.of(finding.wait));
        let chance = of_wait.map_or(1.0, |releases| releases.chance(finding.wait));
        let doubted = finding.doubts.has(Doubt::Contradicted);
        let sure = finding.confidence() == Confidence::Certain;
        sure || (chance < CHANCE_AMONG_OTHERS && !doubted)
    };
    let proof = stalls().find(proves).map(|finding| finding.wait);
    match (stalls().next(), proof) {
        (Some(_), Some(wait)) if !switched_off => (Nagle::On, (wait.ack.frame, wait.to.frame)),
        (Some(_), None) if !switched_off => (Nagle::Unknown, (0, 0)),
        // What is only possible proves nothing, but as much as as many contradictions.
        (None, _) if contradictions as usize <= own().count() => (Nagle::Unknown, (0, 0)),
        _ => (Nagle::Off, half.contradiction()),
    }
}

/// A wait that [`Releases::holds`] accepts, as [`contradicted`] sees it.
#[derive(Debug, Clone, Copy)]
pub struct Candidate {
    /// Small segments its sender had sent before it while a small one was unacknowledged.
    pub contradictions: u32,
    /// Is it most unlikely to be a coincidence, taken by itself?
    pub sure: bool,
}

impl Candidate {
    /// Of a wait that is a hold by its `releases`.
    pub fn new(wait: &Wait, releases: &Releases) -> Self {
        let sure = wait.is(fact::UNACKED_SMALL) && releases.chance(wait) < CHANCE_AMONG_OTHERS;
        Self { contradictions: wait.contradictions, sure }
    }
}

/// For each of the candidates of one direction, in order: was Nagle off around it?
///
/// `total` is the direction's final count of contradictions. Judged near the candidate in time:
/// programs switch TCP_NODELAY in the middle of a connection, and a single exception among
/// thousands of segments clears nothing. Before the first one nothing speaks against a hold: many
/// programs set the option after a login, as SSH does.
pub fn contradicted(candidates: &[Candidate], total: u32) -> Vec<bool> {
    let contradictions: Vec<u32> = candidates.iter().map(|c| c.contradictions).collect();
    let count = contradictions.len();
    let mostly_off = total as usize > count;
    (0..count)
        .map(|index| {
            let left = index.saturating_sub(NEIGHBOURS);
            let right = index + NEIGHBOURS;
            let before = if left == 0 { 0 } else { contradictions[left] };
            let after = contradictions.get(right).copied().unwrap_or(total);
            let here = contradictions[index];
            let rate_before = f64::from(here.saturating_sub(before)) / (index - left + 1) as f64;
            let rate_after =
                f64::from(after.saturating_sub(here)) / (right.min(count - 1) - index + 1) as f64;
            let both_sides = rate_before.min(rate_after) >= CONTRADICTED;
            let first = here == 0 && candidates[index].sure;
            both_sides || (mostly_off && !first && !in_quiet_run(&contradictions, index))
        })
        .collect()
}

/// Three candidates in a row with no contradiction between them.
fn in_quiet_run(contradictions: &[u32], index: usize) -> bool {
    let same = |other: usize| contradictions.get(other) == Some(&contradictions[index]);
    let before =
        (1..=QUIET_NEIGHBOURS).take_while(|&step| index >= step && same(index - step)).count();
    let after = (1..=QUIET_NEIGHBOURS).take_while(|&step| same(index + step)).count();
    before + after >= QUIET_NEIGHBOURS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(contradictions: impl Iterator<Item = u32>, sure: bool) -> Vec<Candidate> {
        contradictions.map(|contradictions| Candidate { contradictions, sure }).collect()
    }

    #[test]
    fn switching_nodelay_on_late_clears_nothing_before() {
        let before = candidates([0; 20].into_iter(), false);
        assert!(contradicted(&before, 500).iter().all(|&off| !off));
    }

    #[test]
    fn a_single_hold_before_nodelay_was_switched_on_must_be_no_coincidence() {
        let counts = || [0, 40, 90].into_iter();
        assert_eq!(contradicted(&candidates(counts(), true), 500), [false, true, true]);
        assert_eq!(contradicted(&candidates(counts(), false), 500), [true, true, true]);
    }

    #[test]
    fn contradictions_all_around_mean_coincidence() {
        let all_around = candidates((0..20).map(|index| index * 2 + 1), true);
        assert!(contradicted(&all_around, 60).iter().all(|&off| off));
    }

    #[test]
    fn one_exception_among_many_clears_nothing() {
        let with_one = candidates((0..40).map(|index| u32::from(index >= 20)), false);
        assert!(contradicted(&with_one, 1).iter().all(|&off| !off));
    }
}
