//! One connection: both directions, the handshake, and the waits as they happen.

use super::exchange::{Exchange, Exchanges};
use super::half::{Half, Release};
use super::table::{Endpoint, Ends};
use super::{Mark, Side};
use crate::decode::{ACK, FIN, Header, RST, SYN, URG};
use crate::seq;
use crate::wait::{Wait, Waits, fact};

/// The timestamp option with its padding, in every segment once agreed (RFC 7323, section 3.2).
const TIMESTAMP_OPTION_LEN: u32 = 12;
/// RFC 9293, section 3.7.1: the MSS where the peer announced none (IPv4).
const DEFAULT_MSS: u32 = 536;
/// No SYN was captured: a largest payload between these looks like an MSS (IPv6's minimum MTU of
/// 1,280 bytes less 60 bytes of headers; Ethernet's 1,500 less 40).
const INFERRED_MSS: std::ops::RangeInclusive<u32> = 1220..=1460;
/// Shorter than this, a payload is below any MSS that hosts fall back to.
const MIN_CERTAIN_MSS: u32 = DEFAULT_MSS;
/// Linux sends a tail-loss probe, which is new data that no algorithm holds, 2 SRTT + 200 ms
/// after a lone segment (`tcp_schedule_loss_probe`): later than this, a second small segment in
/// flight proves nothing about Nagle.
const PROBE_NS: i64 = 190_000_000;
/// RFC 6928: an initial congestion window of ten segments.
const INITIAL_WINDOW_SEGMENTS: u32 = 10;
/// From this round trip on there is a network between the capture point and a host.
const NETWORK_RTT_NS: i64 = 1_000_000;
/// Two events this far apart can be told apart as the reason for a third: at the sender itself,
/// and over a network.
const LOCAL_DISTINCT_NS: i64 = 1_000_000;
const DISTINCT_NS: i64 = 5_000_000;
/// Missing bytes that come this soon were reordered by the network, not sent again.
const REORDER_NS: i64 = 3_000_000;

/// One TCP connection.
#[derive(Debug, Clone)]
pub struct Connection {
    pub id: u32,
    pub ends: Ends,
    /// Effective MSS, once both SYNs were captured.
    mss: Option<u32>,
    pub halves: [Half; 2],
    pub first_ns: i64,
    pub last_ns: i64,
    pub exchanges: Exchanges,
}

/// Everything a new segment may add to.
pub struct Sinks<'a> {
    pub waits: &'a mut Waits,
    pub exchanges: &'a mut Option<Vec<Exchange>>,
    pub min_wait_ns: i64,
}

impl Connection {
    pub fn new(id: u32, ends: Ends) -> Self {
        Self {
            id,
            ends,
            mss: None,
            halves: [Half::new(), Half::new()],
            first_ns: 0,
            last_ns: 0,
            exchanges: Exchanges::default(),
        }
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
        self.halves.iter().all(|half| half.syn)
    }

    /// The effective MSS in bytes (RFC 9293, section 3.7.1: what the options take is not payload)
    /// and whether it had to be inferred, for want of a SYN.
    pub fn effective_mss(&self) -> (u32, bool) {
        let [client, server] = &self.halves;
        let options = match client.timestamps && server.timestamps {
            true => TIMESTAMP_OPTION_LEN,
            false => 0,
        };
        let announced = |half: &Half| match (half.syn, half.mss_option) {
            (false, _) => u32::MAX,
            (true, 0) => DEFAULT_MSS,
            (true, mss) => u32::from(mss),
        };
        let mss = announced(client).min(announced(server));
        if mss != u32::MAX {
            return (mss.saturating_sub(options).max(1), false);
        }
        (self.inferred_mss(), true)
    }

    /// The effective MSS in bytes while the connection goes on: fixed by its handshake, inferred
    /// anew without one.
    #[inline]
    fn current_mss(&mut self) -> u32 {
        if let Some(mss) = self.mss {
            return mss;
        }
        let (mss, inferred) = self.effective_mss();
        if !inferred && self.halves.iter().all(|half| half.segments > 1) {
            self.mss = Some(mss);
        }
        mss
    }

