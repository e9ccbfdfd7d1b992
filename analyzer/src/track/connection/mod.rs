//! One connection: both directions, the handshake, and the waits as they happen.

mod connecting;
mod even;
mod finish;
mod handshake;
mod mss;
mod opening;
mod repeated;
mod seldom;
mod sending;
#[cfg(test)]
mod tests;

pub use opening::Opening;

use crate::decode::seq;
use crate::decode::{ACK, FIN, Header, RST, SYN};
use crate::track::connection::sending::{NewData, Passed, Sending};
use crate::track::exchange::Exchanges;
use crate::track::exchange::exchanged::Exchanged;
use crate::track::half::{EndedBy, Half};
use crate::track::prefetch::prefetch;
use crate::track::thresholds::EVIDENCE_NS;
use crate::track::wait::{Wait, fact, when};
use crate::track::waits::Waits;
use crate::track::{Endpoint, Ends};
use crate::track::{Mark, SHORTEST_DELAYED_ACK_NS, Side};
use serde::{Deserialize, Serialize};
use std::mem::offset_of;

/// One TCP connection.
///
/// Laid out by hand, like its halves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[repr(C)]
pub struct Connection {
    pub halves: [Half; 2],
    pub exchanges: Exchanges,
    /// From the client's last SYN to its ACK of the server's, in ns; else as [`handshake`] has it.
    handshake_ns: i64,
    pub id: u32,
    /// Effective MSS, once both SYNs were captured; else 0.
    mss: u32,
    pub first_ns: i64,
    /// Latency of the first exchange in ns, and the frame in which it ended; 0 for none.
    first_exchange: (i64, u64),
    pub ends: Ends,
}

const _: () = assert!(size_of::<Connection>() == 6 * 64, "a connection takes six cache lines");
const _: () = assert!(
    offset_of!(Connection, first_ns) == 5 * 64,
    "all that data needs of both directions lies in one cache line"
);

/// How long waits must be.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Lengths {
    /// To be listed.
    pub listed_ns: i64,
    /// To be looked at: they are listed, or evidence for those that are.
    pub seen_ns: i64,
}

impl Lengths {
    /// Where no waits are asked for.
    pub const NONE: Self = Self { listed_ns: i64::MAX, seen_ns: i64::MAX };

    /// Evidence is the same whatever is listed.
    pub fn listing(min_wait_ns: i64) -> Self {
        Self { listed_ns: min_wait_ns, seen_ns: min_wait_ns.min(EVIDENCE_NS) }
    }
}

/// Where a segment's waits and exchanges go.
pub struct Sinks<'a> {
    pub waits: &'a mut Waits,
    pub exchanged: &'a mut Exchanged,
    pub lengths: Lengths,
    /// Step of the clock, as far as the timestamps tell so far.
    pub clock_ns: i64,
}

impl Connection {
    pub fn new(id: u32, ends: Ends) -> Self {
        Self {
            id,
            ends,
            mss: 0,
            halves: [Half::new(), Half::new()],
            first_ns: 0,
            exchanges: Exchanges::default(),
            first_exchange: (0, 0),
            handshake_ns: handshake::NOT_YET,
        }
    }

    /// Prefetches all that the next segment of `by` needs but the boxed part; one with data needs more.
    #[inline]
    pub fn fetch(&self, by: Side, data: bool) {
        let [client, server] = &self.halves;
        client.fetch();
        server.fetch();
        self.half(by).fetch_sender();
        // Prefetching another place costs less than a branch.
        prefetch(if data { &self.id } else { client.first_line() });
    }

    /// Time of the latest segment.
    pub fn last_ns(&self) -> i64 {
        self.halves[0].last_ns().max(self.halves[1].last_ns())
    }

    pub fn half(&self, side: Side) -> &Half {
        &self.halves[side as usize]
    }

    pub fn endpoint(&self, side: Side) -> Endpoint {
        match side {
            Side::Client => self.ends.client,
            Side::Server => self.ends.server,
        }
    }

    /// Were both SYNs captured?
    pub fn has_handshake(&self) -> bool {
        self.halves.iter().all(Half::has_syn)
    }

    /// Do both ends live on the capturing host?
    pub fn is_loopback(&self) -> bool {
        self.ends.client.addr == self.ends.server.addr || self.ends.client.addr.is_loopback()
    }

    /// Stream offset of a segment's first payload byte; 0 is the first byte of its direction.
    pub fn rel_seq(&self, side: Side, segment: &Header) -> u64 {
        let half = self.half(side);
        if half.is_seq_known() { half.offset_of(segment.seq) } else { 0 }
    }

