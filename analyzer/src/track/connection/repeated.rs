//! Data and SYNs that come again.

use crate::decode::Header;
use crate::track::connection::{Connection, Recorder, Sent};
use crate::track::thresholds::{DISORDERED, PROBE_NS};
use crate::track::wait::{End, Facts, Wait, fact, when};
use crate::track::{Mark, Side};

impl Connection {
    /// Do segments come after their ACKs, and hardly any again for another reason? Then the directions were
    /// stamped by two clocks, or by two queues.
    pub fn is_disordered(&self) -> bool {
        let [client, server] = self.halves.each_ref().map(|half| half.odd().repeats);
        let after_ack = client.after_ack + server.after_ack;
        after_ack >= DISORDERED && 2 * after_ack > client.retransmitted + server.retransmitted
    }

    /// Takes data without a new byte: a copy of a frame, reordered bytes, or a retransmission.
    #[cold]
    pub(super) fn take_old_data(&mut self, sent: Sent<'_>, recorder: &mut Recorder) {
        let Sent { side, segment, now } = sent;
        let half = &mut self.halves[side as usize];
        let last = half.last_data;
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
            half.odd_mut().repeats.reordered += 1;
            return;
        }
        if missing > 0 && unseen_frame > last.frame && half.is_acked(segment) {
            half.fill(missing);
            half.odd_mut().repeats.after_ack += 1;
        }
        if fills {
            recorder.waits.mark(self.id, side, last.frame, fact::LOST_BEFORE);
        }
        if !was_missed && half.is_copy(segment, now) {
            half.odd_mut().repeats.duplicated += 1;
            return;
        }
        let before_last = half.repeats_before_last(segment);
        let again = half.is_recovering();
        half.set_recovering();
        if before_last {
            recorder.waits.mark(self.id, side, last.frame, fact::LOST_BEFORE);
        }
        let from = half.repeat(segment.seq, now);
        let half = self.half(side);
        let facts = when(missing > 0, fact::LOST_BEFORE)
            | when(half.unseen().0 > 0, fact::UNSEEN)
            | when(again, fact::RECOVERY);
        self.push_repeat(sent, from, facts, recorder);
    }

    /// A SACK block below the acknowledged number is a D-SACK (RFC 2883): those bytes arrived twice.
    #[cold]
    pub(super) fn take_sack(&mut self, side: Side, segment: &Header, recorder: &mut Recorder) {
        if let Some(frame) = self.halves[side.other() as usize].take_duplicate(segment) {
            self.note_needless(side.other(), frame, recorder);
        }
    }

    /// An ACK of `side` while the other end has sent nothing new since a retransmission.
    #[cold]
    pub(super) fn take_ack_of_repeated(&mut self, sent: Sent<'_>, recorder: &mut Recorder) {
        let Sent { side, segment, now } = sent;
        let rtt_ns = self.half(side).rtt_or_zero_ns();
        let half = &mut self.halves[side.other() as usize];
        if let Some(frame) = half.take_early_ack(segment, now, rtt_ns) {
            self.note_needless(side.other(), frame, recorder);
        }
    }

    /// The bytes that `sender` sent again in this frame had arrived.
    fn note_needless(&self, sender: Side, frame: u32, recorder: &mut Recorder) {
        let last = self.half(sender).last_data.frame;
        recorder.waits.mark(self.id, sender, frame, fact::NEEDLESS);
        if last > frame {
            // It left before that was known.
            recorder.waits.mark(self.id, sender, last, fact::NEEDLESS);
        }
    }

    pub(super) fn push_repeat(
        &self,
        Sent { side, segment, now }: Sent<'_>,
        from: Mark,
        facts: Facts,
        recorder: &mut Recorder,
    ) {
        let (half, peer) = (self.half(side), self.half(side.other()));
        if !from.is_set() || now.time_ns - from.time_ns < recorder.lengths.listed_ns {
            return;
        }
        let zero_window = peer.zero_window_frame() > 0 && peer.sequence.window == 0;
        recorder.push_other(Wait {
            end: self.end_by_repeat(side, segment),
            facts: facts
                | fact::RETRANSMITTED
                | fact::OWN_DATA_BEFORE
                | when(zero_window, fact::ZERO_WINDOW),
            rel_seq: half.offset_of(segment.seq),
            len: segment.len,
            unacked_len: half.sequence.in_flight(),
            contradictions: half.contradictions(),
            ..Wait::between(self.id, side, from, now)
        });
    }

    /// The server answers a SYN `now`. Kept if no way is that long, or hardly any.
    #[cold]
    pub(super) fn push_late_answer(&self, now: Mark, recorder: &mut Recorder) {
        let from = self.half(Side::Client).last_data;
        if !from.is_set() || now.time_ns - from.time_ns < recorder.lengths.listed_ns.max(PROBE_NS) {
            return;
        }
        let wait = Wait::between(self.id, Side::Server, from, now);
        let wait = Wait { end: End::Syn, ..wait };
        recorder.push_other(wait);
    }
}
