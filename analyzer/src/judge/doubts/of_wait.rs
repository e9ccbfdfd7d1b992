//! Doubts about one wait, in one table: what shows that it was no hold, what keeps it from being judged, and
//! what makes its timing tell less. Nothing else excludes a hold.

use crate::judge::doubts::size::{self, EXEMPT, NO_WINDOW, REPEATED, Size};
use crate::judge::path::Path;
use crate::judge::thresholds::{
    ANSWERS_DATA, BEHIND_FULL, BOUND, COARSE_CLOCK_MS, FEW_STEPS, LONGEST_IS_SMALL,
    MOST_BY_COARSE_CLOCK, RIVALLED,
};
use crate::rules;
use crate::track::half::MSS_CUT;
use crate::track::thresholds::{
    JIFFY_NS, LATE_STAMP_NS, LONGEST_DELAYED_ACK_NS, PROBE_NS, SHORTEST_DELAYED_ACK_NS,
};
use crate::track::wait::{End, Wait, fact};
use crate::track::{Connection, Side};

/// A wait, and what doubts about it ask for.
#[derive(Clone, Copy)]
pub struct DoubtedWait<'a> {
    pub wait: &'a Wait,
    pub connection: &'a Connection,
    pub paths: [&'a Path; 2],
    /// The waits before it in its connection, which only an exclusion asks for.
    pub before: &'a [Wait],
}

/// The effect of a doubt on the question whether a wait was a hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Effect {
    /// It was no hold.
    Impossible,
    /// The capture does not show what it was.
    NotJudged,
    /// Its timing makes a hold so many times as likely, at most.
    AtMost(f64),
}

use Effect::{AtMost, Impossible, NotJudged};

/// A doubt that applies, in the words of `--why`.
#[derive(Debug, Clone, Copy)]
pub struct WaitDoubt {
    pub effect: Effect,
    pub sentence: &'static str,
}

/// Declares the doubts, each with its test below. A table of functions would be asked in twice the time.
macro_rules! wait_doubts {
    ($($test:ident $effect:expr, $sentence:literal;)+) => {
        impl DoubtedWait<'_> {
            /// The first doubt with such an effect.
            #[inline]
            fn first(&self, is_asked: impl Fn(Effect) -> bool) -> Option<WaitDoubt> {
                $(if is_asked($effect) && self.$test() {
                    return Some(WaitDoubt { effect: $effect, sentence: $sentence });
                })+
                None
            }
        }
    };
}

wait_doubts! {
    is_within_a_program NotJudged,
        "a stack that announces no MSS answered for the host: it may send one block at a time";
    is_without_data NotJudged, "no data followed the ACK";
    is_without_ack NotJudged, "no pure ACK of everything outstanding came during the wait";
    is_full_sized Impossible, "the segment is full-sized, and only small ones are held";
    is_carried NotJudged, "the path may carry no more than this at once";
    is_exempt Impossible, "FIN and urgent data are never held";
    is_repeated NotJudged, "bytes were sent twice during the wait";
    answers_fin_afar NotJudged, "a FIN came with the ACK, and an answer takes as long as a release";
    lacks_window Impossible, "the receiver's window had no room";
    follows_timer NotJudged,
        "packets are missing before the last segment, which a timer may have sent again";
    is_unseen NotJudged, "bytes are missing from the capture around the wait";
    is_passed_on Impossible, "the segment was passed on from another connection";
    left_before_ack Impossible, "the segment echoes an older timestamp: it left before the ACK";
    is_too_late Impossible, "no receiver delays an ACK for so long";
    is_ack_behind NotJudged, "the ACK came just behind the segment: a late stamp, or an accident";
    follows_unheld AtMost(RIVALLED), "the unacknowledged segment itself was sent unheld";
    answers_fin AtMost(RIVALLED), "a FIN came with the ACK";
    is_behind_window AtMost(RIVALLED), "a congestion window may have been full";
    is_behind_full_sized AtMost(BEHIND_FULL), "only full-sized segments were unacknowledged";
    is_longest AtMost(LONGEST_IS_SMALL), "no segment of the sender is longer";
    answers_data AtMost(ANSWERS_DATA), "data came just before the ACK";
}

impl DoubtedWait<'_> {
    /// Why it is no candidate, if it is none.
    pub fn exclusion(&self) -> Option<WaitDoubt> {
        self.first(|effect| matches!(effect, Impossible | NotJudged))
    }

    /// How many times as likely its timing makes a hold, at most, and why: programs answer what
    /// they saw just before about as soon as a kernel releases; a full window, or a full-sized
    /// segment, waits for an ACK, too.
    pub fn most(&self) -> (f64, &'static str) {
        match self.first(|effect| matches!(effect, AtMost(_))) {
            Some(WaitDoubt { effect: AtMost(times), sentence }) if !rules::off("most") => {
                (times, sentence)
            }
            _ => (BOUND, ""),
        }
    }
}

/// The probability at most that the clock of a `path` allows for a wait, or rows that were inferred; and why.
pub fn probability_at_most(wait: &Wait, path: &Path, is_inferred: bool) -> (f64, &'static str) {
    let step_ms = path.step_ms;
    let steps = wait.span_ns() as f64 / 1e6 / step_ms.max(1e-3);
    let clock = "a coarse clock";
    match rules::off("clock_bound") || step_ms < COARSE_CLOCK_MS / 2.0 {
        true if is_inferred => (MOST_BY_COARSE_CLOCK, "rows that were inferred"),
        true => (1.0, ""),
        // A wait of a step or two may be next to nothing.
        false if steps < FEW_STEPS.0 => (FEW_STEPS.1, clock),
        false => (MOST_BY_COARSE_CLOCK, clock),
    }
}

