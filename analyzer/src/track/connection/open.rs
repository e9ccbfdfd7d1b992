//! Waits that are open at the end: requests without an answer, windows without room.

use crate::decode::seq;
use crate::track::connection::connecting::NOT_YET;
use crate::track::connection::{Connection, Recorder};
use crate::track::ending::Ending;
use crate::track::exchange::exchanged::Stale;
use crate::track::half::Half;
use crate::track::thresholds::{FIRST_RTO_NS, LEAST_MSS, OPEN_ROUND_TRIPS, PROBE_NS};
use crate::track::wait::{End, Wait, fact, when};
use crate::track::{Mark, Side};

impl Connection {
    /// FIN or RST ends the connection.
    #[inline]
    pub(super) fn close(&mut self, ending: Ending, now: Mark, recorder: &mut Recorder) {
        if self.is_open(recorder) {
            self.push_open(ending, now, recorder);
        }
    }

    /// The capture has ended, for the connections that have a frame at the time that `end_ns` knows; or for this
    /// one, whose ports another one `took_over`.
    pub fn end(
        &mut self,
        took_over: Option<Mark>,
        end_ns: impl Fn(u32) -> i64,
        recorder: &mut Recorder,
    ) {
        let is_open = self.is_open(recorder) || self.is_opening() || self.is_half_closed();
        if let (true, Some(next)) = (is_open, took_over) {
            let time_ns = next.time_ns.max(self.last_ns());
            self.push_open(Ending::PortsReused, Mark { time_ns, ..next }, recorder);
        } else if is_open {
            let frame = self.last_known_frame();
            let time_ns = end_ns(frame).max(self.last_ns());
            self.push_open(Ending::Capture, Mark { time_ns, frame }, recorder);
        }
        self.finish(recorder);
        self.settle_late(recorder);
    }

    /// The client, whose requests were answered before, sends one again `now` that was not.
    #[cold]
    pub(super) fn push_asked_again(&self, now: Mark, recorder: &mut Recorder) {
        if self.exchanges.count > 1 && self.exchanges.unasked() == 0 {
            self.push_unanswered(Ending::AskedAgain, now, recorder);
        }
    }

    /// May something be owed? Nothing is to most connections that end.
    #[inline]
    fn is_open(&self, recorder: &Recorder) -> bool {
        let may_owe = |half: &Half| {
            half.sequence.window == 0
                || half.sequence.in_flight() > 0
                || half.last_len >= LEAST_MSS
                || half.has_odd()
        };
        self.exchanges.open().is_some()
            || self.halves.iter().any(may_owe)
            || self.is_mute()
            || recorder.messages.contains_key(&self.id)
    }

    /// Was it opened, and has neither end spoken?
    pub(super) fn is_mute(&self) -> bool {
        self.handshake_ns().is_some() && self.halves.iter().all(|half| half.offset == 0)
    }

    /// Has the SYN, or the answer to it, got nothing back?
    pub(super) fn is_opening(&self) -> bool {
        self.handshake_ns == NOT_YET
            && self.half(Side::Client).has_syn()
            && self.halves.iter().all(|half| half.offset == 0 && !half.has_reset())
    }

    /// Has one end closed, and not the other?
    pub(super) fn is_half_closed(&self) -> bool {
        let [client, server] = &self.halves;
        client.has_finished() != server.has_finished()
            && !self.halves.iter().any(Half::has_reset)
            && self.has_handshake()
    }

    /// Has a FIN or RST been seen? The next one ends nothing more but a wait for room.
    pub(super) fn is_closed(&self) -> bool {
        self.halves.iter().any(|half| half.has_finished() || half.has_reset())
    }

    /// The last frame that is known: those of ACKs are not kept.
    pub fn last_known_frame(&self) -> u32 {
        let of_half = |half: &Half| {
            half.last_data.frame.max(half.all_acked().mark.frame).max(half.zero_window_frame())
        };
        self.halves.iter().map(of_half).max().unwrap_or_default()
    }

