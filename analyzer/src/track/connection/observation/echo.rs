//! The ACK that a sender had seen when a segment left, by the timestamp that the segment echoes. It is
//! the `TSval` of the newest segment that the sender took (RFC 7323, section 4.3; Linux
//! `tcp_replace_ts_recent`), which may be a pure ACK if it follows what was acknowledged by then.

use super::Observation;
use crate::rules;
use crate::track::Mark;
use crate::track::half::Release;
use crate::track::thresholds::EVIDENCE_NS;
use crate::track::wait::{Facts, Wait, fact};

impl Observation<'_> {
    /// Facts of the wait since `from` that `release` ended, by what this segment echoes. Only a wait that
    /// is evidence has them: which shorter ones are seen depends on what is to be listed.
    pub(super) fn echoed(&self, release: Option<Release>, from: Mark) -> Facts {
        let half = self.half;
        if rules::off("echo") || self.now.time_ns - from.time_ns < EVIDENCE_NS {
            return Facts::NONE;
        }
        let freed = release
            .filter(|ack| ack.mark == half.small_acked().mark && ack.mark == half.all_acked().mark);
        let pure = freed.is_some_and(|ack| ack.facts.is(fact::PURE_ACK));
        let (ack_tsval, echo) = match (half.ack_tsval(), self.segment.options.echo()) {
            (Some(ack_tsval), Some(echo)) if pure && self.takes_timestamps() => (ack_tsval, echo),
            _ => return Facts::NONE,
        };
        // They wrap around.
        match echo.wrapping_sub(ack_tsval).cast_signed() {
            0 if self.peer.last_tsval().is_none_or(|tsval| tsval as u16 != ack_tsval) => {
                fact::ECHOES_ACK
            }
            ..0 => fact::ECHOES_EARLIER,
            _ => Facts::NONE,
        }
    }

    /// True if this segment echoes a newer timestamp than those of the receiver's last data and last ACK of
    /// new data. The ACK with that timestamp may be missing from the capture, or come later in it.
    pub(super) fn echoes_unseen(&self) -> bool {
        let data = self.peer.last_tsval().map(|tsval| tsval as u16);
        let mut known = self.half.ack_tsval().into_iter().chain(data).peekable();
        let Some(echo) = self.segment.options.echo() else { return false };
        !rules::off("echo_unseen")
            && known.peek().is_some()
            && known.all(|tsval| echo.wrapping_sub(tsval).cast_signed() > 0)
    }

    /// True if this sender takes the timestamp of an ACK that comes after its last data: it had
    /// acknowledged all that the peer had sent before.
    fn takes_timestamps(&self) -> bool {
        let (half, peer) = (self.half, self.peer);
        !half.has_crossed() && !half.is_recovering() && !peer.last_data.after(half.last_data)
    }

    /// True if it is unheld, by what it echoes, or else by the time of the ACK, as `by_time` says.
    /// `wait` is the one that it ended.
    #[cold]
    pub fn is_unheld_by_echo(&self, wait: &Wait, by_time: bool) -> bool {
        let half = self.half;
        match by_time {
            // It left before the ACK.
            false if wait.is(fact::ECHOES_EARLIER) && half.echoes_acks() => {
                half.is_last_small() && self.are_surely_small() && !self.is_exempt()
            }
            true if wait.is(fact::ECHOES_ACK) => half.sequence.is_small_unacked(),
            _ => by_time,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::judge::causes::Cause;
    use crate::track::Side;
    use crate::track::story::{Story, StorySegment, client, server};
    use crate::track::wait::{Wait, fact};

    /// The timestamps that the server echoes in its second piece.
    #[derive(Clone, Copy)]
    enum Echo {
        Ack,
        Request,
        Nothing,
    }

    /// The server, 30 ms away, answers in two pieces; the second follows the ACK by the round trip.
    fn answers(echoes: &[Echo]) -> Story {
        let mut now = 65_500;
        let answer = |story: Story, echo: &Echo| {
            now += 100;
            let stamped = |segment: StorySegment, tsval: u32, tsecr: u32| match echo {
                Echo::Nothing => segment,
                _ => segment.stamped(tsval, tsecr),
            };
            let tsecr = if matches!(echo, Echo::Ack) { now + 71 } else { now };
            story
                .after_ms(5.0, stamped(client(100), now, now - 1))
                .after_ms(30.0, stamped(server(100), now + 15, now))
                .after_ms(41.0, stamped(client(0), now + 71, now + 15))
                .after_ms(30.0, stamped(server(50), now + 86, tsecr))
                .after_ms(0.02, stamped(client(0), now + 101, now + 86))
        };
        echoes.iter().fold(Story::new().handshake(0.02, 30.0), answer)
    }

    fn stalls_and_contradictions(echoes: &[Echo]) -> (usize, u32) {
        let mut told = answers(echoes).end();
        let rulings = told.judge().1;
        let stalls = rulings.iter().filter(|ruling| ruling.cause == Cause::NagleDelack).count();
        (stalls, told.half(Side::Server).contradictions())
    }

    #[test]
    fn what_echoes_its_ack_may_have_been_held() {
        assert_eq!(stalls_and_contradictions(&[Echo::Ack; 8]), (8, 0));
        assert_eq!(stalls_and_contradictions(&[Echo::Nothing; 8]), (8, 0));
        let echoes = |wait: &Wait| !wait.is(fact::OWN_DATA_BEFORE) || wait.is(fact::ECHOES_ACK);
        assert!(answers(&[Echo::Ack; 8]).end().waits.iter().all(echoes));
    }

    /// The first two may have been held, and `TCP_NODELAY` set after them.
    #[test]
    fn what_echoes_something_earlier_had_left_before_the_ack_came() {
        let by_chance = [Echo::Ack, Echo::Ack, Echo::Request, Echo::Request, Echo::Request];
        assert_eq!(stalls_and_contradictions(&by_chance), (2, 3));
    }

    #[test]
    fn where_no_pure_ack_is_echoed_nothing_follows() {
        assert_eq!(stalls_and_contradictions(&[Echo::Request; 8]), (8, 0));
    }

    /// Two pieces before the first one is acknowledged, as far as the capture shows.
    #[test]
    fn what_echoes_an_ack_that_was_not_captured_does_not_contradict_nagle() {
        let contradictions = |echo: u32| {
            Story::new()
                .handshake(0.02, 1.0)
                .after_ms(0.0, client(100).stamped(65_500, 900))
                .after_ms(1.0, server(0).stamped(65_501, 65_500))
                .after_ms(10.0, client(100).stamped(65_511, 65_501))
                // The ACK of these, stamped 65,551, is missing.
                .after_ms(41.0, client(50).stamped(65_552, echo))
                .end()
                .half(Side::Client)
                .contradictions()
        };
        assert_eq!([65_501, 65_551].map(contradictions), [1, 0]);
    }

    #[test]
    fn an_ack_of_which_part_was_not_acknowledged_leaves_no_echo() {
        // Its TSval is taken only if it follows what its receiver had acknowledged (RFC 7323, section 4.3).
        let crossed = |story: Story| {
            story
                .after_ms(5.0, client(100).stamped(1000, 900))
                .after_ms(30.0, server(100).stamped(1015, 900).ack(0))
                .after_ms(41.0, client(0).stamped(1071, 1015))
                .after_ms(30.0, server(50).stamped(1086, 900))
        };
        let told = crossed(Story::new().handshake(0.02, 30.0)).end();
        assert!(told.waits.iter().all(|wait| !wait.is(fact::ECHOES_EARLIER)));
    }
}
