//! Holds too short to be kept as waits: they are only counted, so that nobody calls a path free of them.

use crate::track::half::{Half, state};
use crate::track::wait::Wait;

/// Small segments that left shortly after the ACK of the small one before them: within the tolerance of
/// the round trip to the sender, as held ones do, and near it, as a program's writes do as well.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ShortHolds {
    pub in_band: u32,
    pub near: u32,
    /// Waits of those in the band that lie in exchanges.
    pub in_exchanges_ns: i64,
}

impl ShortHolds {
    pub const NONE: Self = Self { in_band: 0, near: 0, in_exchanges_ns: 0 };
}

impl Half {
    /// Counts of its short holds.
    pub fn short_holds(&self) -> ShortHolds {
        self.frozen().short
    }

    /// When its own data was acknowledged last, in ns; 0 for not since the last of it.
    #[inline]
    pub fn last_acked_ns(&self) -> i64 {
        // Mostly the ACK of everything is that of the last small segment.
        if self.state.is(state::ALL_APART) {
            self.small_acked.time_ns.max(self.frozen().all_acked.mark.time_ns)
        } else {
            self.small_acked.time_ns
        }
    }

    /// May an ACK have let go what left after it, be it that data came with the ACK?
    #[inline]
    pub fn may_be_held(&self) -> bool {
        self.state.is(state::MAY_BE_HELD)
    }

    pub fn note_may_be_held(&mut self) {
        self.state.set(state::MAY_BE_HELD);
    }

    /// Counts a wait too short to be kept.
    pub fn count_short(&mut self, wait: &Wait, in_exchange: bool, clock_ns: i64) {
        let band = self.band(clock_ns);
        let in_band = band.off_ns(wait.release_ns()).abs() <= band.tolerance_ns;
        if !in_band && !band.reaches(band.off_ns(wait.release_ns())) {
            return;
        }
        let short = &mut self.frozen_mut().short;
        if !in_band {
            short.near = short.near.saturating_add(1);
            return;
        }
        short.in_band = short.in_band.saturating_add(1);
        if in_exchange {
            short.in_exchanges_ns = short.in_exchanges_ns.saturating_add(wait.wait_ns());
        }
    }
}
