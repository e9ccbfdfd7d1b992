//! New data: observe, classify, apply.

use super::observation::{EndedWaits, Observation, Reaction};
use super::{Connection, Recorder, Sent, Split};
use crate::track::half::EndedBy;
use crate::track::thresholds::{KERNEL_REACTION_NS, PROBE_NS};
use crate::track::wait::{Wait, fact, when};
use crate::track::{Mark, Side};

impl Connection {
    /// Takes new data, of which the last `len` bytes are new.
    pub(super) fn take_new_data(&mut self, sent: Sent<'_>, len: u32, recorder: &mut Recorder) {
        let Sent { side, segment, now } = sent;
        let mss = self.current_mss(side);
        let seen = self.observe(sent, len, mss);
        let (half, peer) = (self.half(side), self.half(side.other()));
        let received = peer.segments;
        let (acked_part, peer_window) = (peer.sequence.acked_part(), peer.sequence.window);
        let mut is_unheld = seen.is_unheld();
        let passes_full = seen.passes_full();
        let split = seen.is_split().then_some(Split {
            connection: self.id,
            by: side,
            frames: [half.last_data.frame, now.frame],
            bytes: [half.last_len, len],
        });
        let may_be_held = seen.may_be_held(recorder.clock_ns);
        // Most segments after a pause follow nothing.
        let follows = now.time_ns - peer.last_data.time_ns <= KERNEL_REACTION_NS;
        let is_reaction = (follows || half.counts_reactions())
            && now.time_ns - half.last_data.time_ns >= recorder.lengths.seen_ns;
        if let Some(ended) = seen.ended(recorder) {
            if let Some(kept) = &ended.kept {
                is_unheld = seen.is_unheld_by_echo(kept, is_unheld);
            }
            self.keep(side, &ended, recorder);
        }
        if is_reaction {
            self.keep_reaction(sent, len, mss, recorder);
        }
        if self.speaks_anew(side, now, recorder) {
            if side == Side::Client && len == self.half(side).last_len {
                self.push_asked_again(now, recorder);
            }
            self.exchanges.note_unasked();
            recorder.exchanged.unasked += 1;
            self.end_exchange(recorder);
        } else if self.exchanges.is_ended_by(side) {
            self.end_exchange(recorder);
        }
        if self.exchanges.data(side, now) {
            let began_ns = self.half(side).last_new().time_ns;
            *recorder.exchanged.answered_ns.one(self.id) = began_ns;
        }
        let half = &mut self.halves[side as usize];
        if is_unheld {
            half.contradict(now, received);
        }
        if passes_full {
            half.odd_mut().passed_full = (half.last_data.frame, now.frame);
        }
        if may_be_held {
            half.note_may_be_held();
        }
        if let Some(split) = split {
            half.is_split = true;
            recorder.push_split(split);
        }
        half.send(segment, len, now, mss);
        half.cross(acked_part);
        half.set_room(peer_window);
    }

    /// A segment with `len` new bytes, and both directions as they were before it.
    #[expect(clippy::inline_always, reason = "calls take a twentieth of a scan")]
    #[inline(always)]
    fn observe<'a>(&'a self, sent: Sent<'a>, len: u32, mss: u32) -> Observation<'a> {
        let Sent { side: by, segment, now } = sent;
        Observation {
            connection: self.id,
            by,
            half: self.half(by),
            peer: self.half(by.other()),
            segment,
            len,
            mss,
            now,
            handshake_ns: self.handshake_ns,
        }
    }

    /// Keeps the waits that new data of `side` ended.
    fn keep(&mut self, side: Side, ended: &EndedWaits, recorder: &mut Recorder) {
        if let Some(short) = &ended.short {
            let in_exchange = self.exchanges.covers(short.from);
            self.halves[side as usize].count_short(short, in_exchange, recorder.clock_ns);
        }
        for wait in [ended.kept, ended.over_retransmission].into_iter().flatten() {
            let wait = self.after_reopening(wait, recorder);
            self.push(wait, recorder);
        }
    }

