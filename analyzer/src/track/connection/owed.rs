//! Debts of one end to the other when their connection ends, besides an answer and room: the rest of a message,
//! an ACK of bytes, an answer to probes.

use crate::track::connection::{Connection, Recorder, Sent};
use crate::track::ending::Ending;
use crate::track::half::Half;
use crate::track::thresholds::{FIRST_RTO_NS, OPEN_ROUND_TRIPS};
use crate::track::wait::{End, Facts, Wait, fact, when};
use crate::track::{Mark, Side};

impl Connection {
    /// A probe: a keep-alive (RFC 9293, section 3.8.4), or one of a closed window, as Linux sends it.
    #[cold]
    pub(super) fn note_probe(&mut self, Sent { side, now, .. }: Sent<'_>) {
        let heard_ns = self.half(side.other()).last_ns;
        let half = &mut self.halves[side as usize];
        half.note_try(now);
        half.odd_mut().probes.add(now, heard_ns);
    }

    /// Keeps the wait for what is owed at `to`, if that is so for long. Is it a part of an exchange?
    #[cold]
    #[inline(never)]
    pub(super) fn push_owed(&self, ending: Ending, to: Mark, recorder: &mut Recorder) -> bool {
        let owed = match self.is_closed() {
            true => self.owed_close(ending, to, *recorder.fins.one(self.id)),
            false => self.first_owed(ending, to, recorder),
        };
        let Some(owed) = owed else { return false };
        let rtt_ns: i64 = self.halves.iter().map(Half::rtt_or_zero_ns).sum();
        let late_ns = FIRST_RTO_NS.max(OPEN_ROUND_TRIPS * rtt_ns).max(recorder.lengths.listed_ns);
        let is_late = owed.to.time_ns - owed.from.time_ns >= late_ns;
        if is_late {
            self.push_until_reopened(owed, recorder);
            self.keep_open(owed, recorder);
        }
        is_late
            && !owed.is(fact::CLOSING)
            && (owed.is(fact::OWN_DATA_BEFORE) || owed.unacked_len > 0)
    }

    fn first_owed(&self, ending: Ending, to: Mark, recorder: &Recorder) -> Option<Wait> {
        let mut owed = Side::BOTH.into_iter().map(|side| self.owed(side, ending, to, recorder));
        let rest = || self.first_word(ending, to).or_else(|| self.owed_handshake(ending, to));
        owed.find_map(|wait| wait).or_else(rest)
    }

    /// The wait for an answer to the SYN, or for the ACK of that.
    fn owed_handshake(&self, ending: Ending, to: Mark) -> Option<Wait> {
        let by = if self.half(Side::Server).has_syn() { Side::Client } else { Side::Server };
        let wait = Wait::between(self.id, by, self.half(by.other()).last_new(), to);
        let (end, facts, unacked_ns) = (End::InVain(ending), fact::OPENING, self.half(by).last_ns);
        // A SYN that is not sent again was given up.
        let is_again = is_sent_again_until(self.half(by.other()), to);
        let is_owed = ending.is_left_open() && self.is_opening() && is_again;
        is_owed.then_some(Wait { end, facts, unacked_ns, ..wait })
    }

    /// The wait for a first word since the server answered the SYN. In no protocol it is known who has it.
    fn first_word(&self, ending: Ending, to: Mark) -> Option<Wait> {
        let [client, server] = &self.halves;
        let wait = Wait::between(self.id, Side::Client, server.last_data, to);
        let wait = Wait { end: End::InVain(ending), unacked_ns: client.last_ns, ..wait };
        self.is_mute().then_some(wait)
    }

    /// The wait since `fin` for the other end to close as well, or for an ACK of it, if it is sent again.
    fn owed_close(&self, ending: Ending, to: Mark, fin: Mark) -> Option<Wait> {
        let is_open = ending.is_left_open() && self.is_half_closed();
        let side = Side::BOTH.into_iter().find(|&side| self.half(side).has_finished())?;
        let (half, peer) = (self.half(side), self.half(side.other()));
        let unacked_len = half.sequence.in_flight();
        let (again, _) = half.probes(peer.last_ns);
        let wait = Wait::between(self.id, side.other(), fin, to);
        let (end, facts) = (End::InVain(ending), fact::CLOSING);
        let wait = Wait { end, facts, unacked_len, unacked_ns: peer.last_ns, ..wait };
        let is_owed = is_open && fin.is_set() && (unacked_len == 0 || again > 0);
        is_owed.then_some(wait)
    }

