//! Data and SYNs that come again.

use crate::decode::{Header, SYN};
use crate::track::connection::{Connection, Sinks};
use crate::track::half::Half;
use crate::track::thresholds::{DISORDERED, PROBE_NS};
use crate::track::wait::{Reaction, Wait, fact, when};
use crate::track::{Mark, Side};

impl Connection {
    /// Do segments come after their ACKs, and hardly any again for another reason? Then the directions were
    /// stamped by two clocks, or by two queues.
    pub fn is_disordered(&self) -> bool {
        let [client, server] = self.halves.each_ref().map(Half::repeats);
        let after_ack = client.after_ack + server.after_ack;
        after_ack >= DISORDERED && 2 * after_ack > client.retransmitted + server.retransmitted
    }

    /// Takes data without a new byte: a copy of a frame, reordered bytes, or a retransmission.
    #[cold]
    pub(super) fn take_old_data(
        &mut self,
        side: Side,
        segment: &Header,
        now: Mark,
        sinks: &mut Sinks<'_>,
    ) {
        let half = &mut self.halves[side as usize];
        let last = half.last_data();
        let since = now.time_ns - last.time_ns;
        let (missing, unseen_frame) = (half.missing(segment), half.unseen().1);
        let fills = missing > 0 && unseen_frame == last.frame;
        // Acknowledged first, it may be a late copy of what another queue lost.
        let was_missed = missing > 0 && unseen_frame <= last.frame;
        if was_missed {
            half.fill(missing);
        }
        let overtaken = fills && since < half.reorder_ns() || was_missed && half.is_older(segment);
        if overtaken {
            half.take_reordered();
            return;
        }
        if missing > 0 && unseen_frame > last.frame && half.is_acked(segment) {
            half.fill(missing);
            half.take_after_ack();
        }
        if fills {
            sinks.waits.mark(self.id, side, last.frame, fact::LOST_BEFORE);
        }
        if !was_missed && half.is_copy(segment, now) {
            half.take_copy();
            return;
        }
        let before_last = half.repeats_before_last(segment);
        half.set_recovering();
        if before_last {
            sinks.waits.mark(self.id, side, last.frame, fact::LOST_BEFORE);
        }
        let from = half.repeat(segment.seq, now);
        let unseen = when(fills, fact::LOST_BEFORE);
        self.push_repeat(side, segment, from, now, unseen, sinks);
    }

    /// A SACK block below the acknowledged number is a D-SACK (RFC 2883): those bytes arrived twice.
    #[cold]
    pub(super) fn take_sack(&mut self, side: Side, segment: &Header, sinks: &mut Sinks<'_>) {
        let sender = side.other();
        let half = &mut self.halves[sender as usize];
        if let Some(frame) = half.take_duplicate(segment) {
            let last = half.last_data().frame;
            sinks.waits.mark(self.id, sender, frame, fact::NEEDLESS);
            if last > frame {
                // It left before the report came.
                sinks.waits.mark(self.id, sender, last, fact::NEEDLESS);
            }
        }
    }

    pub(super) fn push_repeat(
        &self,
        side: Side,
        segment: &Header,
        from: Mark,
        now: Mark,
        facts: u32,
        sinks: &mut Sinks<'_>,
    ) {
        let (half, peer) = (self.half(side), self.half(side.other()));
        if !from.is_set() || now.time_ns - from.time_ns < sinks.lengths.listed_ns {
            return;
        }
        let zero_window = peer.zero_window_frame() > 0 && peer.window() == 0;
        sinks.waits.push_other(
            Wait {
                connection: self.id,
                by: side,
                facts: facts
                    | fact::RETRANSMITTED
                    | fact::OWN_DATA_BEFORE
                    | when(segment.has(SYN), fact::CONNECTING)
                    | when(zero_window, fact::ZERO_WINDOW),
                from,
                to: now,
                ack: Mark::default(),
                rel_seq: half.offset_of(segment.seq),
                len: segment.len,
                unacked_len: half.in_flight(),
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

    /// The server answers a SYN `now`. Kept if no way is that long, or hardly any.
    #[cold]
    pub(super) fn push_late_answer(&self, now: Mark, sinks: &mut Sinks<'_>) {
        let from = self.half(Side::Client).last_data();
        if !from.is_set() || now.time_ns - from.time_ns < sinks.lengths.listed_ns.max(PROBE_NS) {
            return;
        }
        let wait = Wait {
            connection: self.id,
            by: Side::Server,
            facts: fact::CONNECTING,
            from,
            to: now,
            ack: Mark::default(),
            rel_seq: 0,
            len: 0,
            unacked_len: 0,
            unacked_ns: from.time_ns,
            turn_ns: Wait::NO_TURN,
            contradictions: 0,
            skipped_ids: 0,
            reaction: Reaction::NONE,
            tsval: 0,
        };
        sinks.waits.push_other(wait, sinks.lengths.listed_ns);
    }
}