    fn inferred_mss(&self) -> u32 {
        let largest = self.halves[0].largest.max(self.halves[1].largest);
        match self.is_loopback() {
            // The kernel works with half the largest window on loopback, 32 kB at first.
            true => largest.max(16_384),
            false => largest.clamp(*INFERRED_MSS.start(), *INFERRED_MSS.end()),
        }
    }

    /// Do both ends live on the capturing host?
    pub fn is_loopback(&self) -> bool {
        self.ends.client.addr == self.ends.server.addr || self.ends.client.addr.is_loopback()
    }

    /// Stream offset of a segment's first payload byte; 0 is the first byte of its direction.
    pub fn rel_seq(&self, side: Side, segment: &Header) -> u64 {
        let half = self.half(side);
        if !half.known {
            return 0;
        }
        let ahead = i64::from(seq::distance(half.snd_nxt, segment.seq));
        half.offset.saturating_add_signed(ahead)
    }

    /// Takes the next segment of the connection, captured as `now`.
    pub fn take(&mut self, side: Side, segment: &Header, now: Mark, sinks: &mut Sinks<'_>) {
        if self.first_ns == 0 {
            self.first_ns = now.time_ns;
        }
        self.last_ns = self.last_ns.max(now.time_ns);
        let half = &mut self.halves[side as usize];
        half.segments = half.segments.saturating_add(1);
        self.halves[side as usize].timestamps |= segment.options.tsval.is_some();
        if segment.has(RST) {
            self.close(side, sinks);
            return;
        }
        if segment.has(SYN) {
            self.take_syn(side, segment, now, sinks);
        } else if !self.half(side).known {
            self.halves[side as usize].begin(segment.seq);
        }
        if segment.has(ACK) {
            self.take_ack(side, segment, now, sinks);
        }
        let scaled = !segment.has(SYN);
        self.halves[side as usize].advertise(segment, now.frame, scaled);
        if segment.len > 0 && !segment.has(SYN) {
            self.take_data(side, segment, now, sinks);
        }
        if segment.has(FIN) {
            self.halves[side as usize].end_at(segment.seq.wrapping_add(segment.len));
            self.close(side, sinks);
        }
    }

    fn take_syn(&mut self, side: Side, segment: &Header, now: Mark, sinks: &mut Sinks<'_>) {
        let half = &mut self.halves[side as usize];
        let first_payload = segment.seq.wrapping_add(1);
        if half.syn && half.is_copy(segment, now) {
            half.duplicated += 1;
            return;
        }
        if half.syn {
            half.retransmitted += 1;
            half.stop_timing();
            let from = half.last_data;
            half.last_data = now;
            self.push_repeat(side, segment, from, now, sinks);
            return;
        }
        half.begin(first_payload);
        half.syn = true;
        half.mss_option = segment.options.mss.unwrap_or(0);
        half.set_window_scale(segment.options.window_scale);
        half.note_sent(segment, now);
        half.time_segment(first_payload, now.time_ns);
        // The SYN itself is unacknowledged.
        half.snd_una = segment.seq;
        half.snd_sml = segment.seq;
        if side == Side::Server
            && self.halves[0].window_scale_known
            && segment.options.window_scale.is_none()
        {
            // Both must offer the option (RFC 7323, section 2.2).
            self.halves[0].set_window_scale(None);
        }
    }

    fn take_ack(&mut self, side: Side, segment: &Header, now: Mark, sinks: &Sinks<'_>) {
        let peer = &mut self.halves[side.other() as usize];
        if !peer.known {
            return;
        }
        let data = peer.last_data;
        let advanced = seq::lt(peer.snd_una, segment.ack);
        let round_trip = peer.take_ack(segment, now);
        let delay_ns = now.time_ns - data.time_ns;
        let late = advanced && segment.len == 0 && peer.bytes > 0;
        let me = &mut self.halves[side as usize];
        if let Some(sample_ns) = round_trip {
            me.add_round_trip(sample_ns);
        }
        if late && me.rtt_ns != i64::MAX && delay_ns - me.rtt_ns >= sinks.min_wait_ns {
            me.add_delayed_ack(delay_ns);
        }
    }

