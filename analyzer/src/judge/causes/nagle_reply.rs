//! # What happens
//! The sender wrote a small piece while an earlier one was unacknowledged; Nagle's algorithm held
//! it back until data of the other side acknowledged that one: the reply to it, the next tick of a
//! game, a pushed message. What was meant to be pipelined is sent one after the other, and the
//! second message waits for as long as the other side takes for the first.
//!
//! # How it is recognised
//! At the sender's own host. Data of the other side acknowledges everything outstanding, the last
//! of it small, and the next small segment leaves within microseconds, as only the kernel sends:
//! from within the processing of that ACK, before the program wakes up. How soon this program
//! reacts to data is seen where nothing of its own was outstanding. That Nagle's algorithm is on,
//! the holds until pure ACKs show, and such segments themselves do not.
//!
//! # What it is not
//! An answer: where each side waits for the other one's data, or the program reacts as quickly as
//! the kernel elsewhere, nothing above `possible` is said. A delayed ACK: no timer fired, and
//! nothing that the receiver could change helps.
//!
//! # What to do
//! Set `TCP_NODELAY` on the sender's socket; or send what belongs together in one write. How long
//! the segment was held is known less well than elsewhere: for no longer than since the piece
//! before it, and for less where the program wrote it later.
//!
//! # References
//! RFC 896; RFC 9293, section 3.7.4; Linux `tcp_nagle_check`, `tcp_data_snd_check`.
