//! # What happens
//! The program had nothing to send: it computed, queued the request, waited for something else
//! (a database, a lock, a user), or slept.
//!
//! # How it is recognised
//! Data follows after a pause although the network let it go: nothing of the sender was
//! unacknowledged, or the data came at another time than the ACK that would have released it: that it was held
//! is improbable. Both take the frames of the other side. And it did not come, across a network, between
//! full-sized segments of a stream.
//!
//! # What it is not
//! A hold by Nagle's algorithm, even where the pause is 40 or 200 ms long.
//!
//! # What to do
//! Look into the program on that side: its queues, its load, what it calls. No socket option
//! helps.
//!
//! # References
//! RFC 9293, section 3.8.

use super::DirectionFacts;
use crate::track::NETWORK_RTT_NS;
use crate::track::wait::{Wait, fact};

pub(super) fn recognises(wait: &Wait, direction: &DirectionFacts) -> bool {
    let answered = !wait.is(fact::OWN_DATA_BEFORE);
    let not_held = answered || wait.has_ack() || wait.is(fact::UNACKED_AT_SEND);
    let unseen = wait.is(fact::UNSEEN) && !wait.is(fact::LOST_BEFORE);
    // A slow link takes as long, too; before a pause comes the rest of a write, mostly a small segment.
    let streams = direction.path.rtt_or_zero_ms() * 1e6 >= NETWORK_RTT_NS as f64
        && !answered
        && !wait.has_any(fact::UNACKED_SMALL | fact::SMALL);
    not_held
        && !streams
        && !direction.may_be_held
        && direction.receiver_seen
        && !direction.disordered
        && !unseen
}