    #[cold]
    fn push_open(&mut self, ending: Ending, to: Mark, recorder: &mut Recorder) {
        let server = self.half(Side::Server);
        if let (true, Some(begin)) = (ending == Ending::ServerReset, self.exchanges.open())
            && server.has_finished()
            // Else it is a part of what the server closed upon.
            && (server.sequence.in_flight() == 0
                || begin.time_ns - server.last_data.time_ns >= PROBE_NS)
        {
            recorder.exchanged.stale.add(Stale { count: 1, first_frame: begin.frame });
        }
        // Data that waits for room outlives a FIN.
        let goes_on = matches!(ending, Ending::ClientFin | Ending::ServerFin);
        let mut is_kept = false;
        if !goes_on && !self.halves.iter().any(Half::has_reset) {
            let each = Side::BOTH.map(|side| self.push_closed(side, ending, to, recorder));
            is_kept = each.contains(&true);
        }
        let client = self.half(Side::Client);
        let is_asked = !self.is_cut(Side::Client, recorder) || self.waits_for_leave(recorder);
        if self.exchanges.open().is_some() && (is_asked || client.is_recovering()) {
            is_kept |= self.push_unanswered(ending, to, recorder);
        }
        if !is_kept && (!self.is_closed() || ending.is_left_open()) {
            is_kept = self.push_owed(ending, to, recorder);
        }
        if is_kept {
            self.exchanges.abandon();
        }
    }

    /// Keeps the wait of `side` for room in a window that closed before all that it had sent was
    /// acknowledged, or that it probes, and was never seen to open again. Is there one?
    fn push_closed(&self, side: Side, ending: Ending, to: Mark, recorder: &mut Recorder) -> bool {
        let half = self.half(side);
        let Some((closed, ack)) = self.half(side.other()).closed() else { return false };
        let unacked_len = seq::distance(ack, half.sequence.nxt).max(0) as u32;
        let from = if half.last_data.after(closed) { half.last_data } else { closed };
        let is_long = to.time_ns - from.time_ns >= recorder.lengths.listed_ns.max(PROBE_NS);
        // Idle ends send keep-alives, too.
        let had_more = half.last_len >= self.effective_mss().0 || half.room <= 0;
        let probes = had_more && half.last_probed().after(closed);
        let waits = unacked_len > 0 || probes;
        let is_kept = half.segments > 0 && waits && is_long;
        if is_kept {
            let wait = Wait::between(self.id, side, from, to);
            let (end, facts) = (End::InVain(ending), fact::OWN_DATA_BEFORE | fact::ZERO_WINDOW);
            let unacked_ns = self.half(side.other()).last_ns;
            self.keep_open(Wait { end, facts, unacked_len, unacked_ns, ..wait }, recorder);
        }
        is_kept
    }

    /// Keeps the wait for an answer that never came, if the capture shows that the client waited: is there one?
    fn push_unanswered(&self, ending: Ending, to: Mark, recorder: &mut Recorder) -> bool {
        let [client, server] = &self.halves;
        let unacked_len = client.sequence.in_flight();
        let last = self.last_asked(to);
        let asked = self.before_farewell(ending, to, recorder).unwrap_or(last);
        let is_lost = unacked_len > 0 && client.is_recovering();
        let is_shown = match is_lost {
            // Sent again for so long, it is lost, whatever the protocol.
            true => to.time_ns - last.from.time_ns >= FIRST_RTO_NS,
            // Not sent again, it was not captured that it was acknowledged.
            false => {
                (asked.ack.is_set() || ending.is_reset())
                    && self.is_patient(&asked, ending)
                    && self.owes_answer(&asked)
            }
        };
        let Asked { from, ack, to, .. } = if is_lost { last } else { asked };
        let is_one_sided = server.segments == 0 || server.has_finished();
        let is_listed = to.time_ns - from.time_ns >= recorder.lengths.listed_ns;
        if !is_listed || !to.after(from) || !is_shown || is_one_sided {
            return false;
        }
        let wait = Wait {
            end: End::InVain(ending),
            facts: fact::IN_EXCHANGE | when(is_lost, fact::RECOVERY),
            ack,
            unacked_len: if ack.is_set() { 0 } else { unacked_len },
            unacked_ns: server.last_ns,
            ..Wait::between(self.id, Side::Server, from, to)
        };
        self.keep_open(wait, recorder);
        true
    }

    /// Keeps a wait in vain, with what was tried.
    pub(super) fn keep_open(&self, wait: Wait, recorder: &mut Recorder) {
        let tries = |half: &Half| half.tries(wait.from.time_ns);
        let (count, longest_ns) = self.halves.iter().map(tries).max().unwrap_or_default();
        let ms = (longest_ns / 1_000_000).min(u32::MAX.into()) as u32;
        // The frames of probes are not kept as the last one.
        let to = Mark { frame: wait.to.frame.max(wait.from.frame), ..wait.to };
        recorder.push_other(Wait { to, len: count, from_tsval: ms, ..wait });
    }

