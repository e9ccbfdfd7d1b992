//! New data leaves: had it been waiting, and does it show that Nagle's algorithm is off?

mod echo;
mod short;
#[cfg(test)]
mod tests;

use crate::decode::{ACK, FIN, Header, URG};
use crate::track::half::{Half, Release};
use crate::track::thresholds::{
    BEFORE_PROBE_NS, DISTINCT_NS, HALF_WAY_ONE_OF, IN_TRANSIT_ONE_OF, KNOWN_ROUND_TRIPS,
    LOCAL_DISTINCT_NS,
};
use crate::track::wait::{Wait, fact, when};
use crate::track::{DEFAULT_MSS, Mark, NETWORK_RTT_NS, Side};

/// Shorter than this, a payload is below any MSS that hosts fall back to (RFC 9293, section 3.7.1).
const MIN_CERTAIN_MSS: u32 = DEFAULT_MSS;

/// New data, before its direction takes it.
#[derive(Clone, Copy)]
pub struct NewData<'a> {
    pub segment: &'a Header,
    /// New bytes in it.
    pub len: u32,
    /// Effective MSS in bytes.
    pub mss: u32,
    pub now: Mark,
}

/// A segment of new data, and both directions as they were before it.
pub struct Sending<'a> {
    /// Its sender's side, and the other one.
    pub half: &'a Half,
    pub peer: &'a Half,
    pub segment: &'a Header,
    /// New bytes in it.
    pub len: u32,
    /// Effective MSS in bytes.
    pub mss: u32,
    pub now: Mark,
}

/// What it shows that a small segment left while another one was unacknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passed {
    /// Nagle's algorithm is off.
    Contradiction,
    /// It is off, or the path carries no more in a segment, and these were no small ones.
    AsFull,
    /// Nothing, or there was none.
    Nothing,
}

/// How a segment's sender came to wait before it.
pub struct Waited {
    /// The ACK that let the sender go on.
    release: Option<Release>,
    /// It began with the sender's own data.
    own_before: bool,
    from: Mark,
    /// Data of the peer came that its program may have answered.
    data_arrived: bool,
    /// When that was, at the capture point.
    answered: Mark,
}

impl Waited {
    /// The sender kept the other end waiting for an answer: no ACK can have held it.
    pub fn is_reply(&self) -> bool {
        !self.own_before
    }

    pub fn wait_ns(&self, now: Mark) -> i64 {
        now.time_ns - self.from.time_ns
    }

    /// The frame before the wait.
    pub fn from(&self) -> Mark {
        self.from
    }
}