    /// Keeps the wait for room before the one for what is owed, if the window has opened again.
    fn push_until_reopened(&self, owed: Wait, recorder: &mut Recorder) {
        let from = self.half(owed.by).last_data;
        let is_long = owed.from.time_ns - from.time_ns >= recorder.lengths.listed_ns;
        if owed.is(fact::OWN_DATA_BEFORE) && is_long {
            let wait = Wait::between(self.id, owed.by, from, owed.from);
            let facts = fact::OWN_DATA_BEFORE | fact::ZERO_WINDOW;
            recorder.push_other(Wait { facts, ..wait });
        }
    }

    /// The wait of `side` for what it is owed, or of the other end for what `side` owes.
    fn owed(&self, side: Side, ending: Ending, to: Mark, recorder: &Recorder) -> Option<Wait> {
        let (half, peer) = (self.half(side), self.half(side.other()));
        let unacked_len = half.sequence.in_flight();
        let wait = |by: Side, from: Mark, facts: Facts| Wait {
            end: End::InVain(ending),
            facts,
            unacked_len,
            unacked_ns: self.half(by).last_ns,
            ..Wait::between(self.id, by, from, to)
        };
        if half.bytes() == 0 || peer.segments == 0 || half.unseen().0 > 0 {
            return None;
        }
        let is_left_open = ending.is_left_open();
        let is_given_up = is_left_open || ending == Ending::reset(side);
        if unacked_len > 0 {
            // Bytes that are not sent again were acknowledged, though that was not captured.
            let is_owed = is_given_up && half.is_recovering() && is_sent_again_until(half, to);
            return is_owed.then(|| wait(side.other(), half.last_new(), fact::RECOVERY));
        }
        let (count, first) = half.probes(peer.last_ns);
        if is_given_up && count > 1 {
            return Some(wait(side.other(), first, fact::PROBED));
        }
        let is_last = half.last_data.after(peer.last_data) && peer.sequence.window > 0;
        // Below one segment no sender goes on (RFC 9293, section 3.8.6.2.1).
        let is_full = peer.is_window_scale_known() && peer.sequence.window < half.last_len;
        let missing = self.missing_of_message(side, recorder).min(u32::MAX.into()) as u32;
        // A program that closes mostly has sent all; one that resets has not.
        let is_left = ending != Ending::fin(side) || missing > 0;
        // Where nobody gave up, a single full-sized segment of a server is mostly a part of more, though pushed.
        let fills = side == Side::Server && self.announced_mss() == Some(half.last_len);
        let is_cut = self.is_cut(side, recorder) || (fills && is_left_open);
        // From its last data on, or since there was room again.
        let opened = peer.opened().filter(|opened| opened.after(half.last_data));
        let from = opened.unwrap_or(half.last_data);
        let facts = fact::OWN_DATA_BEFORE
            | when(opened.is_some(), fact::REOPENED)
            | when(is_full, fact::WINDOW_FULL);
        let owed = Wait { unacked_len: missing, ..wait(side, from, facts) };
        (is_last && is_left && is_cut).then_some(owed)
    }
}

/// Has it been sent again as often, up to `to`, as timers do that back off by doubling?
fn is_sent_again_until(half: &Half, to: Mark) -> bool {
    let resent_ns = half.last_data.time_ns - half.last_new().time_ns;
    to.time_ns - half.last_data.time_ns <= 2 * resent_ns + FIRST_RTO_NS
}

#[cfg(test)]
mod tests {
    use crate::judge::causes::Cause;
    use crate::track::ending::Ending;
    use crate::track::story::{Story, StorySegment, Told, client, server};

    fn asked() -> Story {
        let talk = |story: Story| story.after_ms(5.0, client(100)).after_ms(1.0, server(200));
        Story::new().handshake(0.02, 1.0).times(2, talk).after_ms(5.0, client(100))
    }

    /// The row of the ledger of what is owed at the end, how long, and the ending.
    fn owed(mut told: Told) -> Vec<(&'static str, i64, Option<Ending>)> {
        let rulings = told.judge().1;
        let both = told.waits.iter().zip(&rulings);
        let open = both.filter(|(_, ruling)| ruling.cause == Cause::Unanswered);
        let row = |ruling: &crate::judge::findings::Ruling| ruling.entry().name;
        open.map(|(wait, ruling)| (row(ruling), wait.wait_ns() / 1_000_000, wait.ending()))
            .collect()
    }

    #[test]
    fn a_reply_that_stops_is_owed_until_somebody_gives_up() {
        let replied = |last: StorySegment| {
            asked()
                .after_ms(1.0, server(1460).more())
                .after_ms(0.01, last)
                .after_ms(0.02, client(0))
        };
        let cut = || replied(server(1460).more());
        let open = ("no_rest", 30_000, Some(Ending::Capture));
        assert_eq!(owed(cut().end_after_ms(29_999.98)), [open]);
        let reset = cut().after_ms(29_999.98, client(0).rst()).end();
        assert_eq!(owed(reset), [("no_rest", 30_000, Some(Ending::ClientReset))]);
        assert_eq!(owed(cut().after_ms(30_000.0, server(0).fin()).end()), []);
        assert_eq!(owed(cut().end_after_ms(500.0)), []);
        assert_eq!(owed(replied(server(90)).end_after_ms(30_000.0)), []);
    }

