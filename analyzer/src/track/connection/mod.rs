//! One connection: both directions, the handshake, and the waits as they happen.

mod connecting;
mod finish;
mod messages;
mod mss;
mod new_data;
mod observation;
mod open;
mod order;
mod owed;
mod repeated;
#[cfg(test)]
mod tests;

use crate::decode::seq;
use crate::decode::{ACK, FIN, Header, Options, PSH, RST, SYN};
use crate::track::by_block::ByBlock;
use crate::track::clock::made_up::Times;
use crate::track::connection::messages::Messages;
use crate::track::ending::Ending;
use crate::track::ends::{Ends, PackedEnds};
use crate::track::exchange::Exchanges;
use crate::track::exchange::exchanged::Exchanged;
use crate::track::half::Half;
use crate::track::prefetch::prefetch;
use crate::track::thresholds::{EVIDENCE_NS, SHORTEST_DELAYED_ACK_NS};
use crate::track::wait::Wait;
use crate::track::waits::Waits;
use crate::track::{Endpoint, Mark, Side};
use std::mem::offset_of;

/// One TCP connection.
///
/// Laid out by hand, like its halves: memory that was never touched before costs as much as to track it.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub struct Connection {
    pub halves: [Half; 2],
    pub first_ns: i64,
    /// Latency of the first exchange in ns, if there was one.
    first_latency_ns: i64,

    /// From the client's last SYN to its ACK of the server's, in ns; else as [`connecting`] has it.
    handshake_ns: i64,
    ends: PackedEnds,
    pub exchanges: Exchanges,
    pub id: u32,
    /// The frame in which the first exchange ended; 0 for none.
    first_end_frame: u32,
    /// Effective MSS, once both SYNs were captured; else 0.
    mss: u16,
    pub times: Times,
    /// Set before judging.
    pub copies: Copies,
}

/// How often a connection was captured on its way: the number of its copies to the same server, or
/// [`Copies::ONE_ITSELF`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Copies(u8);

impl Copies {
    /// Another one is the same, captured elsewhere on its way.
    pub const ONE_ITSELF: Self = Self(u8::MAX);

    pub fn is_one_itself(self) -> bool {
        self == Self::ONE_ITSELF
    }

    pub fn add_one(&mut self) {
        self.0 += 1;
    }

    pub fn count(self) -> u8 {
        if self.is_one_itself() { 0 } else { self.0 }
    }
}

const LINE: usize = 64;
const _: () = assert!(size_of::<Connection>() == 5 * LINE, "a connection takes five cache lines");
const _: () = assert!(
    offset_of!(Connection, handshake_ns) == 4 * LINE,
    "all that a segment needs of both directions together lies in the last one"
);

/// A message in two small pieces, the first of which was acknowledged at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    pub connection: u32,
    pub by: Side,
    /// Frames and lengths of both.
    pub frames: [u32; 2],
    pub bytes: [u32; 2],
}

/// Splits that a shard keeps: reports show one of them.
const MOST_SPLITS: usize = 1024;

/// How long waits must be.
#[derive(Debug, Clone, Copy)]
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

/// A segment of the connection, the end that sent it, and when it was captured.
#[derive(Clone, Copy)]
struct Sent<'a> {
    side: Side,
    segment: &'a Header,
    now: Mark,
}

/// Where a segment's waits and exchanges go.
pub struct Recorder {
    pub waits: Waits,
    pub exchanged: Exchanged,
    pub splits: Vec<Split>,
    /// The first FIN of each connection, until the other end's comes, before its data or behind it. Not in the
    /// connection: few are closed by one end only.
    pub fins: ByBlock<Mark>,
    pub messages: Messages,
    pub lengths: Lengths,
    /// Step of the clock, as far as the timestamps tell so far.
    pub clock_ns: i64,
}

impl Recorder {
    /// Nothing was seen yet.
    pub fn new(lengths: Lengths, exchanged: Exchanged) -> Self {
        let (waits, messages) = (Waits::default(), Messages::default());
        let (splits, fins) = (Vec::new(), ByBlock::default());
        Self { waits, exchanged, splits, fins, messages, lengths, clock_ns: 0 }
    }

    /// Keeps the first ones.
    #[cold]
    fn push_split(&mut self, split: Split) {
        if self.splits.len() < MOST_SPLITS {
            self.splits.push(split);
        }
    }

    /// Keeps a wait that no ACK may have ended, while there is room.
    pub fn push_other(&mut self, wait: Wait) {
        self.waits.push_other(wait, self.lengths.listed_ns);
    }
}