    fn take_data(&mut self, side: Side, segment: &Header, now: Mark, sinks: &mut Sinks<'_>) {
        let half = &mut self.halves[side as usize];
        if half.is_keep_alive(segment) {
            return;
        }
        let ahead = seq::distance(half.snd_nxt, segment.seq);
        let end = segment.seq.wrapping_add(segment.len);
        if !seq::lt(half.snd_nxt, end) {
            self.take_old_data(side, segment, now, sinks);
            return;
        }
        if ahead > 0 {
            half.jump_to(segment.seq, now.frame);
        }
        // A segment that begins with old bytes: only the rest is new.
        let new_len = seq::distance(half.snd_nxt, end) as u32;
        self.take_new_data(side, segment, new_len, now, sinks);
    }

    fn take_old_data(&mut self, side: Side, segment: &Header, now: Mark, sinks: &mut Sinks<'_>) {
        let half = &mut self.halves[side as usize];
        let since = now.time_ns - half.last_data.time_ns;
        let filled = half.unseen_bytes >= u64::from(segment.len) && since < REORDER_NS;
        if filled && half.unseen_frame == half.last_data.frame {
            half.reordered += 1;
            half.unseen_bytes -= u64::from(segment.len);
            return;
        }
        if half.is_copy(segment, now) {
            half.duplicated += 1;
            return;
        }
        half.retransmitted += 1;
        half.recovering = true;
        half.stop_timing();
        let from = half.last_data;
        half.last_data = now;
        self.push_repeat(side, segment, from, now, sinks);
    }

    fn push_repeat(
        &self,
        side: Side,
        segment: &Header,
        from: Mark,
        now: Mark,
        sinks: &mut Sinks<'_>,
    ) {
        let (half, peer) = (self.half(side), self.half(side.other()));
        if now.time_ns - from.time_ns < sinks.min_wait_ns {
            return;
        }
        let zero_window = peer.zero_window_frame > 0 && peer.window == 0;
        let back = seq::distance(segment.seq, half.snd_nxt).max(0) as u64;
        sinks.waits.push_other(Wait {
            connection: self.id,
            by: side,
            facts: fact::RETRANSMITTED
                | fact::OWN_DATA_BEFORE
                | when(zero_window, fact::ZERO_WINDOW),
            from,
            to: now,
            ack: Mark::default(),
            rel_seq: half.offset.saturating_sub(back),
            len: segment.len,
            unacked_len: half.in_flight(),
            unacked_ns: from.time_ns,
            contradictions: half.contradictions,
        });
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
        self.note_contradiction(side, segment, len, mss, now);
        self.note_wait(side, segment, len, mss, now, sinks);
        if let Some(exchange) = self.exchanges.data(side, len, now, self.id)
            && let Some(exchanges) = sinks.exchanges
        {
            exchanges.push(exchange);
        }
        let peer_window = i64::from(self.half(side.other()).window);
        let half = &mut self.halves[side as usize];
        half.send(segment, len, now, !len.is_multiple_of(mss));
        half.room = peer_window - i64::from(half.in_flight());
    }

    /// A small segment sent while a small one is unacknowledged: Nagle's algorithm is off. FIN
    /// and urgent data pass it, and so does a tail-loss probe.
    fn note_contradiction(&mut self, side: Side, segment: &Header, len: u32, mss: u32, now: Mark) {
        let half = &self.halves[side as usize];
        let since = now.time_ns - half.last_data.time_ns;
        let exempt = segment.has(FIN | URG) || half.recovering || since >= PROBE_NS;
        let sure = half.last_small
            && is_surely_small(half.last_len, mss, half.largest)
            && is_surely_small(len, mss, half.largest);
        if sure && !exempt && left_unacked(half, now) {
            let half = &mut self.halves[side as usize];
            half.contradictions += 1;
            half.contradiction = (half.last_data.frame, now.frame);
        }
    }

