//! Connections: which segment belongs to which, and what is known of each direction.

#[cfg(test)]
pub mod allocations;
pub mod arrivals;
pub mod band;
pub mod by_block;
pub mod clock;
pub mod connection;
pub mod connections;
mod early;
pub mod ending;
pub mod ends;
pub mod exchange;
pub mod follower;
pub mod half;
mod mark;
pub mod numbers;
mod prefetch;
pub mod reactions;
pub mod reader;
#[cfg(test)]
pub mod story;
pub mod table;
pub mod thresholds;
pub mod tracked;
pub mod tracker;
pub mod wait;
mod waits;

pub use connection::Connection;
pub use ends::{Endpoint, Side};
pub use exchange::Exchange;
pub use mark::Mark;

/// RFC 9293, section 3.7.1: the MSS where the peer announced none (IPv4).
pub const DEFAULT_MSS: u32 = 536;
