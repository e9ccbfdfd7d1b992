//! # What happens
//! The program had nothing to send: it computed, queued the request, waited for something else
//! (a database, a lock, a user), or slept.
//!
//! # How it is recognised
//! A server that speaks first does so after the connection came about. Data follows after a pause
//! although the network let it go: nothing of the sender was unacknowledged, or the data came at
//! another time than the ACK that would have released it, so a hold is improbable. Both need the other
//! side's frames. And it did not come, across a network, between full-sized segments of a stream.
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