    fn note_wait(
        &mut self,
        side: Side,
        segment: &Header,
        len: u32,
        mss: u32,
        now: Mark,
        sinks: &mut Sinks<'_>,
    ) {
        let (half, peer) = (self.half(side), self.half(side.other()));
        let release = releasing_ack(half, peer, now);
        let own_before = release.is_some() || half.last_data.after(peer.last_data);
        let from = if own_before { half.last_data } else { peer.last_data };
        if !from.is_set() || now.time_ns - from.time_ns < sinks.min_wait_ns {
            return;
        }
        let wait = Wait {
            connection: self.id,
            by: side,
            facts: facts(half, peer, segment, len, mss, release, from, now)
                | when(own_before, fact::OWN_DATA_BEFORE),
            from,
            to: now,
            ack: release.map_or(Mark::default(), |release| release.mark),
            rel_seq: half.offset,
            len,
            unacked_len: half.last_len,
            unacked_ns: match release {
                Some(release) if release.exactly_small => half.small_sent_ns,
                _ => half.last_data.time_ns,
            },
            contradictions: half.contradictions,
        };
        self.push(side, wait, sinks);
    }

    fn push(&mut self, side: Side, wait: Wait, sinks: &mut Sinks<'_>) {
        let half = &self.halves[side as usize];
        let near_ack = wait.release_ns() - known(half.rtt_ns) <= CANDIDATE_NS;
        if wait.has_ack() && wait.is(fact::PURE_ACK) && near_ack {
            sinks.waits.push_candidate(wait);
            return;
        }
        let reply_ns = wait.wait_ns() - known(half.rtt_ns);
        if wait.is(fact::OWN_DATA_BEFORE) || reply_ns >= sinks.min_wait_ns {
            sinks.waits.push_other(wait);
        }
    }

    /// FIN or RST from `side`: an ACK that came late and that no data followed is told now.
    fn close(&mut self, side: Side, sinks: &mut Sinks<'_>) {
        self.halves[side as usize].fin = true;
        self.finish(sinks);
    }

    /// Tells what is still open at the end of the connection or of the capture.
    pub fn finish(&mut self, sinks: &mut Sinks<'_>) {
        for side in Side::BOTH {
            let half = &self.halves[side as usize];
            let release = half.all_acked;
            let (from, to) = (half.last_data, release.mark);
            let rtt_ns = known(self.half(side.other()).rtt_ns);
            let late = to.time_ns - from.time_ns - rtt_ns >= sinks.min_wait_ns;
            if release.pure && late && half.bytes > 0 && to.after(from) {
                sinks.waits.push_other(Wait {
                    connection: self.id,
                    by: side.other(),
                    facts: fact::ACK_ONLY | fact::PURE_ACK,
                    from,
                    to,
                    ack: to,
                    rel_seq: half.offset,
                    len: 0,
                    unacked_len: half.last_len,
                    unacked_ns: from.time_ns,
                    contradictions: half.contradictions,
                });
            }
            self.halves[side as usize].all_acked = Release::default();
        }
        if let Some(exchange) = self.exchanges.finish(self.id)
            && let Some(exchanges) = sinks.exchanges
        {
            exchanges.push(exchange);
        }
    }
}

/// Data that follows an ACK by more than the round trip and this much was not released by it:
/// well above the jitter of any path that the judgement accepts.
const CANDIDATE_NS: i64 = 30_000_000;

fn when(condition: bool, fact: u16) -> u16 {
    if condition { fact } else { 0 }
}

/// A duration that may be unknown, as 0.
fn known(duration_ns: i64) -> i64 {
    if duration_ns == i64::MAX { 0 } else { duration_ns }
}

/// Below the MSS beyond doubt: shorter than any fallback MSS, or shorter than something larger
/// that this sender sent (the path may carry less than the SYN announced).
fn is_surely_small(len: u32, mss: u32, largest: u32) -> bool {
    len < mss && (len < MIN_CERTAIN_MSS || len < largest)
}

