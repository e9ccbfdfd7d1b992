//! # What happens
//! The receiver's buffer was full: its application did not read, or the buffer is smaller than a
//! segment. The sender had to wait for room.
//!
//! # How it is recognised
//! The receiver announced a window of zero during the wait, or the window it had announced left no room
//! for the segment that follows. Or that segment, smaller than the MSS, just fills the window: a sender
//! does not send so little before it has waited for more room (200 ms on Linux, 5 s on Windows).
//!
//! # What it is not
//! A hold by Nagle's algorithm: that happens with the window wide open.
//!
//! # What to do
//! Make the receiving application read faster, or enlarge its receive buffer (`SO_RCVBUF`,
//! `net.ipv4.tcp_rmem`).
//!
//! # References
//! RFC 9293, sections 3.8.6.1 and 3.8.6.2; RFC 1122, section 4.2.3.4 (silly windows).
