//! Connections: which segment belongs to which, and what is known of each direction.

#[cfg(test)]
pub mod allocations;
mod by_block;
pub mod clock;
mod clock_step;
mod connection;
mod connections;
mod ends;
mod exchange;
mod half;
mod mark;
mod prefetch;
pub mod reader;
mod share;
#[cfg(test)]
pub mod story;
mod table;
pub mod tracker;
pub mod wait;
mod waits;

pub use by_block::ByBlock;
pub use connection::{Connection, Sinks};
pub use connections::Connections;
pub use ends::{Endpoint, Ends, Side};
pub use exchange::Exchange;
pub use exchange::exchanged::{Exchanged, ServerLatency, Suspect};
pub use exchange::latency::Latency;
pub use half::pauses::{Pause, Pauses};
pub use half::repeated::Repeats;
pub use half::{Half, NEAR, tolerance_ns};
pub use mark::Mark;
pub use reader::capture_summary::CaptureSummary;
pub use share::{BLOCK_LEN, Share, deal};
pub use table::Table;
pub use table::key::{KeyV4, KeyV6, Lookup};

/// From this round trip on there is a network between the capture point and a host.
pub const NETWORK_RTT_NS: i64 = 1_000_000;
/// No delayed ACK comes sooner: quick ACKs take 0.03-0.13 ms on Linux 6.18, and the shortest
/// delayed-ACK timer a user can set there (`TCP_DELACK_MAX_US` = 10 ms) fires after 13.9 ms.
/// Nothing was measured in between.
pub const SHORTEST_DELAYED_ACK_NS: i64 = 10_000_000;
/// RFC 9293, section 3.7.1: the MSS where the peer announced none (IPv4).
pub const DEFAULT_MSS: u32 = 536;
