//! The end of an exchange, of a connection, of the capture.

use crate::track::connection::{Connection, Recorder};
use crate::track::half::Half;
use crate::track::thresholds::LONGEST_DELAYED_ACK_NS;
use crate::track::wait::{End, Wait, fact};
use crate::track::{Exchange, Side};
use std::num::NonZeroU32;

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
        let Some((begin, is_suspect)) = self.exchanges.finish() else { return };
        let end = self.half(Side::Server).last_new();
        let exchange = Exchange {
            asked_ns: self.half(Side::Client).last_new().time_ns,
            answered_ns: match is_answered_in_several {
                true => *recorder.exchanged.answered_ns.one(self.id),
                false => end.time_ns,
            },
            request_bytes,
            response_bytes,
            ..Exchange::between(self.id, begin, end)
        };
        self.exchanges.count(exchange.latency_ns());
        if self.exchanges.count == 1 {
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

    /// Latency of the first exchange in ns, and the frame in which it ended.
    pub fn first_exchange(&self) -> Option<(i64, NonZeroU32)> {
        NonZeroU32::new(self.first_end_frame).map(|frame| (self.first_latency_ns, frame))
    }
}
