//! Is `TCP_NODELAY` in effect in a direction? Small segments that leave while a small one is
//! unacknowledged show that it is, held ones that it is not.

use crate::judge::findings::{Finding, Findings};
use crate::judge::model::Confidence;
use crate::judge::thresholds::{OPEN_ON, SURELY_HELD};
use crate::named::named;
use crate::track::Side;
use crate::track::half::Half;
use crate::track::wait::fact;
use std::ops::AddAssign;

named! {
    /// Was Nagle's algorithm at work in a direction?
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Nagle {
        On = "on",
        Off = "off",
        Unknown = "unknown",
        /// On until `TCP_NODELAY` was set in the middle of the connection.
        Switched = "switched",
    }
}

impl Nagle {
    /// Was `TCP_NODELAY` seen in effect, even if only in the end?
    pub fn is_off(self) -> bool {
        matches!(self, Self::Off | Self::Switched)
    }
}

/// Connections by what is known of Nagle's algorithm on one side.
#[derive(Debug, Clone, Copy, Default)]
pub struct NagleTotals([u32; 4]);

impl NagleTotals {
    /// Adds one connection.
    pub fn add(&mut self, nagle: Nagle) {
        self.0[nagle as usize] += 1;
    }

    pub fn of(&self, nagle: Nagle) -> u32 {
        self.0[nagle as usize]
    }

    /// The answer that all known ones share, if they agree.
    pub fn name(&self) -> &'static str {
        match self.0 {
            [0, 0, _, 0] => Nagle::Unknown.name(),
            [_, 0, _, 0] => Nagle::On.name(),
            [0, _, _, 0] => Nagle::Off.name(),
            [0, 0, _, _] => Nagle::Switched.name(),
            _ => "mixed",
        }
    }

    pub fn connections(&self) -> u32 {
        self.0.iter().sum()
    }
}

impl AddAssign for NagleTotals {
    fn add_assign(&mut self, more: Self) {
        self.0.iter_mut().zip(more.0).for_each(|(sum, more)| *sum += more);
    }
}

/// The probability that the algorithm was on, over the waits of `side` that may have been holds
/// although something had contradicted before.
fn mean_on(side: Side, findings: Findings<'_>) -> f64 {
    let may_be_held = |finding: &Finding<'_>| {
        let (wait, on) = (finding.wait, finding.held.on);
        wait.by == side && on > 0.0 && wait.contradictions > 0 && !wait.is(fact::DATA_ACK)
    };
    let all = || findings.iter().filter(may_be_held).map(|finding| f64::from(finding.held.on));
    all().sum::<f64>() / all().count().max(1) as f64
}

/// Is the algorithm on, off, or is it not known? With the frames that prove it: the ACK and the held segment,
/// two small segments in flight, or the last one held and one that was not.
///
/// A stall proves it that was surely held.
/// `contradictions`: how many small segments left unheld, as far as that proves something;
/// `corked`: did the kernel hold something back for a cork?
pub fn nagle(
    half: &Half,
    side: Side,
    findings: Findings<'_>,
    contradictions: u32,
    corked: bool,
) -> (Nagle, (u32, u32)) {
    // However short: the answer does not depend on what is listed.
    let own = || {
        findings.iter().filter(|finding| {
            // How data is followed is no proof: the program may be as quick.
            finding.wait.by == side && finding.is_hold() && !finding.wait.is(fact::DATA_ACK)
        })
    };
    let stalls = || own().filter(|hold| hold.confidence() > Confidence::Possible);
    // Set in the middle of a connection, as SSH does after the login, TCP_NODELAY stays set.
    let switched_off = contradictions > 0
        && contradictions as usize > stalls().count()
        && stalls().all(|stall| stall.wait.contradictions == 0);
    let proves = |stall: &Finding<'_>| f64::from(stall.held.probability) >= SURELY_HELD;
    // Data that is written with MSG_MORE waits for the next ACK, too, whatever the option; where no ACK is to
    // come, it waits for a timer (`tcp_push`), and Nagle's algorithm lets it go at once.
    let proof = stalls().find(proves).map(|finding| finding.wait);
    match (stalls().last(), proof) {
        (Some(_), _) if corked => (Nagle::Unknown, (0, 0)),
        (Some(last), _) if switched_off => {
            (Nagle::Switched, (last.wait.to.frame, half.contradiction().1))
        }
        (Some(_), Some(wait)) => (Nagle::On, (wait.ack.frame, wait.to.frame)),
        (Some(_), None) => (Nagle::Unknown, (0, 0)),
        // Possible holds prove nothing on their own; they cancel that many contradictions.
        (None, _) if contradictions as usize <= own().count() => (Nagle::Unknown, (0, 0)),
        // A program that sets and clears the option for each message has both.
        (None, _) if mean_on(side, findings) >= OPEN_ON => (Nagle::Unknown, (0, 0)),
        _ => (Nagle::Off, half.contradiction()),
    }
}