    /// The last that the client sent, and its ACK if that was captured.
    fn last_asked(&self, to: Mark) -> Asked {
        let client = self.half(Side::Client);
        let (from, acked) = (client.last_new(), client.all_acked().mark);
        let is_acked = client.sequence.in_flight() == 0 && acked.after(from);
        let ack = if is_acked { acked } else { Mark::NONE };
        Asked { from, ack, to, len: client.last_len }
    }

    /// The client's request before a short farewell, such as a TLS alert, with which it closed at `to`.
    fn before_farewell(&self, ending: Ending, to: Mark, recorder: &mut Recorder) -> Option<Asked> {
        let is_own = matches!(ending, Ending::ClientFin | Ending::ClientReset);
        let client = self.half(Side::Client);
        let farewell = client.last_new();
        if !is_own || to.time_ns - farewell.time_ns >= PROBE_NS {
            return None;
        }
        let mut waits = recorder.waits.ended(self.id, Side::Client, farewell.frame);
        let wait = waits.find(|wait| wait.is(fact::OWN_DATA_BEFORE) && wait.has_ack())?;
        let is_unanswered = wait.from.after(self.half(Side::Server).last_new());
        let is_short = 2 * client.last_len <= wait.unacked_len && is_unanswered;
        let Wait { from, ack, unacked_len, .. } = *wait;
        is_short.then_some(Asked { from, ack, to: farewell, len: unacked_len })
    }

    /// Did the client wait? Not if it closed at once, and what has just arrived may be answered yet.
    fn is_patient(&self, asked: &Asked, ending: Ending) -> bool {
        let [client, server] = &self.halves;
        let arrived = if asked.ack.is_set() { asked.ack } else { asked.from };
        let round_trip_ns = client.rtt_or_zero_ns() + server.rtt_or_zero_ns();
        // Who closes has waited for as long as it liked.
        let (least_ns, round_trips) = match ending.is_left_open() {
            true => (FIRST_RTO_NS, OPEN_ROUND_TRIPS),
            false => (PROBE_NS, 2),
        };
        asked.to.time_ns - arrived.time_ns >= least_ns.max(round_trips * round_trip_ns)
    }

    /// Does it look like a request that gets an answer? Who asks is known by the handshake, or by answers to all
    /// that was asked. On a connection with answers, what is much shorter than the requests that got one may be
    /// none: a window update, an acknowledgement of settings, a pong.
    fn owes_answer(&self, asked: &Asked) -> bool {
        let len = u64::from(asked.len);
        let others = self.half(Side::Client).bytes().saturating_sub(len);
        let is_whole = self.halves.iter().all(|half| half.unseen().0 == 0);
        let count = u64::from(self.exchanges.count);
        let hangs = asked.to.time_ns - asked.from.time_ns >= FIRST_RTO_NS;
        let is_long = (hangs && len >= LEAST_REQUEST) || count == 0 || 2 * len * count >= others;
        let is_asker = self.has_handshake() || (count > 1 && self.exchanges.unasked() == 0);
        is_asker && is_whole && is_long
    }
}

/// Bytes from which on it is none of those, also in TLS.
const LEAST_REQUEST: u64 = 80;

/// A request: its last segment, how long that is, its ACK if it was captured, and until when it was open.
#[derive(Debug, Clone, Copy)]
struct Asked {
    from: Mark,
    len: u32,
    ack: Mark,
    to: Mark,
}

#[cfg(test)]
mod tests {
    use crate::track::Side;
    use crate::track::ending::Ending;
    use crate::track::exchange::exchanged::Stale;
    use crate::track::story::{Story, Told, client, server};
    use crate::track::wait::{Wait, fact};

    /// Two answers, then a request that the server acknowledges.
    fn asked() -> Story {
        let answered = |story: Story| {
            story.after_ms(5.0, client(100)).after_ms(1.0, server(200)).after_ms(0.02, client(0))
        };
        let story = Story::new().handshake(0.02, 1.0).times(2, answered);
        story.after_ms(5.0, client(100)).after_ms(1.0, server(0))
    }