    /// The part of a wait for room that is left when the window opened again long before its end: the part
    /// before that is kept on its own.
    fn after_reopening(&self, wait: Wait, recorder: &mut Recorder) -> Wait {
        let (half, peer) = (self.half(wait.by), self.half(wait.by.other()));
        let opened = peer.opened().filter(|opened| opened.after(wait.from));
        let (true, Some(opened)) = (wait.is(fact::ZERO_WINDOW), opened) else { return wait };
        let round_trip_ns = half.rtt_or_zero_ns() + peer.rtt_or_zero_ns();
        if wait.to.time_ns - opened.time_ns < PROBE_NS.max(2 * round_trip_ns) {
            return wait;
        }
        // Beside a debt, that was kept when somebody closed.
        let is_kept = peer.has_finished() || half.has_finished();
        if !is_kept && opened.time_ns - wait.from.time_ns >= recorder.lengths.listed_ns {
            recorder.push_other(Wait { to: opened, len: 0, tsval: 0, ..wait });
        }
        let probed = half.last_probed().after(opened);
        let facts = wait.facts.without(fact::ZERO_WINDOW | fact::WINDOW_FULL)
            | when(probed, fact::REOPENED);
        Wait { from: opened, unacked_ns: opened.time_ns, from_tsval: 0, facts, ..wait }
    }

    #[inline(never)]
    fn keep_reaction(&mut self, sent: Sent<'_>, len: u32, mss: u32, recorder: &mut Recorder) {
        let Some(reaction) = self.observe(sent, len, mss).reaction() else { return };
        let half = &mut self.halves[sent.side as usize];
        match reaction {
            Reaction::OfProgram(after_ns) => half.odd_mut().reactions.add(after_ns),
            Reaction::Late if half.counts_reactions() => {
                let late = &mut half.odd_mut().reactions.late;
                *late = late.saturating_add(1);
            }
            Reaction::Late => {}
            Reaction::MayBeHeld(mut wait) => {
                half.count_reactions();
                if self.exchanges.covers(wait.from) {
                    wait.facts |= fact::IN_EXCHANGE;
                    self.exchanges.suspect();
                }
                recorder.waits.keep_by_data(wait);
            }
        }
    }

    /// The ACK at `ack` came just behind the last data of `by`, and may have let it go.
    #[cold]
    pub(super) fn free_behind(&mut self, by: Side, ack: Mark, recorder: &mut Recorder) {
        let frame = self.half(by).last_data.frame;
        let freed = recorder.waits.free_behind(self.id, by, frame, ack);
        let listed_ns = recorder.lengths.listed_ns;
        if freed.is_some_and(|wait| wait.is(fact::IN_EXCHANGE) && wait.span_ns() >= listed_ns) {
            self.exchanges.suspect();
        }
    }

    fn push(&mut self, mut wait: Wait, recorder: &mut Recorder) {
        let in_exchange =
            self.exchanges.covers(wait.from) || self.exchanges.covers_turn(wait.turn_ns);
        let awaits_leave = wait.by == Side::Client && self.waits_for_leave(recorder);
        wait.facts |= when(in_exchange, fact::IN_EXCHANGE) | when(awaits_leave, fact::AWAITS_LEAVE);
        let half = &mut self.halves[wait.by as usize];
        if wait.is(fact::ECHOES_ACK) {
            half.note_echo();
        }
        if wait.is_freed() {
            match half.ended_by(&wait, recorder.clock_ns) {
                EndedBy::Ack => {
                    let listed = wait.span_ns() >= recorder.lengths.listed_ns;
                    if listed && wait.is(fact::IN_EXCHANGE) {
                        self.exchanges.suspect();
                    }
                    recorder.waits.keep(wait);
                    return;
                }
                EndedBy::Program => wait.facts |= fact::OWN_PAUSE,
                EndedBy::Either => {
                    recorder.push_other(wait);
                    return;
                }
            }
        }
        let reply_ns = wait.wait_ns().min(wait.span_ns() - half.rtt_or_zero_ns());
        let length_ns = if wait.is(fact::OWN_DATA_BEFORE) { wait.span_ns() } else { reply_ns };
        let delayed = wait.is(fact::OWN_PAUSE) && wait.ack_ns() >= recorder.lengths.seen_ns;
        let is_evidence = wait.is(fact::OWN_DATA_BEFORE) && wait.is_evidence();
        if length_ns >= recorder.lengths.listed_ns || delayed || is_evidence {
            recorder.push_other(wait);
        }
    }
}
