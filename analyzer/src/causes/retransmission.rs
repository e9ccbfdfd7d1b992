//! # What happens
//! A segment or its ACK was lost, and the sender waited for its retransmission timer or for
//! duplicate ACKs before it sent the bytes again.
//!
//! # How it is recognised
//! The segment after the wait repeats bytes sent before, or something was repeated during it.
//!
//! # What it is not
//! A 200 ms delayed ACK: Linux' shortest retransmission timeout is 200 ms too, but there the same
//! bytes come again. A copy of a frame by a mirror port follows within microseconds.
//!
//! # What to do
//! Look for the loss: interface errors, full queues, policers. `TCP_NODELAY` does not help.
//!
//! # References
//! RFC 6298; RFC 8985; Linux `TCP_RTO_MIN`.

use super::Direction;
use crate::wait::{Wait, fact};

pub(super) fn recognises(wait: &Wait, _: &Direction) -> bool {
    wait.has_any(fact::RETRANSMITTED | fact::RECOVERY) && !wait.is(fact::ZERO_WINDOW)
}
