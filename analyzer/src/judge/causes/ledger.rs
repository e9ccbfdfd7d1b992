//! The ledger: what was owed when a wait began, and what ended it, give its cause. The first row
//! that fits is the cause.
//!
//! First come rows that what was seen proves, then those of what kept a sender from sending, and guesses
//! about a program come last. What each cause means, and what it is not, is told in its own file.

use crate::judge::causes::patterns::Patterns;
use crate::judge::causes::{Cause, stop_and_wait};
use crate::judge::direction::Direction;
use crate::judge::doubts::hides;
use crate::judge::model::{Held, Proof};
use crate::judge::thresholds::POSSIBLE;
use crate::rules;
use crate::track::thresholds::{NETWORK_RTT_NS, PROBE_NS};
use crate::track::wait::{End, Wait, fact};

/// A row of the ledger in words, and its cause.
#[derive(Debug)]
pub struct LedgerRow {
    /// By which Python finds what to advise.
    pub name: &'static str,
    pub owed: &'static str,
    pub ended_by: &'static str,
    pub cause: Cause,
}

/// Declares the rows, each with the questions below that it asks. Asked by way of a table of
/// functions they would take twice as long.
macro_rules! ledger {
    ($(
        $name:ident: $owed:ident $owed_words:literal, $ended:ident $ended_words:literal => $cause:ident;
    )*) => {
        pub const ROWS: &[LedgerRow] = &[$(LedgerRow {
            name: stringify!($name),
            owed: $owed_words,
            ended_by: $ended_words,
            cause: Cause::$cause,
        }),*];

        /// The place of the first row that fits a wait; the last one fits any.
        pub fn row_of(wait: &Wait, held: Held, direction: &Direction, patterns: &Patterns) -> u8 {
            let known = Known { direction, patterns, held };
            let mut place = 0;
            $(
                let is_asked = !rules::off(Cause::$cause.name());
                if is_asked && known.$owed(wait) && known.$ended(wait) {
                    return place;
                }
                place += 1;
            )*
            place - 1
        }
    };
}

