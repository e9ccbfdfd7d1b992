//! Sums of stalls of one kind.

use crate::judge::finding::judged::JudgedConnection;
use crate::judge::findings::Finding;
use crate::judge::thresholds::RELAY_NOTED;
use crate::result::totals::ByConfidence;
use std::ops::AddAssign;

/// Sums of the stalls of two hosts, or of a group of them.
#[derive(Debug, Clone, Copy, Default)]
pub struct StallSums {
    pub by_confidence: ByConfidence,
    /// Stalls that would look the same if a relay passed them on.
    pub as_of_relay: u64,
    /// The shortest and the longest hold of those that are only possible, and of the others, in ns.
    pub ranges_ns: [Option<(i64, i64)>; 2],
}

impl StallSums {
    /// Adds a stall on this connection.
    pub fn add(&mut self, judged: &JudgedConnection, stall: &Finding<'_>) {
        self.by_confidence.add(stall);
        let relay = judged.half(stall.wait.by).model().relay;
        self.as_of_relay += u64::from(relay >= RELAY_NOTED);
        let held_ns = stall.lost_ns();
        widen(&mut self.ranges_ns[usize::from(stall.is_sure())], (held_ns, held_ns));
    }

    /// Is one of them likely or certain? Then the possible ones do not count.
    pub fn are_sure(&self) -> bool {
        self.by_confidence.sure().0 > 0
    }

    /// The shortest and the longest hold of those that count, in ns.
    pub fn held_ns(&self) -> (i64, i64) {
        let [possible, sure] = self.ranges_ns;
        sure.or(possible).unwrap_or_default()
    }

    /// May a relay be their sender, as far as most of them show?
    pub fn may_be_of_relay(&self) -> bool {
        self.as_of_relay * 2 > self.by_confidence.total().0
    }
}

fn widen(range: &mut Option<(i64, i64)>, more: (i64, i64)) {
    let (shortest, longest) = range.unwrap_or(more);
    *range = Some((shortest.min(more.0), longest.max(more.1)));
}

impl AddAssign for StallSums {
    fn add_assign(&mut self, more: Self) {
        self.by_confidence += more.by_confidence;
        self.as_of_relay += more.as_of_relay;
        for (range, more) in self.ranges_ns.iter_mut().zip(more.ranges_ns) {
            if let Some(more) = more {
                widen(range, more);
            }
        }
    }
}