/// Had the sender, when it sent what is captured `now`, an unacknowledged small segment?
///
/// Judged in the sender's time: an ACK that passed the capture point less than half the round
/// trip to the sender ago cannot have reached it.
fn left_unacked(half: &Half, now: Mark) -> bool {
    if half.small_unacked() {
        return true;
    }
    let acked = half.small_acked.mark;
    let since = now.time_ns - acked.time_ns;
    // Without a handshake the round trip is only known to be no longer than this.
    let measured = half.syn && half.rtt_ns != i64::MAX && half.rtt_ns >= NETWORK_RTT_NS;
    acked.is_set() && measured && since * 2 < half.rtt_ns
}

/// The ACK that may have let the sender go on: the first to cover its last small segment
/// (Minshall's rule) or everything (the classic rule), if it reached the sender after its last
/// data had left.
///
/// Data from the peer that reached the sender shortly before such an ACK explains what follows as
/// well as the ACK does: the program may answer it.
fn releasing_ack(half: &Half, peer: &Half, now: Mark) -> Option<Release> {
    if half.bytes == 0 {
        // Only its SYN was acknowledged.
        return None;
    }
    let rtt_ns = known(half.rtt_ns);
    let data = peer.last_data;
    let data_arrived = reached_after(data, half.last_data, rtt_ns)
        && (now.time_ns - data.time_ns) * 4 >= rtt_ns * 3;
    let distinct_ns = if rtt_ns < NETWORK_RTT_NS { LOCAL_DISTINCT_NS } else { DISTINCT_NS };
    let freed = |release: Release| {
        let mark = release.mark;
        let answered = data_arrived && mark.time_ns - data.time_ns < distinct_ns;
        let freeing = mark.is_set() && reached_after(mark, half.last_data, rtt_ns);
        (freeing && !answered).then_some(release)
    };
    let distance = |release: &Release| (now.time_ns - release.mark.time_ns - rtt_ns).abs();
    [freed(half.small_acked), freed(half.all_acked)].into_iter().flatten().min_by_key(distance)
}

/// Did `incoming` reach the sender after `sent` had left it? Judged in the sender's time: what
/// passes the capture point on its way to the sender arrives half a round trip later, and what
/// passes it on its way out left half a round trip earlier. A quarter is left to jitter.
fn reached_after(incoming: Mark, sent: Mark, rtt_ns: i64) -> bool {
    match rtt_ns {
        ..NETWORK_RTT_NS => incoming.after(sent),
        _ => incoming.time_ns + rtt_ns * 3 / 4 > sent.time_ns,
    }
}

#[expect(clippy::too_many_arguments)]
fn facts(
    half: &Half,
    peer: &Half,
    segment: &Header,
    len: u32,
    mss: u32,
    release: Option<Release>,
    from: Mark,
    now: Mark,
) -> u16 {
    let window_known = peer.window_scale_known && half.bytes > 0;
    let zero_window = peer.zero_window_frame > from.frame
        || (peer.zero_window_frame > 0
            && half.bytes > 0
            && half.room <= 0
            && peer.zero_window_frame >= from.frame);
    let pure = release.is_some_and(|release| release.pure);
    let partial = release.is_some_and(|release| release.mark != half.all_acked.mark);
    when(pure, fact::PURE_ACK)
        | when(release.is_some_and(|release| release.fin), fact::ACK_FIN)
        | when(partial, fact::PARTIAL_ACK)
        | when(half.last_small || partial, fact::UNACKED_SMALL)
        | when(len < mss, fact::SMALL)
        | when(segment.has(FIN), fact::FIN)
        | when(segment.has(URG), fact::URGENT)
        | when(half.recovering, fact::RECOVERY)
        | when(zero_window, fact::ZERO_WINDOW)
        | when(window_known && half.room < i64::from(len), fact::WINDOW_FULL)
        | when(half.unseen_frame >= from.frame && half.unseen_bytes > 0, fact::UNSEEN)
        | when(half.flight > mss.saturating_mul(INITIAL_WINDOW_SEGMENTS), fact::LARGE_FLIGHT)
        | when(half.small_unacked() && now.after(from), fact::UNACKED_AT_SEND)
}
