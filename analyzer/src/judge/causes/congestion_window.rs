//! # What happens
//! The sender had as much in flight as its congestion window allows, and waited for an ACK before
//! it sent more. Connections begin with ten segments, and return to few after a loss or a pause.
//!
//! # How it is recognised
//! The next segment left as soon as an ACK reached the sender, one round trip (between the capture
//! point and the sender) after it passed; and either an initial window of ten packets was in flight,
//! or full-sized segments, for which no other algorithm waits: old stacks begin with one or two. Seen
//! from afar that ACK may have passed before the last data: then full-sized data goes on, with an
//! initial window in flight, before any ACK of that last data can have come.
//!
//! # What it is not
//! A hold by Nagle's algorithm, which stops a sender before a small segment only, and time and
//! again at the end of its messages.
//!
//! # What to do
//! Keep connections open so that the window can grow; on Linux consider
//! `net.ipv4.tcp_slow_start_after_idle=0`; send less per message.
//!
//! # References
//! RFC 5681, sections 3.1 and 4.1; RFC 6928.

use super::{DirectionFacts, delayed_ack};
use crate::track::wait::{Wait, fact};

pub(super) fn recognises(wait: &Wait, direction: &DirectionFacts) -> bool {
    let full_sized = !wait.is(fact::UNACKED_SMALL);
    let by_window = || wait.is(fact::ADVANCING_ACK) || !delayed_ack::is_released(wait, direction);
    let freed = wait.has_ack()
        && (wait.is(fact::LARGE_FLIGHT) || (full_sized && by_window()))
        && direction.path.follows_ack(wait);
    wait.is(fact::OWN_DATA_BEFORE) && (freed || is_outrun(wait, direction))
}

/// Far from the sender, the ACK that made room may pass before the last data of the window before.
/// Then full-sized data goes on sooner than any ACK of that last data can have arrived.
fn is_outrun(wait: &Wait, direction: &DirectionFacts) -> bool {
    let path = &direction.path;
    let since_ns = if wait.has_ack() { wait.release_ns() } else { wait.span_ns() };
    let stream = wait.is(fact::LARGE_FLIGHT) && !wait.has_any(fact::SMALL | fact::UNACKED_SMALL);
    stream
        && direction.receiver_seen
        && path.is_measured()
        && (since_ns as f64) < 1e6 * (path.rtt_or_zero_ms() - path.early_ms())
}