// The tests, in the order of the table.
impl DoubtedWait<'_> {
    /// Is the server's stack one within a program, as filters and capture applications on phones have? Its
    /// SYN-ACK announces no MSS, though the SYN did.
    fn is_within_a_program(&self) -> bool {
        let [client, server] = &self.connection.halves;
        self.wait.by == Side::Server
            && client.has_syn()
            && server.has_syn()
            && server.mss_option == 0
            && (1..MSS_CUT).contains(&client.mss_option)
    }

    fn is_without_data(&self) -> bool {
        self.wait.end == End::Ack
    }

    fn is_without_ack(&self) -> bool {
        !self.wait.has_pure_ack() && !self.wait.is(fact::DATA_ACK)
    }

    fn is_full_sized(&self) -> bool {
        size::is_full_sized(self.wait, self.connection)
    }

    fn is_carried(&self) -> bool {
        Size::of(self.wait, self.connection) == Size::Carried
    }

    fn is_exempt(&self) -> bool {
        self.wait.has_any(EXEMPT)
    }

    fn is_repeated(&self) -> bool {
        self.wait.has_any(REPEATED)
    }

    fn answers_fin_afar(&self) -> bool {
        self.answers_fin() && self.paths[self.wait.by as usize].is_across_network()
    }

    fn lacks_window(&self) -> bool {
        self.wait.has_any(NO_WINDOW)
    }

    /// Was the full-sized segment before the wait sent by a retransmission timer, after packets that
    /// were lost before the capture point? Then a congestion window of one segment lets go what
    /// follows (RFC 5681, section 3.1). Behind a small one it is Nagle's algorithm all the same.
    fn follows_timer(&self) -> bool {
        let wait = self.wait;
        if wait.is(fact::UNACKED_SMALL) || !self.connection.half(wait.by).counts_ids() {
            return false;
        }
        let is_own = |other: &&Wait| other.connection == wait.connection && other.by == wait.by;
        let last = self.before.iter().rev().find(is_own);
        let is_late =
            |last: &Wait| last.is(fact::SKIPPED_IDS) && last.span_ns() >= PROBE_NS - JIFFY_NS;
        last.is_some_and(|last| last.to == wait.from && is_late(last))
    }

    fn is_unseen(&self) -> bool {
        self.wait.is(fact::UNSEEN)
    }

    fn is_passed_on(&self) -> bool {
        self.wait.is(fact::PASSED_ON)
    }

    /// Did it leave before the ACK came, by the timestamp that it echoes? Then the program sent it.
    fn left_before_ack(&self) -> bool {
        self.wait.is(fact::ECHOES_EARLIER) && self.connection.half(self.wait.by).echoes_acks()
    }

    fn is_too_late(&self) -> bool {
        let longest_ns = self.receiver_rtt_ns() + LONGEST_DELAYED_ACK_NS;
        let least_release_ns = if self.wait.is(fact::ACK_BEHIND) { -LATE_STAMP_NS } else { 0 };
        !(0..=longest_ns).contains(&self.wait.ack_ns()) || self.wait.release_ns() < least_release_ns
    }

    /// Prompt ACKs overtake a program all the time that sends a little more often than the path takes.
    fn is_ack_behind(&self) -> bool {
        let is_delayed = || self.wait.ack_ns() - self.receiver_rtt_ns() >= SHORTEST_DELAYED_ACK_NS;
        let has_late_stamps = || self.connection.half(self.wait.by).has_late_stamps();
        self.wait.is(fact::ACK_BEHIND) && !(has_late_stamps() && is_delayed())
    }

    /// Its program would have cleared the option between two pieces of one message.
    fn follows_unheld(&self) -> bool {
        self.wait.is(fact::UNACKED_UNHELD)
    }

    fn answers_fin(&self) -> bool {
        self.wait.is(fact::ACK_FIN)
    }

    fn is_behind_window(&self) -> bool {
        self.wait.is(fact::LARGE_FLIGHT) && self.is_behind_full_sized()
    }

    fn is_behind_full_sized(&self) -> bool {
        !self.wait.is(fact::UNACKED_SMALL)
    }

    fn is_longest(&self) -> bool {
        Size::of(self.wait, self.connection) == Size::Longest
    }

    fn answers_data(&self) -> bool {
        self.wait.has_any(fact::DATA_CAME | fact::DATA_ACK)
    }

    /// The round trip to the receiver, in ns, where it is known.
    fn receiver_rtt_ns(&self) -> i64 {
        self.paths[self.wait.by.other() as usize].shortest_ns.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use crate::judge::causes::Cause;
    use crate::track::story::{Story, client, server};

    /// The first two pieces leave one after the other, unheld: the third one waited for something else.
    #[test]
    fn what_follows_a_segment_that_was_not_held_is_no_stall() {
        let stalls = |is_unheld: bool| {
            let opened = Story::new().handshake(0.02, 1.0).after_ms(5.0, client(100));
            let acked = opened.after_ms(1.0, server(0)).after_ms(1.0, server(50));
            let story = acked.after_ms(5.0, client(49));
            let story = if is_unheld { story.after_ms(1.2, client(11)) } else { story };
            let held = story.after_ms(40.0, server(0)).after_ms(0.02, client(13));
            let (_, rulings) = held.after_ms(1.0, server(200)).end().judge();
            rulings.iter().filter(|ruling| ruling.cause == Cause::NagleDelack).count()
        };
        assert_eq!([true, false].map(stalls), [0, 1]);
    }
}
