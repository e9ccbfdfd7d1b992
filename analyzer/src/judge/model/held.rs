//! The model's answers: one for a wait, one for a direction.

use crate::judge::doubts::of_wait::probability_at_most;
use crate::judge::model::relay::LateRelay;
use crate::judge::path::Path;
use crate::judge::thresholds::{
    CERTAIN, LIKELY, OPEN_HOLDS, POSSIBLE, SHARE_OF_SIBLINGS, SHARE_WAITS,
};
use crate::named::named;
use crate::rules;
use crate::track::wait::Wait;

named! {
    /// How sure a stall is.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    enum Confidence {
        Possible = "possible",
        Likely = "likely",
        Certain = "certain",
    }
}

named! {
    /// Verdict of a program's system calls on a segment.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    enum Proof {
        #[default]
        None = "",
        /// Written before the ACK came, and sent only then.
        Proven = "proven",
        /// Written after the ACK had come.
        Refuted = "refuted",
        /// A call said that more was to come (`MSG_MORE`, `TCP_CORK`), and none that it was all.
        Corked = "corked",
    }
}

/// Was a segment held?
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Held {
    /// Probability that it was held.
    pub probability: f32,
    /// Probability that Nagle's algorithm was on.
    pub on: f32,
    /// How much likelier its release and its pause are for a hold than for a program that wrote then.
    pub ratio: f32,
    /// Does nothing tell, as the round trip is not known and the pause is as even as the release?
    pub is_open: bool,
    pub proof: Proof,
    /// From the call that wrote it until it left, in ms, where that proves the hold.
    pub hold_ms: f32,
}

impl Held {
    /// No candidate.
    pub const NOT: Self = Self {
        probability: 0.0,
        on: 0.0,
        ratio: 0.0,
        is_open: false,
        proof: Proof::None,
        hold_ms: 0.0,
    };

    /// The answer that its program's system calls prove.
    pub fn by_calls(self, proof: Proof, hold_ms: f32) -> Self {
        let probability = match proof {
            Proof::None => return self,
            Proof::Proven => 1.0,
            Proof::Refuted | Proof::Corked => 0.0,
        };
        // Nobody had thought it held.
        let is_news = proof != Proof::Refuted || self.confidence().is_some();
        let proof = if is_news { proof } else { Proof::None };
        let on = if proof == Proof::Proven { 1.0 } else { self.on };
        Self { probability, on, is_open: false, proof, hold_ms, ..self }
    }

    /// May it have been held, for all that the capture shows, though that is no stall?
    pub fn is_unsure(&self) -> bool {
        let probability = f64::from(self.probability);
        probability < POSSIBLE && (self.is_open || probability >= OPEN_HOLDS / 2.0)
    }

    pub fn confidence(&self) -> Option<Confidence> {
        let each = [
            (CERTAIN, Confidence::Certain),
            (LIKELY, Confidence::Likely),
            (POSSIBLE, Confidence::Possible),
        ];
        let probability = f64::from(self.probability);
        each.into_iter().find(|(from, _)| probability >= *from).map(|(_, confidence)| confidence)
    }
}

/// The parameters that all waits of one direction share which pure ACKs may have ended, or all of
/// those that data may have.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DirectionModel {
    /// The path between the capture point and the sender.
    pub path: Path,
    /// In the middle the held segments left this long after their ACKs, in ms.
    pub release_ms: f64,
    /// Candidates, and how many of them are expected to have been held; with those of other
    /// connections of the same server.
    pub candidates: f64,
    pub holds: f64,
    /// Probability that what looks held was passed on, or answers data as soon as a kernel
    /// releases; and what adds to it for late ones.
    pub relay: f64,
    pub late: LateRelay,
    /// Log-odds that the algorithm is on, by other connections of the server; how many have candidates.
    pub siblings: f64,
    pub sibling_count: u32,
    /// The part of the ratios that is by the sender's timestamps, instead of the times of the capture.
    pub by_sender_clock: f64,
    /// Rows that show the connection were inferred.
    pub is_inferred: bool,
    /// Where data may have released them: reactions of the program to data while nothing of its own
    /// was outstanding, and how soon the quickest twentieth of those came, in ms.
    pub reactions: u32,
    pub quickest_ms: f64,
}

impl DirectionModel {
    /// Shares among candidates that were held, and had Nagle's algorithm on, with these
    /// probabilities, and `late` others; and a part of the holds and candidates of its whole kind.
    pub fn of(held: &[f32], on: &[f32], late: f64, (all_holds, all_on): (f64, f64)) -> Self {
        let sum = |values: &[f32]| values.iter().map(|&one| f64::from(one)).sum::<f64>();
        let (holds, candidates) = (sum(held), sum(on) + late);
        let siblings = rules::weight("share_of_siblings", SHARE_OF_SIBLINGS);
        Self {
            holds: holds + siblings * (all_holds - holds).max(0.0),
            candidates: candidates + siblings * (all_on - candidates).max(0.0),
            ..Self::default()
        }
    }

    /// The probability at most that its clock allows for a wait, or rows that were inferred; and why.
    pub fn most(&self, wait: &Wait) -> (f64, &'static str) {
        probability_at_most(wait, &self.path, self.is_inferred)
    }

    /// Probability that this wait, if it looks held, was passed on.
    pub fn passed_on(&self, wait: &Wait) -> f64 {
        1.0 - (1.0 - self.relay) * (1.0 - self.late.probability(&self.path, wait))
    }

    /// The share of waits that are holds while Nagle's algorithm is on, without the one of this answer.
    pub fn share_beside(&self, held: &Held, wait: &Wait) -> f64 {
        let own = f64::from(held.probability) / (1.0 - self.passed_on(wait));
        self.share(own.min(1.0), held.on.into())
    }

    /// The share that the other candidates of its kind show.
    pub fn share(&self, held: f64, on: f64) -> f64 {
        if rules::off("share") {
            return 0.5;
        }
        let (holds, waits) = (self.holds - held, self.candidates - on);
        let known = (SHARE_WAITS / waits.max(1e-9)).min(1.0);
        (1.0 + known * holds) / (2.0 + known * waits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::model::chain::of_share;

    /// Five hundred waits before it were holds.
    #[test]
    fn timing_that_speaks_for_the_program_is_never_likely() {
        let model = DirectionModel { holds: 500.0, candidates: 500.0, ..Default::default() };
        let likely = |ratio: f64| of_share(model.share(0.0, 0.0), ratio) >= LIKELY;
        assert_eq!([0.4, 1.0, 2.0, 3.0, 1000.0].map(likely), [false, false, false, true, true]);
    }
}