ledger! {
    connecting: connection "a connection",
        anything "its SYN again, or a late answer to it" => Connect;
    no_answer_to_probes: probes "an answer to probes",
        anything "the end of the connection, or of the capture" => Unanswered;
    never_answered: request "an answer",
        anything "the end of the connection, or of the capture" => Unanswered;
    no_close: closing "a FIN, or an ACK of one",
        anything "the end of the connection, or of the capture" => Unanswered;
    no_handshake: opening "an answer to a SYN",
        anything "the end of the connection, or of the capture" => Unanswered;
    no_first_word: first_word "a first word",
        anything "the end of the connection, or of the capture" => Unanswered;
    no_ack_at_all: bytes_in_vain "an ACK of bytes",
        anything "the end of the connection, or of the capture" => Unanswered;
    no_rest: message "the rest of a message",
        anything "the end of the connection, or of the capture" => Unanswered;
    resent_again: bytes "an ACK of bytes",
        same_bytes_once_more "the same bytes, not for the first time" => Retransmission;
    resent_by_timer: bytes "an ACK of bytes",
        same_bytes_late "the same bytes again, by a timer" => Retransmission;
    resent_early: bytes "an ACK of bytes",
        same_bytes "the same bytes again, before any timer" => Retransmission;
    after_recovery: bytes_sent_again "an ACK of bytes that were sent again",
        what_waited_for_them "what had waited for them" => Retransmission;
    tail_loss_probe: bytes "an ACK of bytes", probe "new data, as a probe" => Retransmission;
    update_lost: room_again "nothing, after room had been announced again",
        anything "new data, after probes" => Unknown;
    full_window: room "room in the receiver's window",
        anything "a segment for which there was room again" => ZeroWindow;
    corked: rest "the rest, as a call of its program said", anything "its segment without that" => Cork;
    forwarded: nothing "nothing that the capture shows",
        other_connection "what had just come on another connection" => PassedOn;
    held_until_late_ack: small_segment "an ACK of a small segment",
        late_ack "a late ACK, and what it let go" => NagleDelack;
    held_until_data: small_segment "an ACK of a small segment",
        data_ack "an ACK on data, and what it let go" => NagleReply;
    late_arrival: nothing "nothing that the capture shows",
        late_arrival "a segment that had left before" => SlowLink;
    held_until_ack: small_segment "an ACK of a small segment",
        anything "a prompt ACK, and what it let go" => NagleRtt;
    one_in_flight: only_segment "an ACK of the only segment in flight",
        its_ack "its ACK, and what it let go" => StopAndWait;
    window_in_flight: flight "an ACK of what was in flight",
        ack_of_flight "an ACK of it, and what it let go" => CongestionWindow;
    late_ack_alone: bytes "an ACK of bytes", late_ack_alone "a late ACK alone" => DelayedAck;
    late_ack_of_full_segment: bytes "an ACK of bytes",
        late_ack_of_full_one "a late ACK, and a full-sized segment" => DelayedAck;
    cork_timer: nothing "nothing that the capture shows",
        kernels_timer "new data, when a timer of the kernel fires" => Cork;
    missing_bytes: missing_bytes "bytes that the capture lacks", anything "new data" => Unknown;
    unseen_acks: acks_unseen "ACKs that the capture does not show", anything "new data" => Unknown;
    two_clocks: disorder "ACKs that two clocks stamped", anything "new data" => Unknown;
    late_or_clock: nothing "nothing that the capture shows",
        left_before "a segment that had left before, by its sender's clock" => Unknown;
    no_leave: leave "leave to send the rest of a request", new_data "the rest without it" => SenderApp;
    server_or_way: unmeasured "an answer, over a way that was not measured",
        new_data "it" => SenderApp;
    no_data_ready: nothing "nothing that the capture shows", new_data "new data" => SenderApp;
    no_ack: anything "an ACK of what was in flight", anything "new data, or a prompt ACK" => Unknown;
}

/// Knowledge about a direction, besides the wait itself.
struct Known<'a> {
    direction: &'a Direction,
    patterns: &'a Patterns,
    held: Held,
}

