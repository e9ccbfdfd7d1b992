//! Packets as tcpdump, tshark, Wireshark and others print them.
//!
//! [`lines`] puts the lines of a packet together, [`forms`] reads them, [`ahead`] sorts them and
//! places [`messages`], [`numbers`] tells which sequence numbers were sent, and all of it is a
//! [`text`]. What was not printed is not there, and what was inferred is marked.

mod ahead;
mod copies;
mod fields;
mod forms;
mod fortigate;
mod lines;
mod messages;
mod numbers;
pub mod packet;
mod record;
mod refusal;
mod rows;
mod runs;
mod tcpdump;
pub mod text;
mod tokens;

#[cfg(test)]
mod tests;
