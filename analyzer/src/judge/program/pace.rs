//! The program's own pace: waits that look like holds and are the program's doing.

use crate::judge::path::releases::Releases;
use crate::judge::statistics;
use crate::judge::thresholds::{
    COARSE_CLOCK_NS, LEAST_HOLD_NS, PACE_SPREAD_NS, PACE_SPREAD_SHARE, RHYTHM_EVENTS,
    SECURE_RELEASES, STEADIER,
};
use crate::track::wait::Wait;
use crate::track::{NETWORK_RTT_NS, Pause, Pauses, Side};
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// Do these waits keep a period of their own? A held segment follows its ACK, so its wait varies
/// with the ACK and its release does not; a program that writes periodically is the reverse.
pub fn is_periodic<'a>(waits: impl Iterator<Item = &'a Wait>) -> bool {
    let (lengths, releases): (Vec<i64>, Vec<i64>) =
        waits.map(|wait| (wait.span_ns(), wait.release_ns())).unzip();
    lengths.len() >= RHYTHM_EVENTS
        && statistics::standard_deviation(&lengths)
            < STEADIER * statistics::standard_deviation(&releases)
}

/// The application's own pace: how long it pauses between two writes of given lengths where no
/// missing ACK can have held the second.
///
/// The wire bounds a hold from above only: a program that sleeps 40 ms between two writes is held
/// for the rest of the timer, 0-4 ms, though the wire shows 44.
#[derive(Debug, Default)]
pub struct Pace {
    /// By the lengths of the writes; with each the shortest wait between such writes that an ACK ended.
    pauses: HashMap<(u32, u32), (Pause, i64), RandomState>,
    /// There were pauses between writes of other lengths, too.
    is_partial: bool,
    /// The longest pause without a late ACK, if all of them are like the waits that an ACK ended.
    alike: Option<i64>,
    /// May jitter make a pause look longer than a hold, or a hold like a pause?
    is_network: bool,
}

impl Pace {
    /// From the `long` pauses of `side`, and those of its `waits` that did not end with an ACK.
    pub fn of(side: Side, waits: &[Wait], releases: &Releases, long: &Pauses) -> Self {
        let is_network = releases.band.center_ns >= NETWORK_RTT_NS;
        let mut pace = Self { is_partial: long.is_partial, is_network, ..Self::default() };
        long.iter().for_each(|pause| pace.add(pause));
        let own = || waits.iter().filter(|wait| wait.by == side && wait.is_freed());
        let is_pause = |wait: &&Wait| {
            let late = wait.release_ns() > releases.band.center_ns;
            releases.left_before_ack(wait) || (late && !releases.follows_ack(wait))
        };
        let follows = |wait: &&Wait| releases.follows_ack(wait) && !releases.left_before_ack(wait);
        own().filter(is_pause).for_each(|wait| pace.add(&Pause::new(wait)));
        if !pace.pauses.is_empty() {
            own().filter(follows).for_each(|wait| pace.note(wait));
        }
        let by_chance = is_network
            || releases.clock_ns >= COARSE_CLOCK_NS
            || releases.in_band < SECURE_RELEASES;
        pace.alike = match by_chance {
            true => releases.pauses_alike(side, waits),
            false => None,
        };
        pace
    }

    /// Adds pauses of the program.
    fn add(&mut self, more: &Pause) {
        self.pauses
            .entry((more.unacked_len, more.len))
            .and_modify(|(pause, _)| pause.add(more))
            .or_insert((*more, i64::MAX));
    }

    /// Notes a wait that an ACK ended, if the program pauses between writes of these lengths.
    fn note(&mut self, wait: &Wait) {
        if let Some((_, min_held_ns)) = self.pauses.get_mut(&(wait.unacked_len, wait.len)) {
            *min_held_ns = wait.span_ns().min(*min_held_ns);
        }
    }

