//! # What happens
//! The sender wrote a small piece while an earlier one was unacknowledged; Nagle's algorithm held
//! it back until the ACK came. The receiver acknowledged at once, so the price is one round trip:
//! nothing on a local network, 26 or 100 ms across a country, on every message.
//!
//! # How it is recognised
//! The signs of `nagle_delack`, but the ACK came as soon as the round trip to the receiver allows.
//!
//! # What it is not
//! A delayed ACK: quick ACK settings at the receiver do not help here. A full congestion window:
//! there the flight before the wait is large.
//!
//! # What to do
//! Send the message in one write, or set `TCP_NODELAY` on the sender's socket.
//!
//! # References
//! RFC 896; RFC 1122, section 4.2.3.4; Linux `tcp_nagle_check`.
