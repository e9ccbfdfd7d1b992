//! The evidence of one direction: its waits as events, its chain, its sender's clock.

use crate::judge::doubts::hides;
use crate::judge::doubts::of_wait::DoubtedWait;
use crate::judge::model::candidates;
use crate::judge::model::chain::{Chain, Evidence};
use crate::judge::model::density;
use crate::judge::model::ratios::{Event, Manner, OtherPause, Series};
use crate::judge::model::sender_clock::SenderClock;
use crate::judge::model::sets::CandidateSet;
use crate::judge::thresholds::{
    BLURRED_RTT_MS, BLURRED_WITHIN, BOUND, COARSE_CLOCK_MS, FEW_RELEASES, LEARNT_PAUSES, NAGLE_ON,
    OPEN_RATIO,
};
use crate::rules;
use crate::track::thresholds::AT_ONCE_NS;
use crate::track::wait::Wait;

/// OpenSSH sets `TCP_NODELAY` at both ends once the user is known, and no sooner.
const SSH_PORT: u16 = 22;

/// The waits of a direction by the clock of its sender.
pub struct OwnClock {
    pub series: Series,
    /// By both clocks.
    pub ratios: Vec<f32>,
    /// How much of it is this clock's, from 0 to 1.
    pub weight: f64,
}

