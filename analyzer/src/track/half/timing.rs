//! Which segment is being timed: its ACK measures the round trip to the peer.

use crate::capture::times::DAY_NS;
use crate::decode::seq;
use crate::track::Mark;
use crate::track::half::{Half, state};

/// A segment that is being timed, though it is not the last new data any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, packed(4))]
pub struct Timed {
    pub end: u32,
    pub time_ns: i64,
}

impl Half {
    /// Times the last new data, unless a segment is being timed already.
    pub(super) fn time_last(&mut self, time_ns: i64) {
        let idle = !self.state.is(state::TIMED_LAST | state::TIMED_APART);
        self.state.set_if(idle && time_ns != 0, state::TIMED_LAST);
    }

    /// Stores the timed segment on its own: it will no longer be the last new data, or no longer end
    /// at `snd_nxt`.
    pub(super) fn settle_timing(&mut self) {
        if self.state.is(state::TIMED_LAST) {
            self.cold_mut().timed = self.timed_last();
            self.state.clear(state::TIMED_LAST);
            self.state.set(state::TIMED_APART);
        }
    }

    fn timed_last(&self) -> Timed {
        Timed { end: self.sequence.nxt, time_ns: self.last_new().time_ns }
    }

    /// Karn's rule (RFC 6298, section 3): a repeated segment gives no sample.
    pub fn stop_timing(&mut self) {
        self.state.clear(state::TIMED_LAST | state::TIMED_APART);
    }

    /// The round trip that an ACK up to `ack` measures. If it is negative or longer than a day, the clock was
    /// set.
    pub(super) fn round_trip(&mut self, ack: u32, now: Mark) -> Option<i64> {
        let timed = match self.state.is(state::TIMED_LAST) {
            true => self.timed_last(),
            false if self.state.is(state::TIMED_APART) => self.cold().timed,
            false => return None,
        };
        if seq::lt(ack, timed.end) {
            return None;
        }
        self.stop_timing();
        let sample_ns = now.time_ns - timed.time_ns;
        (0..=DAY_NS).contains(&sample_ns).then_some(sample_ns)
    }
}