// Questions about the debt when the wait began.
#[expect(clippy::unused_self, reason = "all cells of the table are asked alike")]
impl Known<'_> {
    fn anything(&self, _: &Wait) -> bool {
        true
    }

    fn connection(&self, wait: &Wait) -> bool {
        wait.is_connecting()
    }

    /// Behind data of the sender, room in a window was waited for in vain.
    fn request(&self, wait: &Wait) -> bool {
        self.in_vain(wait) && wait.is(fact::IN_EXCHANGE)
    }

    fn probes(&self, wait: &Wait) -> bool {
        self.in_vain(wait) && wait.is(fact::PROBED)
    }

    fn closing(&self, wait: &Wait) -> bool {
        self.in_vain(wait) && wait.is(fact::CLOSING)
    }

    fn opening(&self, wait: &Wait) -> bool {
        self.in_vain(wait) && wait.is(fact::OPENING)
    }

    fn first_word(&self, wait: &Wait) -> bool {
        self.in_vain(wait) && wait.unacked_len == 0
    }

    fn bytes_in_vain(&self, wait: &Wait) -> bool {
        self.in_vain(wait)
    }

    fn in_vain(&self, wait: &Wait) -> bool {
        wait.ending().is_some() && !wait.is(fact::OWN_DATA_BEFORE)
    }

    /// Had its sender more to send, with nothing unacknowledged?
    fn message(&self, wait: &Wait) -> bool {
        wait.ending().is_some() && wait.is(fact::OWN_DATA_BEFORE) && !self.room(wait)
    }

    /// Were bytes unacknowledged, or not known to be?
    fn bytes(&self, wait: &Wait) -> bool {
        !self.direction.doubts.hide(hides::ORDER)
            && !wait.has_any(fact::ZERO_WINDOW | fact::NEEDLESS)
    }

    /// Had bytes been sent again, so that the other end could not go on either?
    fn bytes_sent_again(&self, wait: &Wait) -> bool {
        self.bytes(wait) && wait.is(fact::RECOVERY)
    }

    fn room_again(&self, wait: &Wait) -> bool {
        wait.is(fact::REOPENED) && wait.ending().is_none()
    }

    fn leave(&self, wait: &Wait) -> bool {
        wait.is(fact::AWAITS_LEAVE)
    }

    /// May most of the wait for an answer be the way, as far as anything bounds that?
    fn unmeasured(&self, wait: &Wait) -> bool {
        let path = &self.direction.path;
        wait.is_reply() && !path.is_measured() && 2e6 * path.bound_ms() > wait.wait_ns() as f64
    }

    fn room(&self, wait: &Wait) -> bool {
        wait.has_any(fact::ZERO_WINDOW | fact::WINDOW_FULL)
    }

    /// Is the next segment one that Nagle's algorithm probably held?
    fn small_segment(&self, _: &Wait) -> bool {
        f64::from(self.held.probability) >= POSSIBLE
    }

    /// Does this sender wait for the ACK of each segment, always?
    fn only_segment(&self, wait: &Wait) -> bool {
        self.patterns.one_at_a_time && self.flight(wait)
    }

    fn rest(&self, _: &Wait) -> bool {
        self.held.proof == Proof::Corked
    }

    fn flight(&self, wait: &Wait) -> bool {
        wait.is(fact::OWN_DATA_BEFORE)
    }

    fn nothing(&self, wait: &Wait) -> bool {
        wait.end != End::Ack
    }

    fn missing_bytes(&self, wait: &Wait) -> bool {
        self.nothing(wait) && wait.is(fact::UNSEEN) && !wait.is(fact::LOST_BEFORE)
    }

    fn acks_unseen(&self, wait: &Wait) -> bool {
        self.nothing(wait) && self.direction.doubts.hide(hides::ACKS)
    }

    fn disorder(&self, wait: &Wait) -> bool {
        self.nothing(wait) && self.direction.doubts.hide(hides::ORDER)
    }
}

