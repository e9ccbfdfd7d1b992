//! # What happens
//! The receiver delayed an ACK. Either nobody waited for it, which is harmless, or the sender did,
//! but not because of Nagle's algorithm: a full-sized segment followed, or the sender never has
//! more than one segment in flight.
//!
//! # How it is recognised
//! A pure ACK later than the round trip explains, by up to 500 ms, followed by nothing; or followed
//! at once by a segment that Nagle's algorithm would not have held.
//!
//! All ACKs without data that come late by 10 ms or more are counted besides, whatever the wait around
//! them is called: the report says how many of each side's ACKs do, by how much, and since which frame.
//!
//! # What it is not
//! A stall of the message: that needs a small segment held until the ACK. A loss: there the same
//! bytes come again. A long way: an ACK later than half a second is a round trip.
//!
//! # What to do
//! Nothing, if no data follows. Else enlarge the sender's window or its number of segments in
//! flight.
//!
//! # References
//! RFC 1122, section 4.2.3.2; RFC 9293, section 3.8.6.3.
