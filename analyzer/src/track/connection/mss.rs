//! The effective MSS, from the handshake or from what was sent.

use crate::track::DEFAULT_MSS;
use crate::track::connection::Connection;
use crate::track::half::{Half, MSS_CUT};
use crate::track::thresholds::{LEAST_INFERRED_MSS, LOOPBACK_MSS, MOST_INFERRED_MSS};

/// The timestamp option with its padding, in every segment once agreed (RFC 7323, section 3.2).
const TIMESTAMP_OPTION_LEN: u32 = 12;
impl Connection {
    /// The effective MSS in bytes (RFC 9293, section 3.7.1: what the options take is not payload)
    /// and whether it had to be inferred, for want of a SYN.
    pub fn effective_mss(&self) -> (u32, bool) {
        let [client, server] = &self.halves;
        let options = if client.has_timestamps() && server.has_timestamps() {
            TIMESTAMP_OPTION_LEN
        } else {
            0
        };
        let announced = |half: &Half| match (half.has_syn(), half.mss_option) {
            (false, _) | (true, MSS_CUT) => u32::MAX,
            (true, 0) => DEFAULT_MSS,
            (true, mss) => u32::from(mss),
        };
        let mss = announced(client).min(announced(server));
        if mss != u32::MAX {
            return (mss.saturating_sub(options).max(1), false);
        }
        (self.inferred_mss(), true)
    }

    /// The effective MSS in bytes so far: fixed by the handshake, or inferred anew each time.
    #[inline]
    pub(super) fn current_mss(&mut self) -> u32 {
        if self.mss != 0 {
            return self.mss.into();
        }
        let (mss, inferred) = self.effective_mss();
        if !inferred && self.halves.iter().all(|half| half.segments > 1) {
            // No SYN announces more.
            self.mss = mss as u16;
        }
        mss
    }

    /// Does one side send payloads of `largest` bytes back to back, time and again? Then that is the MSS:
    /// Nagle's algorithm would have held smaller ones.
    pub fn repeats_largest(&self, largest: u32) -> bool {
        self.halves.iter().any(|half| half.repeats_largest(largest))
    }

    fn inferred_mss(&self) -> u32 {
        let largest = self.halves[0].largest.max(self.halves[1].largest);
        let least =
            if largest >= DEFAULT_MSS - TIMESTAMP_OPTION_LEN && self.repeats_largest(largest) {
                0
            } else {
                LEAST_INFERRED_MSS
            };
        if self.is_loopback() {
            largest.max(LOOPBACK_MSS)
        } else {
            largest.min(MOST_INFERRED_MSS).max(least)
        }
    }
}
