//! # What happens
//! The receiver delayed an ACK. Either nobody waited for it, which is harmless, or the sender did,
//! but not because of Nagle's algorithm: a full-sized segment followed, or the sender never has
//! more than one segment in flight.
//!
//! # How it is recognised
//! A pure ACK later than the round trip explains, followed by nothing; or followed at once by a
//! segment that Nagle's algorithm would not have held. Or so late that the sender's timer ran out: then
//! the same bytes are seen to arrive twice, captured at the receiver, with no ACK between them.
//!
//! All ACKs without data that come late by 10 ms or more are counted besides, whatever the wait around
//! them is called: the report says how many of each side's ACKs do, by how much, and since which frame.
//!
//! # What it is not
//! A stall of the message: that needs a small segment held until the ACK.
//!
//! # What to do
//! Nothing, if no data follows. Else enlarge the sender's window or its number of segments in
//! flight.
//!
//! # References
//! RFC 1122, section 4.2.3.2; RFC 9293, section 3.8.6.3.

use super::DirectionFacts;
use crate::judge::capture::spurious;
use crate::track::wait::{Wait, fact};

pub(super) fn recognises(wait: &Wait, direction: &DirectionFacts) -> bool {
    wait.is(fact::ACK_ONLY)
        || is_released(wait, direction)
        || spurious::is_second_copy(wait, direction.at_receiver)
}

/// Did a late ACK let full-sized data go?
pub(super) fn is_released(wait: &Wait, direction: &DirectionFacts) -> bool {
    wait.has_ack()
        && wait.is(fact::OWN_DATA_BEFORE | fact::PURE_ACK)
        && !wait.is(fact::SMALL)
        && direction.path.follows_ack(wait)
        && direction.acks.is_delayed(wait)
}