impl CandidateSet<'_> {
    pub fn event(&self, at: usize) -> Event {
        let wait = self.wait(at);
        let release_ms = wait.release_ns() as f64 / 1e6;
        let pause_ms = wait.span_ns() as f64 / 1e6;
        // The pause of a segment that answers data begins with that data.
        let (pause_ms, program) = match &self.reactions {
            Some(reactions) => {
                (release_ms, density::answer(reactions, release_ms, self.path().step_ms))
            }
            None => (pause_ms, density::pause(pause_ms)),
        };
        let hold = self.path().release(release_ms);
        Event {
            time_ns: wait.to.time_ns,
            release_ms: (release_ms - self.path().yardstick_ms().unwrap_or(0.0)) as f32,
            pause_ms: pause_ms as f32,
            hold: hold as f32,
            program: program as f32,
            allowed: self.path().allows(release_ms) as f32,
            most: self.most(wait).0 as f32,
            taught: Event::taught(hold, program),
        }
    }

    /// The ratio of a candidate at most, and why.
    pub fn most(&self, wait: &Wait) -> (f64, &'static str) {
        let paths = self.directions.each_ref().map(|direction| &direction.path);
        DoubtedWait { wait, connection: self.connection, paths, before: &[] }.most()
    }

    pub fn other_pauses(&self) -> impl Iterator<Item = OtherPause> {
        let mut candidates = self.candidates.iter().copied().peekable();
        let others = (0..).zip(self.waits).filter(move |(at, wait)| {
            let is_candidate = candidates.next_if_eq(at).is_some();
            !is_candidate
                && self.reactions.is_none()
                && wait.by == self.side
                && wait.is_evidence() != self.is_short
                && candidates::is_other_pause(wait)
        });
        others.map(|(_, wait)| (wait.to.time_ns, wait.span_ns() as f64 / 1e6))
    }

    pub fn chain(&self, ratios: &[f32], log_odds: f64) -> Chain {
        self.chain_of(self.candidate_waits(), ratios, log_odds)
    }

    /// The chain of some of its waits.
    pub fn chain_of<'b>(
        &self,
        waits: impl Iterator<Item = &'b Wait>,
        ratios: &[f32],
        log_odds: f64,
    ) -> Chain {
        let half = self.connection.half(self.side);
        let mut last = 0;
        let both = waits.map(|wait| {
            let more = wait.contradictions.saturating_sub(last);
            last = last.max(wait.contradictions);
            (more, self.most(wait).0 >= BOUND)
        });
        let (mut contradictions, shows): (Vec<u32>, Vec<bool>) = both.unzip();
        let rest = half.contradictions().saturating_sub(last);
        contradictions.push(rest + half.doubtful_contradictions());
        let step_ms = self.path().step_ms;
        let evidence = Evidence {
            contradictions: &contradictions,
            shows: &shows,
            late: half.contradicts_late()
                && self.connection.halves.iter().any(|half| half.unseen().0 > 0)
                || half.contradicts_at_once() && step_ms * 1e6 <= AT_ONCE_NS as f64,
            // A coarse clock does not tell an early segment from one that an ACK let go.
            is_hidden: half.has_excused()
                || self.direction().doubts.hide(hides::UNHELD)
                || step_ms >= COARSE_CLOCK_MS,
            step_ms,
            sets_later: self.connection.ends().server.port == SSH_PORT,
        };
        Chain::of(ratios, evidence, log_odds)
    }

    /// Evidence of the sender's timestamps, across a network.
    pub fn own_clock(&self) -> Option<(OwnClock, Chain)> {
        if !self.path().far || rules::off("own_clock") {
            return None;
        }
        let waits = self.candidate_waits();
        let clock = SenderClock::of(waits.clone())?;
        let event = |wait: &Wait| {
            let known = clock.interval(wait);
            let (release_ms, pause_ms) = known.unwrap_or((f64::NAN, f64::NAN));
            Event {
                time_ns: wait.to.time_ns,
                release_ms: release_ms as f32,
                pause_ms: pause_ms as f32,
                hold: density::pause(wait.span_ns() as f64 / 1e6) as f32,
                program: density::pause(pause_ms) as f32,
                allowed: 1.0,
                most: self.most(wait).0 as f32,
                taught: 1.0,
            }
        };
        let releases = clock.widths();
        let manner = Manner { releases, pauses: releases, learnt_pauses: LEARNT_PAUSES.0 };
        let series = Series { events: waits.map(event).collect(), others: Vec::new(), manner };
        let ratios = series.by_windows(Series::ratios_from_past);
        let chain = self.chain(&ratios, NAGLE_ON);
        Some((OwnClock { series, ratios, weight: 0.0 }, chain))
    }

    /// Does nothing tell holds from pauses? No small segment was sent unheld; and the round trip is not
    /// known while releases are as even as pauses, or it varies and several come about as late as that.
    pub fn is_open(&self, from_past: &[f32]) -> bool {
        if rules::off("open") {
            return false;
        }
        let mostly = |count: usize| 2 * count > self.candidates.len();
        let even = || from_past.iter().filter(|&&ratio| f64::from(ratio) >= OPEN_RATIO).count();
        match self.path().yardstick_ms() {
            None => self.path().far && !self.has_contradicted() && mostly(even()),
            Some(_) => self.blurred() >= FEW_RELEASES as usize,
        }
    }

    /// Releases that come about a round trip after their ACKs, where that is long enough to vary by
    /// a pause and nothing contradicts.
    pub fn blurred(&self) -> usize {
        let is_long = |rtt_ms: &f64| *rtt_ms >= BLURRED_RTT_MS && !self.has_contradicted();
        let Some(rtt_ms) = self.path().yardstick_ms().filter(is_long) else { return 0 };
        let about = rtt_ms / BLURRED_WITHIN..=rtt_ms * BLURRED_WITHIN;
        let releases = self.candidate_waits().map(|wait| wait.release_ns() as f64 / 1e6);
        releases.filter(|release_ms| about.contains(release_ms)).count()
    }

    fn has_contradicted(&self) -> bool {
        self.connection.half(self.side).contradictions() > 0
    }
}

/// Ratios by two clocks, the second with this weight.
pub fn blended(ratios: &[f32], by_clock: &[f32], weight: f64) -> Vec<f32> {
    let weight = weight as f32;
    let both = ratios.iter().zip(by_clock);
    both.map(|(one, other)| (weight * other.ln() + (1.0 - weight) * one.ln()).exp()).collect()
}
