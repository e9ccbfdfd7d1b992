//! # What happens
//! The sender had as much in flight as its congestion window allows, and waited for an ACK before
//! it sent more. Connections begin with ten segments, and return to few after a loss or a pause.
//!
//! # How it is recognised
//! The next segment left as soon as an ACK reached the sender, one round trip (between the capture
//! point and the sender) after it passed; and either an initial window of ten packets was in
//! flight, or full-sized segments, for which no other algorithm waits: old stacks begin with one or
//! two. Seen from afar that ACK may have passed before the last data: then full-sized data goes on,
//! with an initial window in flight, before any ACK of that last data can have come; or a large
//! flight goes on while it is unacknowledged, or with the timestamp of an earlier ACK.
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
