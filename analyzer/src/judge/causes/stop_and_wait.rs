//! # What happens
//! The sender never has more than one segment in flight: it waits for the ACK of each one before it sends
//! the next, full-sized or not. So each segment costs a round trip, and the receiver's timer if the ACK is
//! delayed.
//!
//! # How it is recognised
//! Throughout the connection nothing new was sent while something was unacknowledged, and several
//! full-sized segments left as soon as the ACK had reached the sender.
//!
//! # What it is not
//! A hold by Nagle's algorithm: that lets a full-sized segment go. A full congestion window holds at least
//! ten segments at first, and two after any loss but a timeout.
//!
//! # What to do
//! Give the sender room for several segments: a larger send buffer (lwIP: `TCP_SND_BUF`,
//! `TCP_SND_QUEUELEN`), or a stack that has more than one (uIP has not). `TCP_NODELAY` does not help. A
//! receiver that acknowledges at once does.
//!
//! # References
//! RFC 1122, section 4.2.3.2; lwIP `TCP_SND_BUF`; uIP's reference manual, on delayed ACKs.

use super::Direction;
use crate::track::wait::{Wait, fact};

pub(super) fn recognises(wait: &Wait, direction: &Direction) -> bool {
    direction.one_at_a_time
        && wait.is(fact::OWN_DATA_BEFORE)
        && wait.has_ack()
        && direction.releases.follows_ack(wait)
}