    fn in_vain(told: &Told) -> Vec<Wait> {
        let never_came = |wait: &Wait| wait.ending().is_some() && !wait.is(fact::CLOSING);
        told.waits.iter().copied().filter(never_came).collect()
    }

    fn only(told: &Told) -> Wait {
        let waits = in_vain(told);
        assert_eq!(waits.len(), 1, "{:#?}", told.waits);
        waits[0]
    }

    #[test]
    fn a_request_that_is_open_when_its_connection_ends_is_a_wait() {
        let ends = [
            (client(0).fin(), Ending::ClientFin),
            (server(0).fin(), Ending::ServerFin),
            (client(0).rst(), Ending::ClientReset),
            (server(0).rst(), Ending::ServerReset),
        ];
        for (end, ending) in ends {
            let wait = only(&asked().after_ms(2_499.0, end).after_ms(1.0, server(0)).end());
            assert_eq!((wait.ending(), wait.by), (Some(ending), Side::Server));
            assert_eq!((wait.wait_ns(), wait.unacked_len), (2_500_000_000, 0));
            assert_eq!([wait.from, wait.ack, wait.to].map(|mark| mark.frame), [10, 11, 12]);
            assert!(wait.is(fact::IN_EXCHANGE));
        }
        // The first request, too.
        let asked = Story::new().handshake(0.02, 1.0).after_ms(1.0, client(100));
        let told = asked.after_ms(1.0, server(0)).after_ms(29_999.0, client(0).fin()).end();
        assert_eq!(only(&told).wait_ns(), 30_000_000_000);
    }

    #[test]
    fn a_request_that_is_open_when_the_capture_ends_is_a_wait() {
        let wait = only(&asked().end_after_ms(29_999.0));
        assert_eq!(wait.ending(), Some(Ending::Capture));
        assert_eq!((wait.wait_ns(), wait.to.frame), (30_000_000_000, 11));
        assert!(in_vain(&asked().end_after_ms(150.0)).is_empty());
    }

    #[test]
    fn a_request_that_hangs_until_it_is_sent_again_is_a_wait() {
        let again = |len| asked().after_ms(25_000.0, client(len)).after_ms(3.0, server(200)).end();
        let told = again(100);
        let wait = only(&told);
        assert_eq!((wait.ending(), wait.to.frame), (Some(Ending::AskedAgain), 12));
        assert_eq!((wait.wait_ns(), told.exchanges.len()), (25_001_000_000, 3));
        assert_eq!(told.exchanges[2].latency_ns(), 3_000_000);
        assert!(in_vain(&again(20)).is_empty());
    }

    #[test]
    fn tries_are_those_since_something_is_owed() {
        let opened = Story::new().after_ms(0.0, client(0).syn()).after_ms(1.0, server(0).syn());
        let opened = opened.times(3, |story| story.after_ms(1_000.0, server(0).syn().again()));
        let asked = opened.after_ms(0.1, client(0)).after_ms(1.0, client(100));
        let told = asked.after_ms(1.0, server(0)).end_after_ms(29_999.0);
        assert_eq!(only(&told).tries(), (0, 0));
    }

    #[test]
    fn nobody_waits_where_no_answer_is_owed() {
        let talk = |story: Story| story.after_ms(5.0, client(100)).after_ms(1.0, server(200));
        let opened = || Story::new().handshake(0.02, 1.0);
        let half_closed = asked().after_ms(1.0, server(200).fin()).after_ms(9.0, client(100));
        let one_way = Story::new().after_ms(0.0, client(0).syn()).after_ms(1.0, client(100));
        let cases = [
            ("answered, however little", asked().after_ms(900.0, server(1))),
            (
                "closed at once",
                asked().after_ms(0.02, client(0).fin()).after_ms(300.0, server(0).fin()),
            ),
            // A pong, a window update, an acknowledgement of settings; requests are longer.
            (
                "short",
                asked()
                    .after_ms(1.0, server(200))
                    .after_ms(0.1, client(13))
                    .after_ms(1.0, server(0)),
            ),
            (
                "who asks is unknown",
                Story::new().times(1, talk).after_ms(5.0, client(100)).after_ms(1.0, server(0)),
            ),
            // With the ACK perhaps the answer is missing.
            ("no ACK captured", opened().times(2, talk).after_ms(5.0, client(100))),
            ("half closed", half_closed.after_ms(1.0, server(0))),
            (
                "one direction",
                one_way.after_ms(400.0, client(100).again()).after_ms(900.0, client(0).fin()),
            ),
        ];
        for (why, story) in cases {
            assert!(in_vain(&story.end_after_ms(60_000.0)).is_empty(), "{why}");
        }
    }

