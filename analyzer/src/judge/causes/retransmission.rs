//! # What happens
//! A segment or its ACK was lost, and the sender waited for its retransmission timer or for
//! duplicate ACKs before it sent the bytes again.
//!
//! # How it is recognised
//! The segment after the wait repeats bytes sent before. Or new data leaves while what was sent again is
//! unacknowledged, or as soon as its ACK comes; or an answer, most of whose wait passed before the other end
//! had sent again what it answers. Or new data follows bytes that are unacknowledged
//! or missing after 200 ms or more, as a tail-loss probe does, and those are then sent again.
//!
//! # What it is not
//! A pause after everything was acknowledged, whatever was sent again before: nothing was lost then. A 200 ms
//! delayed ACK: Linux' shortest retransmission timeout is 200 ms too, but there the same
//! bytes come again. A copy of a frame by a mirror port follows within microseconds. A needless
//! retransmission: where the receiver reports that it had the bytes (D-SACK) nothing was lost, and nobody
//! waited for the second copy. A receiver that delays its ACK for longer than the sender's timer
//! (lwIP: up to 250 ms) draws the same bytes again though nothing was lost: if a small segment then
//! leaves with the ACK, and this recurs, or both copies are seen to arrive, it is `nagle_delack`.
//!
//! # What to do
//! Look for the loss: interface errors, full queues, policers. `TCP_NODELAY` does not help.
//!
//! # References
//! RFC 6298; RFC 8985 (tail-loss probe); RFC 2883 (D-SACK); Linux `TCP_RTO_MIN`.
