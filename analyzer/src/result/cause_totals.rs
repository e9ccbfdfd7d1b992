//! Waits by cause.

use crate::judge::causes::Cause;
use crate::judge::findings::{Finding, Findings};
use crate::named::named;
use crate::result::booked::booked;
use crate::result::sums::Sum;
use crate::track::Side;
use crate::track::ending::Ending;
use crate::track::wait::{Wait, fact};

/// Waits of one cause, side and turn: how many, and how long in all and the longest, but for what others are
/// booked with; in ns.
#[derive(Debug, Clone, Copy)]
pub struct CauseTotal {
    pub cause: Cause,
    pub by: Side,
    pub turn: Turn,
    pub waits: u64,
    pub total_ns: i64,
    pub longest_ns: i64,
}

impl CauseTotal {
    fn is_kind_of(&self, other: &Self) -> bool {
        (self.cause, self.by, self.turn) == (other.cause, other.by, other.turn)
    }
}

named! {
    /// The side that had its turn when a program had nothing to send: a client is never late, a
    /// server only with a reply; and whether a request without an answer was given up.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Turn {
        /// It was asked for by the other end; or the wait is of another cause.
        Asked = "asked",
        /// It came behind the sender's own unanswered data: the next part, or the next message.
        Midway = "midway",
        /// No request was open.
        Idle = "idle",
        /// The client had asked for nothing yet, as far as was captured; or the server greets.
        First = "first",
        /// The server's, or the way to it took that long.
        Unmeasured = "unmeasured",
        /// The client waited for the server's leave.
        Leave = "leave",
        /// The event that was waited for may have come after the end of the capture.
        Open = "open",
    }
}

impl Turn {
    pub fn of(finding: Finding<'_>) -> Self {
        let wait = finding.wait;
        let is_midway = wait.is(fact::OWN_DATA_BEFORE) && wait.turn_ns == Wait::NO_TURN;
        let is_unasked = wait.by == Side::Client || !wait.is(fact::IN_EXCHANGE);
        let is_first = wait.rel_seq == 0 && is_unasked;
        let is_open = wait.ending() == Some(Ending::Capture) && !wait.is(fact::RECOVERY);
        match (finding.cause, finding.entry.name) {
            (Cause::SenderApp, "server_or_way") => return Self::Unmeasured,
            (Cause::SenderApp, "no_leave") => return Self::Leave,
            (Cause::Unanswered, "no_first_word" | "no_close") => return Self::Idle,
            _ => {}
        }
        match (finding.cause, wait.by) {
            (Cause::Unanswered, _) if is_open => Self::Open,
            (Cause::ZeroWindow, _) if wait.ending().is_some() => Self::Open,
            (Cause::SenderApp, _) if is_first => Self::First,
            (Cause::SenderApp, Side::Server) if !wait.is(fact::IN_EXCHANGE) => Self::Idle,
            (Cause::SenderApp, _) if is_midway => Self::Midway,
            _ => Self::Asked,
        }
    }
}

/// All listed waits by cause and by who ended them.
#[derive(Debug, Clone, Default)]
pub struct CauseTotals(Vec<CauseTotal>);

impl CauseTotals {
    /// In the order of the causes.
    pub fn rows(&self) -> Vec<CauseTotal> {
        let mut rows = self.0.clone();
        rows.sort_by_key(|total| (total.cause as u8, total.by as u8, total.turn as u8));
        rows
    }

    pub fn add(&mut self, findings: Findings<'_>) {
        for (finding, total_ns) in booked(findings) {
            let lost_ns = finding.lost_ns();
            // A late ACK within another wait leaves no rest that is delay: it is the way.
            let least_ns = if finding.cause == Cause::DelayedAck { lost_ns } else { 1 };
            if total_ns >= least_ns || lost_ns == 0 {
                self.merge(CauseTotal {
                    cause: finding.cause,
                    by: finding.wait.by,
                    turn: Turn::of(finding),
                    waits: 1,
                    total_ns,
                    longest_ns: total_ns,
                });
            }
        }
    }

    #[inline]
    fn merge(&mut self, more: CauseTotal) {
        match self.0.iter_mut().find(|total| total.is_kind_of(&more)) {
            Some(total) => {
                total.waits += more.waits;
                total.total_ns = total.total_ns.saturating_add(more.total_ns);
                total.longest_ns = total.longest_ns.max(more.longest_ns);
            }
            None => self.0.push(more),
        }
    }
}

impl Sum for CauseTotals {
    fn add_up(&mut self, more: Self) {
        more.0.into_iter().for_each(|total| self.merge(total));
    }
}