    /// A client that does not read, and announces a window of 256 bytes for segments of 1,460.
    #[test]
    fn a_window_below_one_segment_is_what_is_owed() {
        let sent = asked().after_ms(1.0, server(1460).more()).after_ms(0.01, server(1460).more());
        let mut told = sent.after_ms(0.02, client(0).window(2)).end_after_ms(30_000.0);
        let rulings = told.judge().1;
        let room: Vec<Cause> = rulings.iter().map(|ruling| ruling.cause).collect();
        assert_eq!(room.last(), Some(&Cause::ZeroWindow));
    }

    #[test]
    fn bytes_that_are_sent_again_to_the_end_are_owed_an_ack() {
        let again = |story: Story| story.after_ms(800.0, server(200).again());
        let sent = || asked().after_ms(1.0, server(200));
        let lost = sent().times(4, again).end_after_ms(1_800.0);
        assert_eq!(owed(lost), [("no_ack_at_all", 5_000, Some(Ending::Capture))]);
        // Nothing is sent again: it was acknowledged, which the capture lacks.
        assert_eq!(owed(sent().end_after_ms(30_000.0)), []);
    }

    #[test]
    fn a_connection_on_which_nobody_speaks_is_open() {
        let mute = || Story::new().handshake(0.02, 1.0);
        let open = ("no_first_word", 30_000, Some(Ending::Capture));
        assert_eq!(owed(mute().end_after_ms(29_999.98)), [open]);
        assert_eq!(owed(mute().end_after_ms(500.0)), []);
        let closed = mute().after_ms(0.3, client(0).fin()).after_ms(0.02, server(0).fin());
        assert_eq!(owed(closed.end_after_ms(30_000.0)), []);
        let reset = mute().after_ms(0.1, client(0).rst());
        assert_eq!(owed(reset.end_after_ms(30_000.0)), []);
    }

    #[test]
    fn a_syn_without_an_answer_is_owed_one_while_it_is_sent_again() {
        let syn = |story: Story, ms| story.after_ms(ms, client(0).syn().seq(-1));
        let tried = || [1_000.0, 2_000.0].into_iter().fold(syn(Story::new(), 0.0), syn);
        let open = ("no_handshake", 6_000, Some(Ending::Capture));
        assert_eq!(owed(tried().end_after_ms(3_000.0)), [open]);
        assert_eq!(owed(tried().end_after_ms(30_000.0)), []);
        assert_eq!(owed(tried().after_ms(1.0, server(0).rst()).end_after_ms(3_000.0)), []);
    }

    #[test]
    fn one_end_that_has_closed_waits_for_the_other() {
        let finished = || asked().after_ms(1.0, server(200)).after_ms(900.0, server(0).fin());
        let open = |ms| ("no_close", ms, Some(Ending::Capture));
        let left = finished().after_ms(0.02, client(0));
        let told = left.end_after_ms(29_999.98);
        assert_eq!(told.waits.last().map(|wait| wait.from.frame), Some(10));
        assert_eq!(owed(told), [open(30_000)]);
        let fin = |story: Story| story.after_ms(800.0, server(0).fin().seq(600));
        assert_eq!(owed(finished().times(4, fin).end_after_ms(1_000.0)), [open(4_200)]);
        // Its data came later than its FIN.
        let ahead = finished().after_ms(0.02, client(0).fin().seq(340));
        assert_eq!(owed(ahead.after_ms(0.02, client(40)).end_after_ms(30_000.0)), []);
        let both = finished().after_ms(0.02, client(0).fin()).after_ms(0.02, server(0));
        assert_eq!(owed(both.end_after_ms(30_000.0)), []);
    }

    #[test]
    fn keep_alives_that_nobody_answers_are_told() {
        let probe = || client(0).seq(299);
        let idle = || asked().after_ms(1.0, server(200)).after_ms(0.02, client(0));
        let probed = idle().times(3, |story| story.after_ms(75_000.0, probe()));
        assert_eq!(owed(probed.end()), [("no_answer_to_probes", 150_000, Some(Ending::Capture))]);
        let answered =
            idle().times(3, |story| story.after_ms(75_000.0, probe()).after_ms(1.0, server(0)));
        assert_eq!(owed(answered.end()), []);
    }
}
