//! # What happens
//! A segment or its ACK was lost, and the sender waited for its retransmission timer or for
//! duplicate ACKs before it sent the bytes again.
//!
//! # How it is recognised
//! The segment after the wait repeats bytes sent before, or something was repeated during it; or
//! bytes were missing before it that were sent again later; or new data follows unacknowledged data
//! after 200 ms or more, as a tail-loss probe does.
//!
//! # What it is not
//! A 200 ms delayed ACK: Linux' shortest retransmission timeout is 200 ms too, but there the same
//! bytes come again. A copy of a frame by a mirror port follows within microseconds. A receiver that
//! delays its ACK for longer than the sender's timer (lwIP: up to 250 ms) draws the same bytes again
//! though nothing was lost: if a small segment then leaves with the ACK, and this recurs, or both
//! copies are seen to arrive, it is `nagle_delack`.
//!
//! # What to do
//! Look for the loss: interface errors, full queues, policers. `TCP_NODELAY` does not help.
//!
//! # References
//! RFC 6298; RFC 8985 (tail-loss probe); Linux `TCP_RTO_MIN`.

use super::Direction;
use crate::track::thresholds::PROBE_NS;
use crate::track::wait::{Wait, fact};

pub(super) fn recognises(wait: &Wait, direction: &Direction) -> bool {
    let repeated = wait.has_any(fact::RETRANSMITTED | fact::RECOVERY | fact::LOST_BEFORE);
    (repeated || is_probe(wait, direction)) && !wait.is(fact::ZERO_WINDOW)
}

/// New data so long after unacknowledged data is a tail-loss probe: the data or its ACK was lost.
fn is_probe(wait: &Wait, direction: &Direction) -> bool {
    let freed = wait.has_ack() && direction.releases.follows_ack(wait);
    let unacked = wait.is(fact::OWN_DATA_BEFORE | fact::UNACKED_AT_SEND) && direction.receiver_seen;
    unacked && !freed && wait.wait_ns() >= PROBE_NS
}
