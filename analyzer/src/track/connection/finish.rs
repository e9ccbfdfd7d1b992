//! The end of an exchange, of a connection, of the capture.

use crate::track::Side;
use crate::track::connection::{Connection, Sinks};
use crate::track::half::Half;
use crate::track::thresholds::LONGEST_DELAYED_ACK_NS;
use crate::track::wait::{Reaction, Wait, fact};
use std::num::NonZeroU64;

impl Connection {
    /// At FIN, at RST or at the end of the capture: reports a late ACK that no data followed, and closes
    /// the last exchange.
    #[inline(never)]
    pub fn finish(&mut self, sinks: &mut Sinks<'_>) {
        for side in Side::BOTH {
            let half = &self.halves[side as usize];
            let release = half.all_acked();
            let (from, to) = (half.last_data(), release.mark);
            let receiver = self.half(side.other());
            let delay_ns = to.time_ns - from.time_ns - receiver.rtt_or_zero_ns();
            let late = (sinks.lengths.seen_ns..=LONGEST_DELAYED_ACK_NS).contains(&delay_ns);
            // A FIN comes from the program, and over an unknown round trip no ACK is known to be late.
            let by_timer = release.says.is(fact::PURE_ACK)
                && !release.says.is(fact::ACK_FIN)
                && receiver.measured_rtt_ns().is_some();
            if by_timer && late && half.bytes() > 0 && to.after(from) {
                sinks.waits.push_other(
                    Wait {
                        connection: self.id,
                        by: side.other(),
                        facts: fact::ACK_ONLY | fact::PURE_ACK,
                        from,
                        to,
                        ack: to,
                        rel_seq: half.offset(),
                        len: 0,
                        unacked_len: half.last_len(),
                        unacked_ns: from.time_ns,
                        turn_ns: Wait::NO_TURN,
                        contradictions: half.contradictions(),
                        skipped_ids: 0,
                        tsval: 0,
                        reaction: Reaction::NONE,
                    },
                    sinks.lengths.listed_ns,
                );
            }
            self.halves[side as usize].forget_all_acked();
        }
        self.end_exchange(sinks);
    }

    pub(super) fn end_exchange(&mut self, sinks: &mut Sinks<'_>) {
        let bytes = match &mut sinks.exchanged.all {
            Some(all) => all.bytes_since(self.id, self.halves.each_ref().map(Half::bytes)),
            None => [0; 2],
        };
        let Some((exchange, suspect)) = self.exchanges.finish(self.id, bytes) else {
            return;
        };
        if self.exchanges.count == 1 {
            self.first_exchange = (exchange.latency_ns(), exchange.end.frame);
            self.note_first_reply(exchange.end);
        }
        let (server, place) = (&self.ends.server, self.exchanges.server());
        let place = sinks.exchanged.add(exchange, suspect, server, place);
        self.exchanges.set_server(place);
    }

    /// Latency of the first exchange in ns, and the frame in which it ended.
    pub fn first_exchange(&self) -> Option<(i64, NonZeroU64)> {
        let (latency_ns, frame) = self.first_exchange;
        NonZeroU64::new(frame).map(|frame| (latency_ns, frame))
    }
}
