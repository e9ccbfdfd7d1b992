//! Sums of stalls of one kind.

use crate::judge::finding::judged::JudgedConnection;
use crate::judge::findings::Finding;
use crate::judge::thresholds::RELAY_NOTED;
use crate::result::sums::{Sum, sums};
use crate::result::totals::ByConfidence;

sums! {
    /// Sums of the stalls of two hosts, or of a group of them.
    #[derive(Copy)]
    pub struct StallSums {
        pub by_confidence: ByConfidence,
        /// Stalls that would look the same if a relay passed them on.
        pub as_of_relay: u64,
        /// Holds of those that are only possible, and of the others.
        ranges: [HoldRange; 2],
    }
}

/// The shortest and the longest of some times, in ns; `None` of no time.
#[derive(Debug, Clone, Copy, Default)]
struct HoldRange(Option<(i64, i64)>);

impl Sum for HoldRange {
    fn add_up(&mut self, Self(more): Self) {
        let ends = self.0.zip(more).map(|(own, more)| (own.0.min(more.0), own.1.max(more.1)));
        self.0 = ends.or(self.0).or(more);
    }
}

impl StallSums {
    /// Adds a stall on this connection.
    pub fn add(&mut self, judged: &JudgedConnection, stall: &Finding<'_>) {
        self.by_confidence.add(stall);
        let relay = judged.half(stall.wait.by).model().relay;
        self.as_of_relay += u64::from(relay >= RELAY_NOTED);
        let held_ns = stall.lost_ns();
        self.ranges[usize::from(stall.is_sure())].add_up(HoldRange(Some((held_ns, held_ns))));
    }

    /// Is one of them likely or certain? Then the possible ones do not count.
    pub fn are_sure(&self) -> bool {
        self.by_confidence.sure().0 > 0
    }

    /// The shortest and the longest hold of those that count, in ns.
    pub fn held_ns(&self) -> (i64, i64) {
        let [possible, sure] = self.ranges;
        sure.0.or(possible.0).unwrap_or_default()
    }

    /// May a relay be their sender, as far as most of them show?
    pub fn may_be_of_relay(&self) -> bool {
        self.as_of_relay * 2 > self.by_confidence.total().0
    }
}
