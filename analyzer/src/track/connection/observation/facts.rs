//! The wait that a new data segment ended, with its facts.

use super::Observation;
use super::idle::Idle;
use crate::decode::{ACK, FIN, URG, seq};
use crate::track::Mark;
use crate::track::half::Release;
use crate::track::thresholds::{OPEN_ROUND_TRIPS, PROBE_NS};
use crate::track::wait::{Facts, Wait, fact, when};

impl Observation<'_> {
    /// The wait with all that is known of it.
    #[inline(never)]
    pub(super) fn wait(&self, idle: &Idle) -> Wait {
        let half = self.half;
        let Idle { release, own_before, from, since_ns, arrived } = *idle;
        let advanced = self.advancing_ack(release, from);
        let facts = self.facts(release, from)
            | self.echoed(release, from)
            | when(own_before, fact::OWN_DATA_BEFORE)
            | when(arrived.is_some() && release.is_some(), fact::DATA_CAME)
            | when(release.is_some() && self.had_nothing(), fact::OWN_PAUSE)
            | when(advanced.is_some(), fact::ADVANCING_ACK);
        let ack = advanced.or(release.map(|release| release.mark)).unwrap_or_default();
        // Far from the sender its last data may be captured after the ACK that freed it: then the
        // small segment that the ACK covers is the one before the wait.
        let (from, unacked_len) = match release {
            Some(release) if !release.mark.after(from) => half.small_sent(),
            _ => (from, half.last_len),
        };
        // When the capture point saw what the sender waited for last, if that was not its own data.
        let seen_ns = if own_before { arrived.map(|data| data.time_ns) } else { Some(since_ns) };
        // A turn begins when that has arrived.
        let way_ns = if own_before { half.rtt_or_zero_ns() } else { self.way_ns() };
        Wait {
            facts,
            ack,
            rel_seq: half.offset,
            len: self.len,
            unacked_len,
            unacked_ns: match release {
                Some(release) if release.facts.is_exact() => half.small_sent().0.time_ns,
                // An ACK before the last data was prompted by what came between.
                Some(release) => half.last_data.time_ns.min(release.mark.time_ns),
                None => from.time_ns,
            },
            turn_ns: seen_ns.map_or(Wait::NO_TURN, |ns| (ns + way_ns).min(self.now.time_ns)),
            contradictions: half.contradictions(),
            tsval: self.segment.options.tsval().unwrap_or(0),
            from_tsval: if from == half.last_data { half.last_tsval().unwrap_or(0) } else { 0 },
            ..Wait::between(self.connection, self.by, from, self.now)
        }
    }

    /// Where no ACK of everything came, the one that made room for more.
    fn advancing_ack(&self, release: Option<Release>, from: Mark) -> Option<Mark> {
        let advanced = self.half.advanced();
        let partial = release.is_none() && advanced != self.half.all_acked().mark;
        (partial && advanced.is_set() && advanced.after(from) && from == self.half.last_data)
            .then_some(advanced)
    }

    fn facts(&self, release: Option<Release>, from: Mark) -> Facts {
        let half = self.half;
        // Before the last data, full-sized, an unacknowledged small segment may have left. Its ACK
        // and that of everything, close together, cannot be distinguished as the reason.
        let small_acked = half.small_acked().mark;
        let frees_small = small_acked.is_set()
            && release.is_some_and(|release| {
                (release.mark.time_ns - small_acked.time_ns).abs() < self.distinct_ns()
            });
        self.hindrances(from)
            | when(half.sequence.in_flight() > 0, fact::IN_FLIGHT)
            | release.map_or(Facts::NONE, |release| release.facts.facts())
            | when(half.is_last_small() || frees_small, fact::UNACKED_SMALL)
            | when(half.left_unheld(from), fact::UNACKED_UNHELD)
            | when(self.len < self.mss, fact::SMALL)
            | when(self.crosses(from), fact::CROSSES)
            | when(self.is_cut(), fact::CUT)
            | when(self.segment.has(FIN), fact::FIN)
            | when(half.skips_ids(self.segment.ip_id, self.mss), fact::SKIPPED_IDS)
            | when(self.segment.has(URG) || half.is_urgent(), fact::URGENT)
            | when(half.is_flight_large(), fact::LARGE_FLIGHT)
            | when(half.sequence.is_small_unacked() && self.now.after(from), fact::UNACKED_AT_SEND)
    }

    /// True if the last data of the peer, after a wait that no way takes, had not reached its sender.
    fn crosses(&self, from: Mark) -> bool {
        let round_trip_ns = self.half.rtt_or_zero_ns() + self.peer.rtt_or_zero_ns();
        let is_long =
            self.now.time_ns - from.time_ns >= PROBE_NS.max(OPEN_ROUND_TRIPS * round_trip_ns);
        is_long && self.segment.has(ACK) && seq::lt(self.segment.ack, self.peer.sequence.nxt)
    }

    /// True if the sender waited, since `from`, for bytes that were sent again. An answer waited for those
    /// of the peer if they came in the second half of the time.
    fn was_sent_again(&self, from: Mark) -> bool {
        let Self { half, peer, now, .. } = *self;
        if from == half.last_data || from == half.last_new() {
            return half.is_recovering();
        }
        let arrived_ns = peer.last_data.time_ns;
        peer.is_recovering() && 2 * (now.time_ns - arrived_ns) < now.time_ns - from.time_ns
    }

    /// The facts of [`fact::HINDERED`] that hold since `from`.
    pub(super) fn hindrances(&self, from: Mark) -> Facts {
        let (half, peer) = (self.half, self.peer);
        let has_sent = half.bytes() > 0;
        let is_full = |room: i64| peer.is_window_scale_known() && room < i64::from(self.len);
        // The window may have opened, and the program paused then.
        let room_now = i64::from(peer.sequence.window) - i64::from(half.sequence.in_flight());
        let opened_ns = self.now.time_ns - peer.last_ns - half.rtt_or_zero_ns();
        let waited_for_room = is_full(room_now) || opened_ns <= self.distinct_ns();
        // A segment that just fills a window below the MSS was held for more room (RFC 1122,
        // section 4.2.3.4). Where no scale is known, the longest fill it as it stands by no chance.
        let is_cut = match peer.is_window_scale_known() {
            true => self.len < self.mss,
            false => self.len >= half.largest(),
        };
        let is_filled = is_cut && room_now == i64::from(self.len);
        let window_full = (is_full(half.room.into()) && waited_for_room) || is_filled;
        let closed_frame = peer.zero_window_frame();
        let closed_before = closed_frame > 0 && closed_frame >= from.frame && half.room <= 0;
        let zero_window = closed_frame > from.frame || (has_sent && closed_before);
        let (unseen_bytes, unseen_frame) = half.unseen();
        // Data of the peer that only its acknowledgment shows: this segment may be the answer.
        let (peer_bytes, peer_frame) = peer.unseen();
        let unseen = (unseen_frame > from.frame && unseen_bytes > 0)
            || (peer_frame > from.frame && peer_bytes > 0);
        when(self.was_sent_again(from), fact::RECOVERY)
            | when(zero_window, fact::ZERO_WINDOW)
            | when(has_sent && window_full, fact::WINDOW_FULL)
            | when(unseen, fact::UNSEEN)
    }
}
