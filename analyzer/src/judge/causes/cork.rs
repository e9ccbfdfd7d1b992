//! # What happens
//! The program asked its kernel to wait for more data (`TCP_CORK`, `MSG_MORE`) and then wrote no more, nor
//! took it back. The kernel sent the small segment when its timer ran out.
//!
//! # How it is recognised
//! Time and again a small segment leaves 200 ms and a round trip after the last data, at most a few
//! ticks of the kernel's clock later, and no ACK released it: Linux sends what a cork holds when
//! nothing is in flight and its probe timer runs out, which is as long as the retransmission timer.
//!
//! # What it is not
//! A hold by Nagle's algorithm, which ends with an ACK. A program that sleeps for 200 ms: it does not
//! wait a round trip longer than that. One with a timer of that very length looks the same; what happens
//! fewer than three times is left to the program.
//!
//! # What to do
//! Clear `TCP_CORK` after the last piece of each message, or leave out `MSG_MORE` with it.
//!
//! # References
//! tcp(7), send(2); Linux `tcp_check_probe_timer`, `TCP_RTO_MIN`.

use super::Direction;
use crate::track::wait::Wait;

pub(super) fn recognises(wait: &Wait, direction: &Direction) -> bool {
    direction.corks.is_repeated && direction.corks.looks_corked(wait) && !direction.holds(wait)
}
