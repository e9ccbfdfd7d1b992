//! # What happens
//! The program is a relay or a broker: a proxy, a gateway, a sidecar, a message bus. It sent this as soon as
//! it arrived on another of its connections. The time was lost there, or further upstream, or nothing was
//! to be sent before.
//!
//! # How it is recognised
//! Data for the same host arrived on another connection 15 us to 5 ms before, after a wait of its own,
//! in the same direction: the relay is the client of one connection and the server of the other. It does
//! so again and again, always from the same connection or the same server, and hardly ever the other way
//! round; or the bytes are the same. A relay that has two addresses is known by equal bytes alone. Where nothing
//! looks like a hold, this is asked of the first data of replies only.
//!
//! Or the relay held the rest of its own request on the other connection for more than half of this wait, and
//! replied within 5 ms of sending it, as consistently.
//!
//! Or it came from another client of the same server: after the ACK, or as long before as this server takes
//! to pass something on, again and again, more often than chance, and more closely than the ACK came.
//!
//! # What it is not
//! A hold by Nagle's algorithm, though an ACK may come just before: where both connections end on one
//! host, both delayed-ACK timers fire in the same tick of its clock, and over any network a subscriber's ACK
//! takes as long as the next message of a publisher beside it. A kernel releases what it holds within
//! some 50 us; a program must wake up, read and write. Where the other connection is not in the capture,
//! the two cannot be told apart for certain.
//!
//! # What to do
//! Nothing here: look at the connection from which it was passed on.
//!
//! # References
//! RFC 1122, section 4.2.3.2; Linux `tcp_send_delayed_ack`, which starts a timer in jiffies.
