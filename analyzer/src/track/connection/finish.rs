//! The end of an exchange, of a connection, of the capture.

use crate::track::connection::{Connection, Recorder};
use crate::track::half::Half;
use crate::track::thresholds::{LONGEST_DELAYED_ACK_NS, MESSAGE_PAUSE_NS};
use crate::track::wait::{End, Wait, fact};
use crate::track::{Exchange, Mark, Side};
use std::num::NonZeroU32;

/// Ports of protocols in which both ends speak when they have something to say, so that what comes late is
/// no answer: BGP, MSDP, LDP, H.225, MSNP, SCCP, IEC 104, XMPP, `OpenFlow`, IRC, Bitcoin.
const CONVERSATIONS: [u16; 13] =
    [179, 639, 646, 1720, 1863, 2000, 2404, 5222, 5269, 6633, 6653, 6667, 8333];

/// Exchanges with late answers that are kept of a connection.
const MOST_LATE: usize = 64;

impl Connection {
    /// At FIN, at RST or at the end of the capture: reports a late ACK that no data followed, and closes
    /// the last exchange.
    #[inline(never)]
    pub fn finish(&mut self, recorder: &mut Recorder) {
        for side in Side::BOTH {
            let half = &self.halves[side as usize];
            let release = half.all_acked();
            let (from, to) = (half.last_data, release.mark);
            let receiver = self.half(side.other());
            let delay_ns = to.time_ns - from.time_ns - receiver.rtt_or_zero_ns();
            // Bytes that came again, or that only their ACK shows, tell nothing of how late it was.
            let is_whole = !half.is_recovering() && half.unseen().1 <= from.frame;
            let late =
                is_whole && (recorder.lengths.seen_ns..=LONGEST_DELAYED_ACK_NS).contains(&delay_ns);
            // A FIN comes from the program, and over an unknown round trip no ACK is known to be late.
            let by_timer = release.facts.is(fact::PURE_ACK)
                && !release.facts.is(fact::ACK_FIN)
                && receiver.measured_rtt_ns().is_some();
            if by_timer && late && half.bytes() > 0 && to.after(from) {
                recorder.push_other(Wait {
                    end: End::Ack,
                    facts: fact::PURE_ACK,
                    ack: to,
                    rel_seq: half.offset,
                    unacked_len: half.last_len,
                    contradictions: half.contradictions(),
                    ..Wait::between(self.id, side.other(), from, to)
                });
            }
            self.halves[side as usize].forget_all_acked();
        }
        self.end_exchange(recorder);
    }

    pub(super) fn end_exchange(&mut self, recorder: &mut Recorder) {
        let [request_bytes, response_bytes] = match &mut recorder.exchanged.all {
            Some(all) => all.bytes_since(self.id, self.halves.each_ref().map(Half::bytes)),
            None => [0; 2],
        };
        let is_answered_in_several = self.exchanges.is_answered_in_several();
        let (has_unasked, is_after_unasked) =
            (self.exchanges.has_unasked(), self.exchanges.is_after_unasked());
        let Some((begin, is_suspect)) = self.exchanges.finish() else {
            if has_unasked {
                self.note_response();
            }
            return;
        };
        let (asked, mut end) =
            (self.half(Side::Client).last_new(), self.half(Side::Server).last_new());
        // An answer that was stamped before its request has an earlier frame.
        if !asked.after(end) {
            end.frame = end.frame.max(asked.frame);
        }
        let exchange = Exchange {
            asked_ns: asked.time_ns,
            answered_ns: match is_answered_in_several {
                true => *recorder.exchanged.answered_ns.one(self.id),
                false => end.time_ns,
            },
            request_bytes,
            response_bytes,
            ..Exchange::between(self.id, begin, end)
        };
        if exchange.answered_ns - exchange.asked_ns < MESSAGE_PAUSE_NS {
            self.count_exchange(exchange, is_suspect, recorder);
            return;
        }
        // The client answered the server, which then spoke unasked again.
        if is_after_unasked {
            recorder.exchanged.unasked += 1;
            self.note_response();
            return;
        }
        let late = recorder.exchanged.late.entry(self.id).or_default();
        late.push((exchange, is_suspect));
        if late.len() == MOST_LATE {
            self.settle_late(recorder);
        }
    }

    /// The server spoke unasked: what the client says soon after that may be its answer. Its first word is none,
    /// for servers greet.
    #[cold]
    fn note_response(&mut self) {
        let [client, server] = &self.halves;
        if client.bytes() > 0 && client.last_ns - server.last_data.time_ns < MESSAGE_PAUSE_NS {
            self.exchanges.note_after_unasked();
        }
    }

    /// Counts exchanges with late answers, unless both ends speak when they like: then these are none.
    #[cold]
    pub(super) fn settle_late(&mut self, recorder: &mut Recorder) {
        let late = recorder.exchanged.late.remove(&self.id).unwrap_or_default();
        let port = self.endpoint(Side::Server).port;
        if !late.is_empty() && (self.exchanges.unasked() > 1 || CONVERSATIONS.contains(&port)) {
            recorder.exchanged.unasked += late.len() as u64;
            return;
        }
        for (exchange, is_suspect) in late {
            self.count_exchange(exchange, is_suspect, recorder);
        }
    }

    fn count_exchange(&mut self, exchange: Exchange, is_suspect: bool, recorder: &mut Recorder) {
        self.exchanges.count(exchange.latency_ns());
        if self.exchanges.count == 1 || exchange.end.frame < self.first_end_frame {
            self.first_latency_ns = exchange.latency_ns();
            self.first_end_frame = exchange.end.frame;
            self.note_first_reply(exchange.end);
        }
        let exchanged = &mut recorder.exchanged;
        let place = self.exchanges.server().unwrap_or_else(|| {
            let place = exchanged.place(self.endpoint(Side::Server));
            self.exchanges.set_server(place);
            place
        });
        exchanged.add(exchange, is_suspect, place);
    }

    /// Does `side` go on `now`, long after a message that was acknowledged, with room for more, and that the other
    /// end has not answered since? Then it begins another message. Some clients wait a second for leave to
    /// send the rest of a request (RFC 9110, section 10.1.1).
    #[inline]
    pub(super) fn speaks_anew(&self, side: Side, now: Mark, recorder: &Recorder) -> bool {
        let pause_ns = MESSAGE_PAUSE_NS * [2, 1][side as usize];
        now.time_ns - self.half(side).last_data.time_ns >= pause_ns
            && self.exchanges.open().is_some() == (side == Side::Client)
            && self.is_message_over(side, now, recorder)
    }

    #[cold]
    fn is_message_over(&self, side: Side, now: Mark, recorder: &Recorder) -> bool {
        let (half, peer) = (self.half(side), self.half(side.other()));
        let since_ns = now.time_ns - half.last_data.time_ns.max(half.all_acked().mark.time_ns);
        // Bytes that are not sent again were acknowledged, though that was not captured.
        let was_acked = half.sequence.in_flight() == 0
            || !half.is_recovering() && since_ns >= 3 * MESSAGE_PAUSE_NS;
        let had_room = peer.sequence.window > 0 && peer.zero_window_frame() < half.last_data.frame;
        half.bytes() > 0
            && was_acked
            && !self.is_cut(side, recorder)
            && had_room
            && since_ns >= MESSAGE_PAUSE_NS
    }

    /// Latency of the first exchange in ns, and the frame in which it ended.
    pub fn first_exchange(&self) -> Option<(i64, NonZeroU32)> {
        NonZeroU32::new(self.first_end_frame).map(|frame| (self.first_latency_ns, frame))
    }
}
