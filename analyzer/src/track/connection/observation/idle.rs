//! How the sender came to wait: since which segment, and which ACK may have released it.

use super::Observation;
use crate::decode::ACK;
use crate::track::Mark;
use crate::track::half::Release;
use crate::track::thresholds::NETWORK_RTT_NS;
use crate::track::thresholds::{DISTINCT_NS, IN_TRANSIT_ONE_OF, LOCAL_DISTINCT_NS};

/// The data before a wait, and during it.
pub struct Idle {
    /// The ACK that may have released the sender.
    pub release: Option<Release>,
    /// It began with the sender's own data.
    pub own_before: bool,
    /// The segment before the wait.
    pub from: Mark,
    /// When it could have sent: the time of that segment, or when the connection had come about.
    pub since_ns: i64,
    /// Data of the peer that reached the sender during it, and that the program may have answered.
    pub arrived: Option<Mark>,
}

impl Observation<'_> {
    /// How the sender came to wait before this segment, if for `min_wait_ns` or longer.
    #[expect(clippy::inline_always, reason = "calls take a twentieth of a scan")]
    #[inline(always)]
    pub(super) fn idle(&self, min_wait_ns: i64) -> Option<Idle> {
        let (half, peer) = (self.half, self.peer);
        let answered = self.answered();
        let arrived = answered.filter(|&data| self.arrived_since_last(data));
        let release = self.releasing_ack(arrived);
        let peers = answered.unwrap_or_else(|| peer.last_new());
        // A program cannot answer what the peer sends again. With everything acknowledged, the peer's
        // data may be the last that the sender saw, though it was captured before the sender's own.
        let crossed = arrived.is_some() && half.sequence.in_flight() == 0;
        let mut own_before = release.is_some() || (half.last_data.after(peers) && !crossed);
        let from = if own_before { half.last_data } else { peers };
        let mut since_ns = from.time_ns;
        if half.offset == 0 {
            // The kernel sends the SYN: a server that speaks first waits since the client acknowledged it.
            own_before = false;
            since_ns = since_ns.max(self.connected_ns().unwrap_or(i64::MIN));
        }
        let wait_ns = self.now.time_ns - since_ns;
        let idle = Idle { release, own_before, from, since_ns, arrived };
        (from.is_set() && wait_ns >= min_wait_ns).then_some(idle)
    }

    /// The ACK that may have let the sender go on: the first to cover its last small segment
    /// (Minshall's rule) or everything (the classic rule), if it reached the sender after its last
    /// data had left.
    ///
    /// Data from the peer that reached the sender shortly before such an ACK explains what follows as
    /// well as the ACK does: the program may answer it.
    #[inline]
    fn releasing_ack(&self, arrived: Option<Mark>) -> Option<Release> {
        let half = self.half;
        // Only an ACK well after the data is a reason of its own: earlier, the program may answer the data.
        let answered_ns = arrived.map_or(i64::MIN, |data| data.time_ns + self.distinct_ns());
        let answers = |ack: Mark| ack.time_ns < answered_ns;
        if half.bytes() == 0 || (answers(half.small_acked().mark) && answers(half.all_acked().mark))
        {
            // The common case: only its SYN was acknowledged, or its program answers.
            return None;
        }
        self.nearest_ack(answered_ns)
    }

    /// The ACK since `answered_ns` that explains best when this segment left.
    #[inline(never)]
    fn nearest_ack(&self, answered_ns: i64) -> Option<Release> {
        let (half, now) = (self.half, self.now);
        let rtt_ns = half.rtt_or_zero_ns();
        let frees = |ack: &Release| {
            ack.mark.is_set()
                && reached_after(ack.mark, half.last_data, rtt_ns)
                && ack.mark.time_ns >= answered_ns
        };
        let distance = |ack: &Release| (now.time_ns - ack.mark.time_ns - rtt_ns).abs();
        [half.small_acked(), half.all_acked()].into_iter().filter(frees).min_by_key(distance)
    }

    /// The data of the peer that this segment may answer: the newest that it acknowledges, as a segment
    /// acknowledges what its sender has when it leaves.
    fn answered(&self) -> Option<Mark> {
        if self.segment.has(ACK) {
            self.peer.acknowledged_data(self.segment.ack)
        } else {
            Some(self.peer.last_new())
        }
    }

    /// True if this data of the peer, which this segment may answer, reached the sender after that had sent
    /// its last data: those do not acknowledge it.
    fn arrived_since_last(&self, data: Mark) -> bool {
        let (half, now) = (self.half, self.now);
        if self.segment.has(ACK) {
            return data.after(half.last_new()) || half.crossed(self.segment.ack);
        }
        let rtt_ns = half.rtt_or_zero_ns();
        reached_after(data, half.last_data, rtt_ns)
            && now.time_ns - data.time_ns >= rtt_ns - rtt_ns / IN_TRANSIT_ONE_OF
    }

    /// When the client had acknowledged the server's SYN, if no data followed: a server that speaks first may
    /// speak from then on.
    pub(super) fn connected_ns(&self) -> Option<i64> {
        let (half, peer) = (self.half, self.peer);
        (self.handshake_ns >= 0 && half.bytes() == 0 && peer.bytes() == 0)
            .then(|| peer.last_data.time_ns + self.handshake_ns)
    }

    /// How far apart two events must be to show which of them caused a third, at the sender.
    pub(super) fn distinct_ns(&self) -> i64 {
        match self.half.rtt_or_zero_ns() {
            ..NETWORK_RTT_NS => LOCAL_DISTINCT_NS,
            _ => DISTINCT_NS,
        }
    }
}

/// True if `incoming` reached the sender after `sent` had left it. Judged in the sender's time: what
/// passes the capture point on its way to the sender arrives half a round trip later, and what
/// passes it on its way out left half a round trip earlier. A quarter is left to jitter.
fn reached_after(incoming: Mark, sent: Mark, rtt_ns: i64) -> bool {
    match rtt_ns {
        ..NETWORK_RTT_NS => incoming.after(sent),
        _ => incoming.time_ns + rtt_ns - rtt_ns / IN_TRANSIT_ONE_OF > sent.time_ns,
    }
}