    /// Takes the next segment of the connection, captured as `now`.
    pub fn take(&mut self, side: Side, segment: &Header, now: Mark, sinks: &mut Sinks<'_>) {
        self.compare_gap(now);
        self.halves[side as usize].count(segment, now);
        if segment.has(RST) {
            self.halves[side as usize].reset();
            self.finish(sinks);
            return;
        }
        if segment.has(SYN) {
            self.take_syn(side, segment, now, sinks);
        } else if !self.half(side).is_seq_known() {
            self.halves[side as usize].begin(segment.seq);
        }
        if segment.has(ACK) {
            self.take_ack(side, segment, now);
            if segment.options.has_sack() {
                self.take_sack(side, segment, sinks);
            }
        }
        let scaled = !segment.has(SYN);
        self.halves[side as usize].advertise(segment, now.frame, scaled);
        if segment.len > 0 && !segment.has(SYN) {
            self.take_data(side, segment, now, sinks);
        } else if segment.is_pure_ack() {
            self.halves[side as usize].note_pure_ack();
        }
        if segment.has(FIN) {
            self.halves[side as usize].take_fin(segment, now);
            self.finish(sinks);
        }
        let mss = self.mss;
        let half = &mut self.halves[side as usize];
        if half.note_id(segment, mss) {
            let received = half.segments() - 1;
            self.halves[side.other() as usize].excuse(received);
        }
    }

    #[cold]
    fn take_syn(&mut self, side: Side, segment: &Header, now: Mark, sinks: &mut Sinks<'_>) {
        let half = &mut self.halves[side as usize];
        let first_payload = segment.seq.wrapping_add(1);
        if half.has_syn() && half.is_syn_copy(segment, now) {
            half.take_copy();
            return;
        }
        if half.has_syn() {
            let from = half.repeat(segment.seq, now);
            self.note_connecting(now);
            self.push_repeat(side, segment, from, now, 0, sinks);
            return;
        }
        half.take_syn(segment, first_payload, now);
        if side == Side::Server && self.halves[0].has_syn() {
            self.note_connecting(now);
            self.push_late_answer(now, sinks);
        }
        if side == Side::Server
            && self.halves[0].is_window_scale_known()
            && segment.options.window_scale().is_none()
            && !segment.options.is_cut()
        {
            // Both must offer the option (RFC 7323, section 2.2).
            self.halves[0].set_window_scale(None);
        }
    }

    #[expect(clippy::inline_always, reason = "calls take a twentieth of a scan")]
    #[inline(always)]
    fn take_ack(&mut self, side: Side, segment: &Header, now: Mark) {
        self.note_handshake(side, segment, now);
        let peer = &mut self.halves[side.other() as usize];
        if !peer.is_seq_known() || !peer.is_plausible(segment.ack) {
            return;
        }
        let Some(sample_ns) = peer.take_ack(segment, now) else {
            return;
        };
        // A pure ACK may be a delayed one. With a handshake the shortest round trip is known all
        // the same; without one, such an ACK must not be taken for it.
        let pure = segment.len == 0;
        self.halves[side as usize].react(sample_ns, segment, now);
        if !pure || sample_ns < SHORTEST_DELAYED_ACK_NS || self.has_handshake() {
            self.halves[side as usize].add_round_trip(sample_ns, pure);
        } else {
            self.halves[side as usize].bound_round_trip(sample_ns);
        }
    }

    fn take_data(&mut self, side: Side, segment: &Header, now: Mark, sinks: &mut Sinks<'_>) {
        let half = &mut self.halves[side as usize];
        if half.is_keep_alive(segment) || !half.is_plausible(segment.seq) {
            return;
        }
        let ahead = seq::distance(half.snd_nxt(), segment.seq);
        let end = segment.seq.wrapping_add(segment.len);
        if !seq::lt(half.snd_nxt(), end) {
            self.take_old_data(side, segment, now, sinks);
            return;
        }
        if ahead > 0 {
            half.jump_to(segment.seq, now.frame);
        }
        // A segment that begins with old bytes: only the rest is new.
        let new_len = seq::distance(half.snd_nxt(), end) as u32;
        self.take_new_data(side, segment, new_len, now, sinks);
    }

