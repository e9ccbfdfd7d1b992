//! # What happens
//! A segment or its ACK was lost, and the sender waited for its retransmission timer or for
//! duplicate ACKs before it sent the bytes again.
//!
//! # How it is recognised
//! The segment after the wait repeats bytes sent before. Or new data leaves while what was sent again is
//! unacknowledged, or as soon as its ACK comes; or an answer, most of whose wait passed before the other end
//! had sent again what it answers. Or new data follows after 200 ms or more, as a tail-loss probe does, and
//! bytes before it are then sent again.
//!
//! # What it is not
//! A pause after everything was acknowledged, whatever was sent again before: nothing was lost then. A 200 ms
//! delayed ACK: Linux' shortest retransmission timeout is 200 ms too, but there the same
//! bytes come again. A copy of a frame by a mirror port follows within microseconds. A needless
//! retransmission: where the receiver reports that it had the bytes (D-SACK) nothing was lost, and nobody
//! waited for the second copy; where both are seen to arrive the ACK was late: `delayed_ack`. A receiver that
//! delays its ACK for longer than the sender's timer (lwIP: up to 250 ms) draws the same bytes again
//! though nothing was lost: if a small segment then leaves with the ACK, and this recurs, or both
//! copies are seen to arrive, it is `nagle_delack`.
//!
//! # What to do
//! Look for the loss: interface errors, full queues, policers. `TCP_NODELAY` does not help.
//!
//! # References
//! RFC 6298; RFC 8985 (tail-loss probe); RFC 2883 (D-SACK); Linux `TCP_RTO_MIN`.

use super::DirectionFacts;
use crate::judge::capture::spurious;
use crate::track::thresholds::PROBE_NS;
use crate::track::wait::{Wait, fact};

pub(super) fn recognises(wait: &Wait, direction: &DirectionFacts) -> bool {
    let repeated = wait.is(fact::RETRANSMITTED) || is_recovery(wait, direction);
    (repeated || is_probe(wait)) && may_be_loss(wait, direction)
}

/// Did what was sent again keep the sender from going on, or from answering?
fn is_recovery(wait: &Wait, direction: &DirectionFacts) -> bool {
    let waits_for_ack =
        || wait.is(fact::IN_FLIGHT) || (wait.has_ack() && direction.path.follows_ack(wait));
    wait.is(fact::RECOVERY) && (!wait.is(fact::OWN_DATA_BEFORE) || waits_for_ack())
}

fn may_be_loss(wait: &Wait, direction: &DirectionFacts) -> bool {
    !direction.disordered
        && !wait.has_any(fact::ZERO_WINDOW | fact::NEEDLESS)
        && !spurious::is_second_copy(wait, direction.at_receiver)
}

/// New data so long after data that had to be sent again is a tail-loss probe. What comes sooner is
/// what the program wrote when it wrote it.
fn is_probe(wait: &Wait) -> bool {
    wait.is(fact::LOST_BEFORE) && wait.span_ns() >= PROBE_NS
}