    /// Does the program's own pause explain most of these waits? Where most of them are longer,
    /// Nagle's algorithm is at work, and it is the program that fills up the others.
    pub fn explains_most<'a>(&self, waits: impl Iterator<Item = &'a Wait>) -> bool {
        if self.pauses.is_empty() && self.alike.is_none() {
            return false;
        }
        let (mut all, mut explained) = (0, 0);
        // Whether the program pauses between writes of other lengths is not known of all of them.
        let is_known = |wait: &&Wait| {
            !self.is_partial || self.pauses.contains_key(&(wait.unacked_len, wait.len))
        };
        for wait in waits.filter(is_known) {
            all += 1;
            explained += u32::from(self.explains(wait));
        }
        2 * explained > all
    }

    /// Does the program pause for so long by itself that nothing worth a report is left?
    fn explains(&self, wait: &Wait) -> bool {
        if self.alike.is_some_and(|longest_ns| wait.span_ns() - longest_ns < LEAST_HOLD_NS) {
            return true;
        }
        let Some((pause, min_held_ns)) = self.pauses.get(&(wait.unacked_len, wait.len)) else {
            return false;
        };
        let spread_ns = PACE_SPREAD_NS + pause.min_ns / PACE_SPREAD_SHARE;
        let steady = pause.max_ns - pause.min_ns <= spread_ns;
        let reliable = match pause.count {
            1 => {
                let left_ns = min_held_ns - pause.min_ns;
                pause.early_ack && (-PACE_SPREAD_NS..LEAST_HOLD_NS).contains(&left_ns)
            }
            // Whoever once wrote much sooner does not always pause.
            _ => steady && pause.min_ns - min_held_ns < LEAST_HOLD_NS,
        };
        // Nobody writes before the end of a pause. A late release on a bad path looks like a longer one.
        let early_ns = if self.is_network { PACE_SPREAD_NS } else { spread_ns };
        reliable && (-early_ns..LEAST_HOLD_NS).contains(&(wait.span_ns() - pause.min_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::path::sender_rtt::Basis;
    use crate::track::Mark;
    use crate::track::band::Band;
    use crate::track::wait::fact;

    fn wait(ack_ns: i64, to_ns: i64) -> Wait {
        Wait {
            from: Mark { time_ns: 0, frame: 1 },
            to: Mark { time_ns: to_ns, frame: 3 },
            ack: Mark { time_ns: ack_ns, frame: 2 },
            len: 1,
            unacked_len: 1,
            ..Wait::unknown(0, Side::Client)
        }
    }

    #[test]
    fn a_wait_steadier_than_its_release_is_a_programs_period() {
        let late = |index: i64| 42_000_000 + index % 5 * 400_000;
        let periodic: Vec<Wait> = (0..30).map(|index| wait(late(index), 44_000_000)).collect();
        let held: Vec<Wait> =
            (0..30).map(|index| wait(late(index), late(index) + 20_000 + index % 3)).collect();
        assert!(is_periodic(periodic.iter()));
        assert!(!is_periodic(held.iter()));
        assert!(!is_periodic(periodic[..4].iter()));
    }

    /// Over a network two late releases look like pauses; but most segments left sooner.
    #[test]
    fn a_late_release_on_a_bad_path_is_no_pause_that_explains_shorter_waits() {
        const MS: i64 = 1_000_000;
        let band = Band { center_ns: 13 * MS, tolerance_ns: 3 * MS };
        let releases = Releases { band, basis: Basis::Handshake, ..Releases::default() };
        let held = |ack_ms: i64, release_ms: i64| Wait {
            facts: fact::OWN_DATA_BEFORE | fact::PURE_ACK,
            ..wait(ack_ms * MS, (ack_ms + release_ms) * MS)
        };
        let prompt = [54, 56, 57, 55, 56].map(|ack_ms| held(ack_ms, 14));
        let late = [held(56, 18), held(57, 18)];
        let waits: Vec<Wait> = prompt.into_iter().chain(late).collect();
        let pace = Pace::of(Side::Client, &waits, &releases, &Pauses::NONE);
        assert!(!pace.explains_most(prompt.iter()));
        assert!(pace.explains_most(late.iter()));
    }

    /// Most releases are prompt; two are late, on a loaded machine, and equally so by chance.
    #[test]
    fn a_pause_does_not_explain_what_was_sent_before_its_end() {
        let band = Band { center_ns: 40_000, tolerance_ns: 500_000 };
        let releases = Releases { band, basis: Basis::Handshake, ..Releases::default() };
        let held = |ack_ns: i64, release_ns: i64| Wait {
            facts: fact::OWN_DATA_BEFORE | fact::PURE_ACK,
            ..wait(ack_ns, ack_ns + release_ns)
        };
        let prompt = [66_950_000, 69_700_000, 67_450_000].map(|ack_ns| held(ack_ns, 50_000));
        let late = [69_070_000, 67_480_000].map(|ack_ns| held(ack_ns, 77_300_000 - ack_ns));
        let sleeping = [77_100_000, 77_250_000, 77_280_000].map(|ack_ns| held(ack_ns, 50_000));
        let mut pauses = Pauses::NONE;
        for wait in &late {
            pauses.add(Pause::new(wait));
        }
        let explains = |waits: &[Wait], long: &Pauses| {
            Pace::of(Side::Client, waits, &releases, long).explains_most(waits.iter())
        };
        assert!(!explains(&prompt, &pauses));
        assert!(explains(&sleeping, &pauses) && !explains(&sleeping, &Pauses::NONE));
    }
}