    fn take_new_data(
        &mut self,
        side: Side,
        segment: &Header,
        len: u32,
        now: Mark,
        sinks: &mut Sinks<'_>,
    ) {
        let mss = self.current_mss();
        let data = NewData { segment, len, mss, now };
        let sending = self.sending(side, data);
        let half = sending.half;
        let (mut shown, passes) = match half.is_last_small() {
            true => (sending.passes_small_one(), false),
            false => {
                (Passed::Nothing, sending.passes_full_ones() && half.passed_full_ones().0 == 0)
            }
        };
        let may_have_waited = sending.may_have_waited();
        // After a small segment that did not wait, none does.
        let is_new = may_have_waited && !half.may_be_held() && !half.has_contradicted();
        let may_be_held = is_new && sending.may_have_been_held(sinks.clock_ns);
        let is_short = may_have_waited && sending.is_short(sinks.lengths.listed_ns);
        let recovering = half.is_recovering();
        let ended = self.wait_before(&sending, side, sinks);
        let facts = ended.as_ref().map_or(0, |ended| ended.facts);
        if facts & fact::ECHOES != 0 {
            shown = sending.shown_by_echo(facts, shown);
        }
        if is_short {
            self.count_short(side, data, sinks.clock_ns);
        }
        if let Some(ended) = ended {
            self.push(ended, sinks);
        }
        if recovering {
            self.push_over_retransmission(side, data, sinks);
        }
        if self.exchanges.is_ended_by(side) {
            self.end_exchange(sinks);
        }
        self.exchanges.data(side, now);
        let peer = self.half(side.other());
        let (peer_window, received, acked_part) =
            (peer.window(), peer.segments(), peer.acked_part());
        let half = &mut self.halves[side as usize];
        if may_be_held {
            half.note_may_be_held();
        }
        match shown {
            Passed::Contradiction => half.contradict(now, received),
            Passed::AsFull => half.pass_as_full(len),
            Passed::Nothing => {}
        }
        if passes {
            half.pass_full_ones(now.frame);
        }
        half.send(segment, len, now, mss);
        half.cross(acked_part);
        half.set_room(peer_window);
    }

    /// New data of `side`, and both directions as they are before it.
    #[inline]
    fn sending<'a>(&'a self, side: Side, data: NewData<'a>) -> Sending<'a> {
        let (half, peer) = (self.half(side), self.half(side.other()));
        let NewData { segment, len, mss, now } = data;
        Sending { half, peer, segment, len, mss, now }
    }

    /// The wait that ends with this data, if it is to be kept; others are counted.
    #[expect(clippy::inline_always, reason = "calls take a twentieth of a scan")]
    #[inline(always)]
    fn wait_before(
        &self,
        sending: &Sending<'_>,
        side: Side,
        sinks: &mut Sinks<'_>,
    ) -> Option<Wait> {
        let Sending { half, peer, now, .. } = *sending;
        // A wait begins with the last data of one of both. Most data comes soon after the two.
        let earliest_ns = half.last_data().time_ns.min(peer.last_new().time_ns);
        if now.time_ns - earliest_ns < sinks.lengths.seen_ns {
            return None;
        }
        let waited = sending.waited(sinks.lengths.seen_ns)?;
        let wait_ns = waited.wait_ns(now);
        if waited.is_reply() {
            // Most waits by far: nothing is learned from them.
            if wait_ns - half.rtt_or_zero_ns() < sinks.lengths.listed_ns {
                return None;
            }
            let has_room = |facts| sinks.waits.has_room_for(side, facts, wait_ns);
            if !has_room(0) && !has_room(sending.hindrances(waited.from())) {
                sinks.waits.count_other(wait_ns);
                return None;
            }
        }
        Some(sending.wait(&waited, self.id, side))
    }

    fn push(&mut self, mut wait: Wait, sinks: &mut Sinks<'_>) {
        let in_exchange =
            self.exchanges.covers(wait.from) || self.exchanges.covers_turn(wait.turn_ns);
        wait.facts |= when(in_exchange, fact::IN_EXCHANGE);
        let half = &mut self.halves[wait.by as usize];
        if wait.is(fact::ECHOES_ACK) {
            half.note_echo();
        }
        if wait.is_freed() {
            match half.ended_by(&wait, sinks.clock_ns) {
                EndedBy::Ack => {
                    let listed = wait.span_ns() >= sinks.lengths.listed_ns;
                    if listed && wait.is(fact::IN_EXCHANGE) {
                        self.exchanges.suspect();
                    }
                    sinks.waits.keep(wait);
                    return;
                }
                EndedBy::Program => {
                    wait.facts |= fact::OWN_PAUSE;
                    half.add_pause(&wait);
                }
                EndedBy::Either => {
                    sinks.waits.push_other(wait, sinks.lengths.listed_ns);
                    return;
                }
            }
        }
        let reply_ns = wait.span_ns() - half.rtt_or_zero_ns();
        let length_ns = if wait.is(fact::OWN_DATA_BEFORE) { wait.span_ns() } else { reply_ns };
        let delayed = wait.is(fact::OWN_PAUSE) && wait.ack_ns() >= sinks.lengths.seen_ns;
        if length_ns >= sinks.lengths.listed_ns || delayed {
            sinks.waits.push_other(wait, sinks.lengths.listed_ns);
        }
    }
}
