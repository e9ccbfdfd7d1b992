//! Waits by cause.

use crate::judge::causes::Cause;
use crate::judge::findings::Findings;
use crate::track::Side;
use std::ops::AddAssign;

/// Waits of one cause and side: how many, how long in all, and the longest; in ns.
#[derive(Debug, Clone, Copy)]
pub struct CauseTotal {
    pub cause: Cause,
    pub by: Side,
    pub waits: u64,
    pub total_ns: i64,
    pub longest_ns: i64,
}

/// All listed waits by cause and by who ended them.
#[derive(Debug, Clone, Default)]
pub struct CauseTotals(Vec<CauseTotal>);

impl CauseTotals {
    /// In the order of the causes.
    pub fn rows(&self) -> Vec<CauseTotal> {
        let mut rows = self.0.clone();
        rows.sort_by_key(|total| (total.cause as u8, total.by as u8));
        rows
    }

    pub fn add(&mut self, findings: Findings<'_>) {
        for finding in findings.iter() {
            let wait_ns = finding.lost_ns();
            self.merge(CauseTotal {
                cause: finding.cause,
                by: finding.wait.by,
                waits: 1,
                total_ns: wait_ns,
                longest_ns: wait_ns,
            });
        }
    }

    #[inline]
    fn merge(&mut self, more: CauseTotal) {
        match self.0.iter_mut().find(|total| (total.cause, total.by) == (more.cause, more.by)) {
            Some(total) => {
                total.waits += more.waits;
                total.total_ns = total.total_ns.saturating_add(more.total_ns);
                total.longest_ns = total.longest_ns.max(more.longest_ns);
            }
            None => self.0.push(more),
        }
    }
}

impl AddAssign for CauseTotals {
    fn add_assign(&mut self, more: Self) {
        more.0.into_iter().for_each(|total| self.merge(total));
    }
}