// Questions about the end of the wait.
#[expect(clippy::unused_self, reason = "all cells of the table are asked alike")]
impl Known<'_> {
    fn same_bytes(&self, wait: &Wait) -> bool {
        wait.is(fact::RETRANSMITTED)
    }

    fn same_bytes_once_more(&self, wait: &Wait) -> bool {
        self.same_bytes(wait) && wait.is(fact::RECOVERY)
    }

    /// After a time for which Linux' shortest retransmission timer runs.
    fn same_bytes_late(&self, wait: &Wait) -> bool {
        self.same_bytes(wait) && wait.span_ns() >= PROBE_NS
    }

    /// Did what was sent again keep the sender from going on, or from answering?
    fn what_waited_for_them(&self, wait: &Wait) -> bool {
        let waits_for_ack = || {
            wait.is(fact::IN_FLIGHT) || (wait.has_ack() && self.direction.path.follows_ack(wait))
        };
        !wait.is(fact::OWN_DATA_BEFORE) || waits_for_ack()
    }

    /// New data so long after bytes that had to be sent again is a tail-loss probe. Sooner it comes
    /// when the program writes it, and with nothing owed at any time.
    fn probe(&self, wait: &Wait) -> bool {
        wait.is(fact::LOST_BEFORE)
            && wait.has_any(fact::IN_FLIGHT | fact::UNSEEN)
            && wait.span_ns() >= PROBE_NS
    }

    /// A relay forwards what has come. In a stream with a large flight the next segment was already there.
    fn other_connection(&self, wait: &Wait) -> bool {
        wait.is(fact::PASSED_ON) && !self.is_stream(wait)
    }

    fn late_ack(&self, wait: &Wait) -> bool {
        self.direction.acks.is_delayed(wait)
    }

    fn data_ack(&self, wait: &Wait) -> bool {
        wait.is(fact::DATA_ACK)
    }

    /// Did the segment leave in time, and arrive late?
    fn late_arrival(&self, wait: &Wait) -> bool {
        // Before a program pauses it mostly sends the rest of a write, a small segment.
        let streams = !wait.is(fact::UNACKED_SMALL) && !self.small_segment(wait);
        let link = &self.patterns.link;
        link.is_shown && (link.parts(wait) || (streams && link.delays(wait)))
    }

    /// Was it on its way, or was the capture's clock set? Whichever it was, its sender did not pause.
    fn left_before(&self, wait: &Wait) -> bool {
        self.patterns.link.parts(wait)
    }

    /// Did the ACK, as it reached the sender, let it go on?
    fn its_ack(&self, wait: &Wait) -> bool {
        let path = &self.direction.path;
        wait.has_ack() && (path.follows_ack(wait) || stop_and_wait::is_block(wait, path))
    }

    /// An initial window was in flight, or full-sized segments, for which no other algorithm waits.
    fn ack_of_flight(&self, wait: &Wait) -> bool {
        let full_sized = !wait.is(fact::UNACKED_SMALL);
        let by_window = || wait.is(fact::ADVANCING_ACK) || !self.late_ack_of_full_one(wait);
        let freed = wait.has_ack()
            && (wait.is(fact::LARGE_FLIGHT) || (full_sized && by_window()))
            && self.direction.path.follows_ack(wait);
        let left_earlier = self.is_stream(wait)
            && (wait.is(fact::ECHOES_EARLIER) || wait.is(fact::IN_FLIGHT | fact::CUT));
        freed || left_earlier || self.is_outrun(wait)
    }

    /// A full-sized segment behind a large flight.
    fn is_stream(&self, wait: &Wait) -> bool {
        wait.is(fact::OWN_DATA_BEFORE | fact::LARGE_FLIGHT) && !wait.is(fact::SMALL)
    }

    /// Far from the sender, the ACK that made room may pass before the last data of the window before.
    /// Then full-sized data goes on sooner than any ACK of that last data can have arrived.
    fn is_outrun(&self, wait: &Wait) -> bool {
        let path = &self.direction.path;
        let since_ns = if wait.has_ack() { wait.release_ns() } else { wait.span_ns() };
        self.is_stream(wait)
            && !wait.is(fact::UNACKED_SMALL)
            && !self.direction.doubts.hide(hides::ACKS)
            && path.is_measured()
            && (since_ns as f64) < 1e6 * (path.rtt_or_zero_ms() - path.early_ms())
    }

    fn late_ack_alone(&self, wait: &Wait) -> bool {
        wait.end == End::Ack && self.late_ack(wait)
    }

    /// Did a late ACK let full-sized data go?
    fn late_ack_of_full_one(&self, wait: &Wait) -> bool {
        wait.has_pure_ack()
            && !wait.is(fact::SMALL)
            && self.direction.path.follows_ack(wait)
            && self.late_ack(wait)
    }

    fn kernels_timer(&self, wait: &Wait) -> bool {
        self.patterns.corks.is_repeated && self.patterns.corks.looks_corked(wait)
    }

    /// Did new data come with nothing in flight, by an ACK or by what it answers, or in spite of it?
    fn new_data(&self, wait: &Wait) -> bool {
        let is_free = wait.has_ack() || wait.is(fact::UNACKED_AT_SEND);
        !wait.is(fact::OWN_DATA_BEFORE) || (is_free && !self.comes_apart(wait))
    }

    /// Do full-sized segments come apart across a network? A slow link looks like that, and a
    /// program mostly pauses behind the rest of a write, a small segment.
    fn comes_apart(&self, wait: &Wait) -> bool {
        self.direction.path.usual_ms().unwrap_or(0.0) * 1e6 >= NETWORK_RTT_NS as f64
            && !wait.has_any(fact::UNACKED_SMALL | fact::SMALL)
    }
}