impl Connection {
    pub fn new(id: u32, ends: Ends) -> Self {
        Self {
            id,
            ends: PackedEnds::new(ends),
            mss: 0,
            times: Times::Even,
            copies: Copies::default(),
            halves: [Half::new(), Half::new()],
            first_ns: 0,
            exchanges: Exchanges::default(),
            first_latency_ns: 0,
            first_end_frame: 0,
            handshake_ns: connecting::NOT_YET,
        }
    }

    /// Prefetches all that the next segment of `by` needs but the boxed part.
    #[inline]
    pub fn fetch(&self, by: Side) {
        let [client, server] = &self.halves;
        prefetch(&client.last_data);
        prefetch(&server.last_data);
        prefetch(&self.half(by).last_ns);
        prefetch(&self.handshake_ns);
    }

    pub fn ends(&self) -> Ends {
        self.ends.unpack()
    }

    #[cfg(test)]
    pub fn change_ends(&mut self, change: impl FnOnce(&mut Ends)) {
        let mut ends = self.ends();
        change(&mut ends);
        self.ends = PackedEnds::new(ends);
    }

    /// Time of the latest segment.
    pub fn last_ns(&self) -> i64 {
        self.halves[0].last_ns.max(self.halves[1].last_ns)
    }

    pub fn half(&self, side: Side) -> &Half {
        &self.halves[side as usize]
    }

    pub fn endpoint(&self, side: Side) -> Endpoint {
        let Ends { client, server } = self.ends();
        match side {
            Side::Client => client,
            Side::Server => server,
        }
    }

    /// Were both SYNs captured?
    pub fn has_handshake(&self) -> bool {
        self.halves.iter().all(Half::has_syn)
    }

    /// Do both ends live on the capturing host?
    pub fn is_loopback(&self) -> bool {
        let Ends { client, server } = self.ends();
        client.addr == server.addr || client.addr.is_loopback()
    }

    /// Has it, as far as it was captured, not opened: only asked, with an answer or without, or
    /// been refused? Then nothing follows, mostly.
    pub fn is_unopened(&self) -> bool {
        let is_bare = |half: &Half| half.is_plain() && half.offset == 0;
        // Where the clock steps back a late answer is a wait that leaves no other trace.
        let is_timed = |half: &Half| !half.has_syn() || half.last_data.time_ns >= self.first_ns;
        let is_syn = |half: &Half| half.segments == 0 || half.segments == 1 && half.has_syn();
        let is_refused = self.halves.iter().any(Half::has_reset);
        self.halves.iter().all(|half| is_bare(half) && is_timed(half))
            && (is_refused || self.halves.iter().all(is_syn))
    }

    /// Stream offset of a segment's first payload byte; 0 is the first byte of its direction.
    pub fn rel_seq(&self, side: Side, segment: &Header) -> u64 {
        let half = self.half(side);
        if half.is_seq_known() { half.offset_of(segment.seq) } else { 0 }
    }

    /// Takes the next segment of the connection, captured as `now`.
    pub fn take(&mut self, side: Side, segment: &Header, now: Mark, recorder: &mut Recorder) {
        let sent = Sent { side, segment, now };
        self.compare_gap(now);
        if segment.len > 0 {
            self.compare_order(side, now);
        }
        if segment.has(RST) {
            // Until then its end was silent.
            self.close(Ending::reset(side), now, recorder);
            self.halves[side as usize].count(segment, now);
            self.halves[side as usize].reset();
            self.finish(recorder);
            return;
        }
        self.halves[side as usize].count(segment, now);
        if segment.has(SYN) {
            self.take_syn(sent, recorder);
        } else if !self.half(side).is_seq_known() {
            // On a joined connection that pauses, a keep-alive comes first: an old byte that nobody pushes.
            let is_old = segment.len == 1 && !segment.has(PSH | FIN);
            self.halves[side as usize].begin(segment.seq.wrapping_add(is_old.into()));
        }
        if segment.has(ACK) {
            self.take_ack(sent, recorder);
            if self.half(side.other()).is_recovering() {
                self.take_ack_of_repeated(sent, recorder);
            }
            if segment.options.has_sack() {
                self.take_sack(side, segment, recorder);
            }
        }
        let scaled = !segment.has(SYN);
        self.halves[side as usize].advertise(segment, now, scaled);
        if segment.len > 0 && !segment.has(SYN) {
            self.take_data(sent, recorder);
        } else if segment.is_pure_ack() {
            self.halves[side as usize].note_pure_ack();
            if self.half(side).is_keep_alive(segment) {
                self.note_probe(sent);
            }
        }
        if segment.has(FIN) {
            self.close(Ending::fin(side), now, recorder);
            let (was_closed, heard_ns) = (self.is_closed(), self.half(side.other()).last_ns);
            self.halves[side as usize].take_fin(segment, now, heard_ns);
            // The first one, or one ahead of its data.
            if !was_closed || !self.half(side).has_finished() {
                let fin = recorder.fins.one(self.id);
                *fin = if fin.is_set() { Mark::NONE } else { now };
            }
            self.finish(recorder);
        }
        let mss = self.mss.into();
        let half = &mut self.halves[side as usize];
        if half.note_id(segment, mss) {
            let received = half.segments - 1;
            self.halves[side.other() as usize].excuse(received);
        }
    }