impl Sending<'_> {
    /// Where the last data were small: a small segment sent while that is unacknowledged, and what follows
    /// from it.
    pub fn passes_small_one(&self) -> Passed {
        let half = self.half;
        // Few do.
        let passed = self.left_unacked()
            && self.len < self.mss
            && !self.passes_nagle()
            && self.acks_are_seen();
        let last_len = half.last_len();
        match passed {
            true if self.is_surely_small(last_len) && self.is_surely_small(self.len) => {
                Passed::Contradiction
            }
            // Both as long as the path carries, if that is less than the handshake said.
            true if self.len == last_len && self.len >= MIN_CERTAIN_MSS => Passed::AsFull,
            _ => Passed::Nothing,
        }
    }

    /// Does Nagle's algorithm say nothing of this segment? FIN and urgent data pass it, what follows
    /// unacknowledged urgent data, and a tail-loss probe; and of a segment after bytes that were never
    /// captured it is not known what was unacknowledged.
    fn passes_nagle(&self) -> bool {
        let half = self.half;
        self.segment.has(FIN | URG)
            || half.is_urgent()
            || half.is_recovering()
            || self.is_after_hole()
            || self.now.time_ns - half.last_data().time_ns >= BEFORE_PROBE_NS
    }

    /// Captures are filtered and exported without pure ACKs, and then everything looks unacknowledged.
    /// Has the capture shown one of this receiver, or has the segment left before any ACK of the last
    /// one could have come? Only pure ACKs tell how soon (data comes when a program likes), and only over a
    /// network: within a host a SYN takes longer than an ACK.
    fn acks_are_seen(&self) -> bool {
        let (half, peer) = (self.half, self.peer);
        if peer.has_pure_acks() {
            return true;
        }
        let known_ns = |half: &Half| match half.is_path_measured() && half.rtt_samples() > 0 {
            true => half.rtt_or_zero_ns(),
            false => 0,
        };
        let rtt_ns = known_ns(half) + known_ns(peer);
        rtt_ns >= NETWORK_RTT_NS && self.now.time_ns - half.last_data().time_ns < rtt_ns
    }

    /// Bytes before this segment were never captured: what of theirs was acknowledged is not known.
    fn is_after_hole(&self) -> bool {
        self.half.unseen().1 == self.now.frame
    }

    /// Where the last data were full-sized: a small segment sent while such ones, and no small one, are
    /// unacknowledged: the classic algorithm would have held it.
    pub fn passes_full_ones(&self) -> bool {
        let half = self.half;
        half.in_flight() > 0
            && !half.small_unacked()
            && !self.passes_nagle()
            && self.acks_are_seen()
            && self.is_surely_small(self.len)
    }

    /// Below the MSS beyond doubt: shorter than any fallback MSS, or shorter than something larger
    /// that this sender sent (the path may carry less than the SYN announced).
    fn is_surely_small(&self, len: u32) -> bool {
        len < self.mss && (len < MIN_CERTAIN_MSS || len < self.half.largest())
    }

    /// Had the sender, when it sent this, an unacknowledged small segment?
    ///
    /// Judged in the sender's time: an ACK that passed the capture point less than a round trip to the
    /// sender ago had not reached it when this segment left. Half of it is left to jitter, more while
    /// few round trips tell how short they can be.
    fn left_unacked(&self) -> bool {
        let half = self.half;
        if half.small_unacked() {
            return true;
        }
        let acked = half.small_acked().mark;
        if !acked.is_set() {
            return false;
        }
        let since = self.now.time_ns - acked.time_ns;
        let one_of = match half.rtt_samples() {
            ..KNOWN_ROUND_TRIPS => IN_TRANSIT_ONE_OF,
            _ => HALF_WAY_ONE_OF,
        };
        // Without a handshake the round trip is only known to be no longer than this.
        let measured = half.is_path_measured() && half.rtt_or_zero_ns() >= NETWORK_RTT_NS;
        measured && since.saturating_mul(one_of) < half.rtt_or_zero_ns()
    }

    /// The wait that ends with this segment, if it is at least `min_wait_ns` long.
    #[expect(clippy::inline_always, reason = "calls take a twentieth of a scan")]
    #[inline(always)]
    pub fn waited(&self, min_wait_ns: i64) -> Option<Waited> {
        let (half, peer) = (self.half, self.peer);
        let answered = self.answered();
        let data_arrived = answered.is_some_and(|data| self.arrived_since_last(data));
        let release = self.releasing_ack(answered.filter(|_| data_arrived));
        let peers = answered.unwrap_or_else(|| peer.last_new());
        // What the peer sends again is nothing that a program could answer. With everything
        // acknowledged, its data may be the last that the sender saw, if not that this capture did.
        let crossed = data_arrived && half.in_flight() == 0;
        let own_before = release.is_some() || (half.last_data().after(peers) && !crossed);
        let from = if own_before { half.last_data() } else { peers };
        let wait_ns = self.now.time_ns - from.time_ns;
        let waited = Waited { release, own_before, from, data_arrived, answered: peers };
        (from.is_set() && wait_ns >= min_wait_ns).then_some(waited)
    }

    /// All that is known of a wait.
    #[inline(never)]
    pub fn wait(&self, waited: &Waited, connection: u32, by: Side) -> Wait {
        let half = self.half;
        let Waited { release, own_before, from, data_arrived, answered } = *waited;
        let advanced = self.advancing_ack(release, from);
        let facts = self.facts(release, from)
            | self.echoed(release, from)
            | when(own_before, fact::OWN_DATA_BEFORE)
            | when(data_arrived && release.is_some(), fact::DATA_CAME)
            | when(advanced.is_some(), fact::ADVANCING_ACK);
        let ack = advanced.or(release.map(|release| release.mark)).unwrap_or_default();
        // Far from the sender its last data may be captured after the ACK that freed it: then the
        // small segment that the ACK covers is the one before the wait.
        let (from, unacked_len) = match release {
            Some(release) if !release.mark.after(from) => half.small_sent(),
            _ => (from, half.last_len()),
        };
        Wait {
            connection,
            by,
            facts,
            from,
            to: self.now,
            ack,
            rel_seq: half.offset(),
            len: self.len,
            unacked_len,
            unacked_ns: match release {
                Some(release) if release.says.is(fact::ACK_EXACT) => half.small_sent().0.time_ns,
                // An ACK before the last data was prompted by what came between.
                Some(release) => half.last_data().time_ns.min(release.mark.time_ns),
                None => from.time_ns,
            },
            turn_ns: match own_before {
                true if data_arrived => {
                    (answered.time_ns + half.rtt_or_zero_ns()).min(self.now.time_ns)
                }
                _ => Wait::NO_TURN,
            },
            contradictions: half.contradictions(),
            skipped_ids: half.skipped_ids(self.segment.ip_id, self.mss).min(u8::MAX.into()) as u8,
            tsval: self.segment.options.tsval().unwrap_or(0),
            reaction: half.reaction(self.now.time_ns),
        }
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
        // Data came so much before: later ACKs are no part of what the program answers.
        let answered_ns = arrived.map_or(i64::MIN, |data| data.time_ns + self.distinct_ns());
        let answers = |ack: Mark| ack.time_ns < answered_ns;
        if half.bytes() == 0 || (answers(half.small_acked().mark) && answers(half.all_acked().mark))
        {
            // Only its SYN was acknowledged, or its program answers: most waits by far.
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
                && reached_after(ack.mark, half.last_data(), rtt_ns)
                && ack.mark.time_ns >= answered_ns
        };
        let distance = |ack: &Release| (now.time_ns - ack.mark.time_ns - rtt_ns).abs();
        [half.small_acked(), half.all_acked()].into_iter().filter(frees).min_by_key(distance)
    }

    /// The data of the peer that this segment may answer: the newest that it acknowledges, as a segment
    /// acknowledges what its sender has when it leaves.
    fn answered(&self) -> Option<Mark> {
        match self.segment.has(ACK) {
            true => self.peer.acknowledged_data(self.segment.ack),
            false => Some(self.peer.last_new()),
        }
    }

    /// Had this data of the peer, which this segment acknowledges, not yet reached the sender when that
    /// sent its last data? Then those do not acknowledge it.
    fn arrived_since_last(&self, data: Mark) -> bool {
        let (half, now) = (self.half, self.now);
        if self.segment.has(ACK) {
            return data.after(half.last_new()) || half.crossed(self.segment.ack);
        }
        let rtt_ns = half.rtt_or_zero_ns();
        reached_after(data, half.last_data(), rtt_ns)
            && now.time_ns - data.time_ns >= rtt_ns - rtt_ns / IN_TRANSIT_ONE_OF
    }

    /// The wait that ends with this segment, seen over the retransmission of the small segment before
    /// it, the only one in flight, if an ACK freed the sender then.
    pub fn wait_over_retransmission(&self, connection: u32, by: Side) -> Option<Wait> {
        let half = self.half;
        let alone = half.is_last_small() && !half.is_flight_several();
        let freed = |wait: &Wait| wait.has_ack() && wait.is(fact::PURE_ACK);
        let waited = self.waited(0).filter(|_| alone)?;
        let wait = Some(self.wait(&waited, connection, by)).filter(freed)?;
        Some(Wait {
            facts: wait.facts & !fact::RECOVERY | fact::RESENT,
            from: half.last_new(),
            unacked_ns: half.last_new().time_ns,
            ..wait
        })
    }

    fn distinct_ns(&self) -> i64 {
        match self.half.rtt_or_zero_ns() {
            ..NETWORK_RTT_NS => LOCAL_DISTINCT_NS,
            _ => DISTINCT_NS,
        }
    }

    /// Where no ACK of everything came, the one that made room for more.
    fn advancing_ack(&self, release: Option<Release>, from: Mark) -> Option<Mark> {
        let advanced = self.half.advanced();
        let partial = release.is_none() && advanced != self.half.all_acked().mark;
        (partial && advanced.is_set() && advanced.after(from) && from == self.half.last_data())
            .then_some(advanced)
    }

    fn facts(&self, release: Option<Release>, from: Mark) -> u32 {
        let half = self.half;
        let partial = release.is_some_and(|release| release.mark != half.all_acked().mark);
        // Before the last data, full-sized, an unacknowledged small segment may have left. Its ACK
        // and that of everything, close together, cannot be told apart as the reason.
        let small_acked = half.small_acked().mark;
        let frees_small = small_acked.is_set()
            && release.is_some_and(|release| {
                (release.mark.time_ns - small_acked.time_ns).abs() < self.distinct_ns()
            });
        self.hindrances(from)
            | release.map_or(0, |release| release.says.facts())
            | when(partial, fact::PARTIAL_ACK)
            | when(half.is_last_small() || frees_small, fact::UNACKED_SMALL)
            | when(self.len < self.mss, fact::SMALL)
            | when(self.segment.has(FIN), fact::FIN)
            | when(self.segment.has(URG) || half.is_urgent(), fact::URGENT)
            | when(half.is_flight_large(), fact::LARGE_FLIGHT)
            | when(half.small_unacked() && self.now.after(from), fact::UNACKED_AT_SEND)
    }

    /// Those facts of [`fact::HINDERED`] that hold since `from`.
    pub fn hindrances(&self, from: Mark) -> u32 {
        let (half, peer) = (self.half, self.peer);
        let has_sent = half.bytes() > 0;
        let window_full =
            peer.is_window_scale_known() && i64::from(half.room()) < i64::from(self.len);
        let closed_frame = peer.zero_window_frame();
        let closed_before = closed_frame > 0 && closed_frame >= from.frame && half.room() <= 0;
        let zero_window = closed_frame > from.frame || (has_sent && closed_before);
        let (unseen_bytes, unseen_frame) = half.unseen();
        // Data of the peer that only its acknowledgment shows: this segment may be the answer.
        let (peer_bytes, peer_frame) = peer.unseen();
        let unseen = (unseen_frame > from.frame && unseen_bytes > 0)
            || (peer_frame > from.frame && peer_bytes > 0);
        when(half.is_recovering(), fact::RECOVERY)
            | when(zero_window, fact::ZERO_WINDOW)
            | when(has_sent && window_full, fact::WINDOW_FULL)
            | when(unseen, fact::UNSEEN)
    }
}

/// Did `incoming` reach the sender after `sent` had left it? Judged in the sender's time: what
/// passes the capture point on its way to the sender arrives half a round trip later, and what
/// passes it on its way out left half a round trip earlier. A quarter is left to jitter.
fn reached_after(incoming: Mark, sent: Mark, rtt_ns: i64) -> bool {
    match rtt_ns {
        ..NETWORK_RTT_NS => incoming.after(sent),
        _ => incoming.time_ns + rtt_ns - rtt_ns / IN_TRANSIT_ONE_OF > sent.time_ns,
    }
}
