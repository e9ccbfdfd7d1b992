//! Findings: waits with their rulings.

use crate::judge::causes::{Cause, ledger};
use crate::judge::model::{Confidence, Held, Proof};
use crate::track::wait::{Wait, fact};
use std::ops::Range;

/// The cause of a wait. Kept apart from the wait, which holds only what the capture shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ruling {
    pub cause: Cause,
    /// Its place in the ledger.
    row: u8,
    pub held: Held,
}

impl Ruling {
    /// By this row of the ledger.
    pub fn new(row: u8, held: Held) -> Self {
        Self { cause: ledger::ROWS[usize::from(row)].cause, row, held }
    }

    /// By the first row of the ledger with this cause.
    #[cfg(test)]
    pub fn of(cause: Cause, held: Held) -> Self {
        let row = ledger::ROWS.iter().position(|row| row.cause == cause);
        Self::new(row.unwrap_or_default() as u8, held)
    }

    /// This cause, and how likely it was held by other evidence.
    pub fn with(self, held: Held) -> Self {
        Self { held, ..self }
    }

    /// The row of the ledger: what was owed when the wait began, and what ended it.
    pub fn entry(&self) -> &'static ledger::LedgerRow {
        &ledger::ROWS[usize::from(self.row)]
    }
}

/// A wait and the ruling on it.
#[derive(Debug, Clone, Copy)]
pub struct Finding<'a> {
    pub wait: &'a Wait,
    pub cause: Cause,
    /// The row of the ledger that fits the wait.
    pub entry: &'static ledger::LedgerRow,
    pub held: Held,
}

impl<'a> Finding<'a> {
    pub fn new(wait: &'a Wait, ruling: &Ruling) -> Self {
        Self { wait, cause: ruling.cause, entry: ruling.entry(), held: ruling.held }
    }
}

impl Finding<'_> {
    pub fn is_stall(&self) -> bool {
        self.cause.is_stall()
    }

    /// Was something lost before the capture point? `None` if unknown.
    pub fn lost_before_capture(&self) -> Option<bool> {
        let after = self.wait.has_any(fact::RETRANSMITTED | fact::RECOVERY);
        let missing = self.wait.is(fact::SKIPPED_IDS) && !self.wait.is(fact::UNSEEN);
        match self.cause {
            Cause::Retransmission => Some(self.wait.is(fact::LOST_BEFORE) || !after),
            Cause::Unknown if missing => None,
            _ => Some(false),
        }
    }

    /// Held, or a pause of the program: nobody can tell.
    pub fn may_be_held(&self) -> bool {
        matches!(self.cause, Cause::Unknown | Cause::SenderApp) && self.held.is_unsure()
    }

    /// Is it a certain or likely stall?
    pub fn is_sure(&self) -> bool {
        self.is_stall() && self.confidence() > Confidence::Possible
    }

    /// Meaningful for stalls only.
    pub fn confidence(&self) -> Confidence {
        self.held.confidence().unwrap_or(Confidence::Possible)
    }

    /// How long it kept the connection waiting. Whether a held segment was written at once or
    /// later, no capture shows, only the calls of its program: without them its wait is the bound,
    /// and taking off what programs usually take was further from the truth.
    pub fn lost_ns(&self) -> i64 {
        let wait_ns = self.wait.wait_ns();
        match self.held.proof {
            Proof::Proven => self.hold_ns().min(wait_ns),
            _ => wait_ns,
        }
    }

    /// Since when it did.
    pub fn begin_ns(&self) -> i64 {
        self.wait.to.time_ns - self.lost_ns()
    }

    /// From the call that wrote the segment until it left, where that proves the hold.
    pub fn hold_ns(&self) -> i64 {
        // To the microsecond: an f32 holds no more.
        (f64::from(self.held.hold_ms) * 1e3).round() as i64 * 1000
    }

    /// Was something held, however short?
    pub fn is_hold(&self) -> bool {
        self.held.confidence().is_some()
    }

    /// Was something probably held, but for less than is listed as a stall?
    pub fn is_short_hold(&self) -> bool {
        !self.is_stall() && self.is_hold() && self.confidence() > Confidence::Possible
    }
}

/// Waits and their rulings, in parallel slices.
#[derive(Debug, Clone, Copy, Default)]
pub struct Findings<'a> {
    waits: &'a [Wait],
    rulings: &'a [Ruling],
}

impl<'a> Findings<'a> {
    /// Pairs `rulings` with the first of `waits`, in order.
    pub fn new(waits: &'a [Wait], rulings: &'a [Ruling]) -> Self {
        Self { waits: &waits[..rulings.len()], rulings }
    }

    pub fn len(self) -> usize {
        self.rulings.len()
    }

    pub fn is_empty(self) -> bool {
        self.rulings.is_empty()
    }

    #[inline]
    pub fn iter(self) -> impl Iterator<Item = Finding<'a>> + Clone {
        let pairs = self.waits.iter().zip(self.rulings);
        pairs.map(|(wait, ruling)| Finding::new(wait, ruling))
    }

    pub fn rulings(self) -> &'a [Ruling] {
        self.rulings
    }

    pub fn waits(self) -> &'a [Wait] {
        self.waits
    }

    pub fn stalls(self) -> impl Iterator<Item = Finding<'a>> + Clone {
        self.iter().filter(Finding::is_stall)
    }

    pub fn slice(self, range: Range<usize>) -> Self {
        Self { waits: &self.waits[range.clone()], rulings: &self.rulings[range] }
    }

    /// Skips findings while their wait is `before`. Scans linearly: callers advance in small steps.
    pub fn skip_past(self, before: impl Fn(&Wait) -> bool) -> Self {
        self.slice(self.waits.iter().take_while(|wait| before(wait)).count()..self.len())
    }
}

/// Keeps the pairs that `stays` accepts, compacted in place. `rulings[first..]` belong to `waits`, whose
/// first elements match them afterwards.
pub fn retain(
    waits: &mut [Wait],
    rulings: &mut Vec<Ruling>,
    first: usize,
    stays: impl Fn(&Wait, &Ruling) -> bool,
) {
    let mut kept = 0;
    for at in 0..rulings.len() - first {
        if stays(&waits[at], &rulings[first + at]) {
            if kept != at {
                (waits[kept], rulings[first + kept]) = (waits[at], rulings[first + at]);
            }
            kept += 1;
        }
    }
    rulings.truncate(first + kept);
}