    /// TCP Fast Open (RFC 7413): the client's data came with its SYN, if the answer acknowledges that.
    #[cold]
    #[inline(never)]
    fn take_fast_open(&mut self, answer: &Header, recorder: &mut Recorder) {
        let client = self.half(Side::Client);
        let (seq, len, now) = (client.sequence.nxt, client.last_len, client.last_data);
        if len > 0 && client.bytes() == 0 && answer.ack == seq.wrapping_add(len) {
            let options = Options::default();
            let data = Header { seq, ack: 0, len, window: 0, ip_id: 0, options, flags: PSH };
            self.take_data(Sent { side: Side::Client, segment: &data, now }, recorder);
        }
    }

    #[cold]
    fn take_syn(&mut self, sent: Sent<'_>, recorder: &mut Recorder) {
        let Sent { side, segment, now } = sent;
        let half = &mut self.halves[side as usize];
        let first_payload = segment.seq.wrapping_add(1);
        if half.has_syn() && half.is_syn_copy(segment, now) {
            half.odd_mut().repeats.duplicated += 1;
            return;
        }
        if half.has_syn() {
            self.take_syn_again(sent, recorder);
            return;
        }
        half.take_syn(segment, first_payload, now);
        if side == Side::Server && self.halves[0].has_syn() {
            self.take_fast_open(segment, recorder);
            self.note_connecting(now);
            self.push_late_answer(now, recorder);
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
    fn take_ack(&mut self, sent: Sent<'_>, recorder: &mut Recorder) {
        let Sent { side, segment, now } = sent;
        self.note_handshake(sent);
        let peer = &mut self.halves[side.other() as usize];
        if !peer.is_seq_known() || !peer.is_plausible(segment.ack) {
            return;
        }
        let Some(sample_ns) = peer.take_ack(segment, now) else {
            return;
        };
        let is_pure = segment.is_pure_ack();
        let frees_small = peer.small_acked().mark.frame == now.frame;
        if is_pure && peer.is_freed_behind(segment.ack, sample_ns, now) {
            peer.take_ack_behind(sample_ns);
            self.free_behind(side.other(), now, recorder);
        }
        // A pure ACK may be a delayed one. With a handshake the shortest round trip is known all
        // the same; without one, such an ACK must not be taken for it.
        let pure = segment.len == 0;
        if !pure || sample_ns < SHORTEST_DELAYED_ACK_NS || self.has_handshake() {
            self.halves[side as usize].add_round_trip(sample_ns, pure);
        } else {
            self.halves[side as usize].bound_round_trip(sample_ns);
        }
        if frees_small {
            self.halves[side as usize].count_delayed_ack(sample_ns, is_pure);
        }
    }

    #[expect(clippy::inline_always, reason = "calls take a twentieth of a scan")]
    #[inline(always)]
    fn take_data(&mut self, sent: Sent<'_>, recorder: &mut Recorder) {
        let Sent { side, segment, now } = sent;
        let half = &mut self.halves[side as usize];
        if half.is_keep_alive(segment) {
            self.note_probe(sent);
            return;
        }
        if !half.is_plausible(segment.seq) {
            return;
        }
        let ahead = seq::distance(half.sequence.nxt, segment.seq);
        let end = segment.seq.wrapping_add(segment.len);
        if !seq::lt(half.sequence.nxt, end) {
            self.take_old_data(sent, recorder);
            return;
        }
        if ahead > 0 {
            half.jump_to(segment.seq, now.frame);
        }
        // A segment that begins with old bytes: only the rest is new.
        let new_len = seq::distance(half.sequence.nxt, end) as u32;
        self.take_new_data(sent, new_len, recorder);
    }
}