    /// A client of HTTPS that gives up closes with a TLS alert.
    #[test]
    fn a_farewell_is_no_request() {
        let gives_up = |len| {
            let told = asked().after_ms(30_000.0, client(len)).after_ms(0.02, client(0).fin());
            in_vain(&told.after_ms(1.0, server(0)).end())
        };
        let waits = gives_up(31);
        assert_eq!((waits.len(), waits[0].ending()), (1, Some(Ending::ClientFin)));
        assert_eq!([waits[0].from, waits[0].ack, waits[0].to].map(|mark| mark.frame), [10, 11, 12]);
        assert_eq!((waits[0].wait_ns(), waits[0].unacked_len), (30_001_000_000, 0));
        assert!(gives_up(90).is_empty());
    }

    #[test]
    fn what_is_sent_again_and_never_acknowledged_is_lost_whatever_the_protocol() {
        let talk = |story: Story| story.after_ms(5.0, client(100)).after_ms(1.0, server(200));
        let again = |story: Story| story.after_ms(400.0, client(9).again());
        let dead = |count| {
            let asked = talk(Story::new()).after_ms(900_000.0, client(9));
            asked.times(count, again).end_after_ms(10.0)
        };
        let wait = only(&dead(3));
        assert_eq!((wait.wait_ns(), wait.unacked_len), (1_210_000_000, 9));
        // When the server was last heard of.
        assert_eq!(wait.from.time_ns - wait.heard_ns(), 900_000_000_000);
        assert!(in_vain(&dead(1)).is_empty());
    }

    #[test]
    fn a_request_into_a_closed_connection_is_counted() {
        let closed = || asked().after_ms(1.0, server(200)).after_ms(500.0, server(0).fin());
        let stale = |story: Story| {
            let Stale { count, first_frame } = story.end().stale;
            (count, first_frame)
        };
        let met_rst = closed().after_ms(500.0, client(100)).after_ms(0.1, server(0).rst());
        assert_eq!(stale(met_rst.after_ms(0.1, server(0).rst())), (1, 14));
        assert_eq!(stale(closed().after_ms(500.0, server(0).rst())), (0, 0));
        assert_eq!(stale(asked().after_ms(0.1, server(0).rst())), (0, 0));
        // The rest of a request that the server refuses and closes upon.
        let refused = asked().after_ms(1.0, server(50)).after_ms(0.01, server(0).fin());
        let rest = refused.after_ms(0.01, client(80).ack(400)).after_ms(0.1, server(0).rst());
        assert_eq!(stale(rest), (0, 0));
    }

    /// 100 bytes do not fit, and the server's program reads no more.
    #[test]
    fn a_window_that_stays_closed_is_a_wait_until_the_end() {
        let full = asked().after_ms(1.0, server(200)).after_ms(5.0, client(100));
        let closed = full.after_ms(1.0, server(0).ack(300).window(0));
        let probed = closed.after_ms(300.0, server(0).ack(300).window(0));
        let told = probed.after_ms(4_700.0, server(0).rst()).after_ms(1.0, server(0).rst()).end();
        let waits = told.waits.iter().filter(|wait| wait.is(fact::ZERO_WINDOW));
        let waits: Vec<&Wait> = waits.collect();
        assert_eq!(waits.len(), 1);
        assert_eq!((waits[0].by, waits[0].wait_ns()), (Side::Client, 5_000_000_000));
        assert_eq!(waits[0].ending(), Some(Ending::ServerReset));
        assert_eq!([waits[0].from.frame, waits[0].to.frame], [14, 16]);
    }

    #[test]
    fn a_closed_window_that_nobody_waits_for_is_none() {
        let closed = asked().after_ms(1.0, server(200).window(0)).end_after_ms(5_000.0);
        assert!(closed.waits.iter().all(|wait| !wait.is(fact::ZERO_WINDOW)));
        let opened = asked().after_ms(1.0, server(0).ack(200).window(0));
        let opened = opened.after_ms(1.0, server(0).ack(200).window(9)).end_after_ms(5_000.0);
        assert!(opened.waits.iter().all(|wait| !wait.is(fact::ZERO_WINDOW)));
    }
}
