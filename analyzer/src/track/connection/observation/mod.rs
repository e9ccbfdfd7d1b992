//! Classifies a new data segment: the waits that it ended, and whether it proves `TCP_NODELAY`.
//!
//! An [`Observation`] reads both directions as they were before the segment and changes neither; the
//! connection applies what it finds.

mod by_data;
mod echo;
mod facts;
mod idle;
mod short;
#[cfg(test)]
mod tests;
mod unheld;

pub use by_data::Reaction;

use crate::decode::Header;
use crate::track::connection::Recorder;
use crate::track::connection::observation::idle::Idle;
use crate::track::half::Half;
use crate::track::thresholds::NETWORK_RTT_NS;
use crate::track::wait::{Facts, Wait, fact};
use crate::track::{Mark, Side};

/// A segment of new data, and both directions as they were before it.
#[derive(Clone, Copy)]
pub struct Observation<'a> {
    /// Number of the connection.
    pub connection: u32,
    /// The sender, its direction, and the other one.
    pub by: Side,
    pub half: &'a Half,
    pub peer: &'a Half,
    pub segment: &'a Header,
    /// New bytes in it.
    pub len: u32,
    /// Effective MSS in bytes.
    pub mss: u32,
    pub now: Mark,
    /// The handshake in ns, or why it is unknown: see [`Connection`](crate::track::Connection).
    pub handshake_ns: i64,
}

/// The waits that a new data segment ended.
pub struct EndedWaits {
    /// A hold too short to be kept, to be counted.
    pub short: Option<Wait>,
    /// The wait that is to be kept.
    pub kept: Option<Wait>,
    /// Another view of it, over a retransmission.
    pub over_retransmission: Option<Wait>,
}

impl Observation<'_> {
    /// How long the data of the peer took to its sender and this segment back; what only bounds it is not taken off.
    fn way_ns(&self) -> i64 {
        if self.half.is_path_measured() { self.half.rtt_or_zero_ns() } else { 0 }
    }

    /// True if its sender had sent an ACK without data before, while all of its own data was acknowledged.
    /// Its kernel had nothing to send then, and held nothing. Only a capture near the sender shows it.
    fn had_nothing(&self) -> bool {
        self.half.has_acked_idly() && self.half.rtt_or_zero_ns() < NETWORK_RTT_NS
    }

    /// The waits that it ended, if any.
    #[expect(clippy::inline_always, reason = "calls take a twentieth of a scan")]
    #[inline(always)]
    pub fn ended(&self, recorder: &mut Recorder) -> Option<EndedWaits> {
        let lengths = recorder.lengths;
        let (kept, is_short) = (self.kept(recorder), self.is_short(lengths.listed_ns));
        (kept.is_some() || is_short || self.half.is_recovering())
            .then(|| self.waits(kept, is_short, lengths.seen_ns))
    }

    #[inline(never)]
    fn waits(&self, kept: Option<Idle>, is_short: bool, seen_ns: i64) -> EndedWaits {
        let short = if is_short { self.short_wait() } else { None };
        let kept = kept.map(|idle| self.wait(&idle));
        let over_retransmission =
            if self.half.is_recovering() { self.wait_over_retransmission(seen_ns) } else { None };
        EndedWaits { short, kept, over_retransmission }
    }

    /// How the wait began that ends with this data, if there is one to be kept. Without room it is counted.
    #[expect(clippy::inline_always, reason = "calls take a twentieth of a scan")]
    #[inline(always)]
    fn kept(&self, recorder: &mut Recorder) -> Option<Idle> {
        let Self { half, peer, now, .. } = *self;
        // A wait begins with the last data of one of both. Most data comes soon after the two.
        let earliest_ns = half.last_data.time_ns.min(peer.last_new().time_ns);
        if now.time_ns - earliest_ns < recorder.lengths.seen_ns {
            return None;
        }
        if self.by == Side::Client
            && now.time_ns - half.last_data.time_ns >= recorder.lengths.seen_ns
        {
            recorder.waits.arrivals.note(self.connection, now.time_ns);
        }
        let idle = self.idle(recorder.lengths.seen_ns)?;
        if !idle.own_before {
            // The common case, a server reply: no ACK can have released it, so it is not evidence.
            let wait_ns = now.time_ns - idle.since_ns;
            if wait_ns - half.rtt_or_zero_ns() < recorder.lengths.listed_ns {
                return None;
            }
            let wait_ns = wait_ns - self.way_ns();
            // A client that was hindered did not pause: its wait is of another kind, with its own room.
            let has_room = |facts| recorder.waits.has_room_for(self.by, facts, wait_ns);
            if !has_room(Facts::NONE) && !has_room(self.hindrances(idle.from)) {
                recorder.waits.count_other(wait_ns);
                return None;
            }
        }
        Some(idle)
    }

    /// The wait that ends with this segment, seen over the retransmission of the small segment before
    /// it, the only one in flight, if an ACK freed the sender then.
    #[cold]
    fn wait_over_retransmission(&self, seen_ns: i64) -> Option<Wait> {
        let half = self.half;
        let is_only_one = half.is_last_small() && !half.is_flight_several();
        let freed = |wait: &Wait| wait.has_ack() && wait.is(fact::PURE_ACK);
        let idle = self.idle(0).filter(|_| is_only_one)?;
        let wait = Some(self.wait(&idle)).filter(freed)?;
        let over = Wait {
            facts: wait.facts.without(fact::RECOVERY) | fact::RESENT,
            from: half.last_new(),
            unacked_ns: half.last_new().time_ns,
            ..wait
        };
        Some(over).filter(|wait| wait.span_ns() >= seen_ns)
    }
}
