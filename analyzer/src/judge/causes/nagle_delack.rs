//! # What happens
//! The sender wrote a small piece while an earlier one was unacknowledged; Nagle's algorithm held
//! it back. The receiver had nothing to answer yet and kept its ACK back for its delayed-ACK
//! timer. Both sides were idle until the timer fired.
//!
//! # How it is recognised
//! A pure ACK, which no application can see, comes later than the round trip explains, and the
//! small segment leaves as soon as that ACK has reached the sender: one round trip (between the
//! capture point and the sender) after it passed the capture point, within the path's jitter. Over
//! the whole connection these releases peak there. Nothing else stood in the way: no closed or
//! full window, no retransmission, no FIN, no small segment sent unacknowledged near by. Nor does the
//! segment acknowledge data of the other side that came with the ACK or after it: it may be the answer.
//!
//! # What it is not
//! An application that pauses and happens to write when the ACK arrives: its writes do not peak at
//! the round trip. A retransmission timeout of 200 ms: the same bytes appear again (but see
//! `retransmission` for receivers that delay their ACKs for longer than that). A stop-and-wait
//! sender: its full-sized segments wait as well.
//!
//! # What to do
//! Send the message in one write (one buffer, `writev`, `MSG_MORE`); or set `TCP_NODELAY` on the
//! sender's socket; as a last resort let the receiver acknowledge at once (`TCP_QUICKACK`).
//!
//! # References
//! RFC 896; RFC 1122, sections 4.2.3.2 and 4.2.3.4; RFC 9293, section 3.7.4; Linux
//! `tcp_nagle_check`, `tcp_send_delayed_ack`.

use super::Direction;
use crate::judge::thresholds::DELAY_JITTERS;
use crate::track::SHORTEST_DELAYED_ACK_NS;
use crate::track::wait::Wait;

pub(super) fn recognises(wait: &Wait, direction: &Direction) -> bool {
    direction.holds(wait) && is_delayed(wait, direction)
}

/// Did the receiver delay its ACK, beyond what the jitter of the path explains?
pub(super) fn is_delayed(wait: &Wait, direction: &Direction) -> bool {
    let blur_ns = DELAY_JITTERS * direction.receiver_jitter_ns + direction.releases.clock_ns;
    direction.ack_delay_ns(wait) >= SHORTEST_DELAYED_ACK_NS + blur_ns
}
