//! # What happens
//! The receiver's buffer was full: its application did not read, or the buffer is smaller than a
//! segment. The sender had to wait for room.
//!
//! # How it is recognised
//! The receiver announced a window of zero during the wait, or the window it had announced left no
//! room for the segment that follows.
//!
//! # What it is not
//! A hold by Nagle's algorithm: that happens with the window wide open.
//!
//! # What to do
//! Make the receiving application read faster, or enlarge its receive buffer (`SO_RCVBUF`,
//! `net.ipv4.tcp_rmem`).
//!
//! # References
//! RFC 9293, sections 3.8.6.1 and 3.8.6.2.

use super::DirectionFacts;
use crate::track::wait::{Wait, fact};

pub(super) fn recognises(wait: &Wait, _: &DirectionFacts) -> bool {
    wait.has_any(fact::ZERO_WINDOW | fact::WINDOW_FULL)
}
