//! Requests that are open when their connection ends, or the capture: nobody has answered them.

use crate::track::connection::{Connection, Recorder};
use crate::track::thresholds::{FIRST_RTO_NS, PROBE_NS};
use crate::track::wait::{Wait, fact, when};
use crate::track::{Ending, Mark, Side};

impl Connection {
    /// FIN or RST ends the connection.
    #[inline]
    pub(super) fn close(&self, ending: Ending, now: Mark, recorder: &mut Recorder<'_>) {
        if self.exchanges.open().is_some() {
            self.push_unanswered(ending, now, recorder);
        }
    }

    /// The capture has ended, at `end_ns`.
    pub fn end(&mut self, end_ns: impl Fn(u32) -> i64, recorder: &mut Recorder<'_>) {
        if self.exchanges.open().is_some() {
            let [client, server] = &self.halves;
            let known = [client.last_data, server.last_data, client.all_acked().mark];
            let frame = known.iter().map(|mark| mark.frame).max().unwrap_or_default();
            let time_ns = end_ns(frame).max(self.last_ns());
            self.push_unanswered(Ending::Capture, Mark { time_ns, frame }, recorder);
        }
        self.finish(recorder);
    }

    /// Keeps the wait for an answer that never came, if the capture shows that the client waited.
    #[cold]
    fn push_unanswered(&self, ending: Ending, to: Mark, recorder: &mut Recorder<'_>) {
        let [client, server] = &self.halves;
        let (from, acked) = (client.last_new(), client.all_acked().mark);
        let unacked_len = client.sequence.in_flight();
        let wait_ns = to.time_ns - from.time_ns;
        let round_trip_ns = client.rtt_or_zero_ns() + server.rtt_or_zero_ns();
        // Whoever closes at once waits for nothing.
        let least_ns = recorder.lengths.listed_ns.max(PROBE_NS).max(2 * round_trip_ns);
        let is_shown = match unacked_len {
            0 => self.owes_answer(),
            // Sent again for so long, it is lost, whatever the protocol. Not sent again, it was not
            // captured that it was acknowledged.
            _ if client.is_recovering() => wait_ns >= FIRST_RTO_NS,
            _ => ending.is_reset() && self.owes_answer(),
        };
        let is_one_sided = server.segments == 0 || server.has_finished();
        if wait_ns < least_ns || !to.after(from) || !is_shown || is_one_sided {
            return;
        }
        let ack = if unacked_len == 0 && acked.after(from) { acked } else { Mark::NONE };
        let wait = Wait {
            facts: fact::IN_EXCHANGE
                | when(unacked_len > 0 && client.is_recovering(), fact::RECOVERY),
            ack,
            unacked_len,
            turn_ns: ending.turn_ns(),
            unacked_ns: server.last_ns,
            ..Wait::between(self.id, Side::Server, from, to)
        };
        recorder.waits.push_other(wait, recorder.lengths.listed_ns);
    }

    /// Does the last request look like one that gets an answer? Who asks is known by the handshake alone. On a
    /// connection with answers, what is much shorter than the requests that got one may be
    /// none: a window update, an acknowledgement of settings, a pong.
    fn owes_answer(&self) -> bool {
        let client = self.half(Side::Client);
        let last = u64::from(client.last_len);
        let others = client.bytes().saturating_sub(last);
        let is_whole = self.halves.iter().all(|half| half.unseen().0 == 0);
        self.has_handshake() && is_whole && 2 * last * u64::from(self.exchanges.count) >= others
    }
}
