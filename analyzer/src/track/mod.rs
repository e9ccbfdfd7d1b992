//! Connections: which segment belongs to which, and what is known of each direction.

#[cfg(test)]
pub mod allocations;
mod arrivals;
pub mod band;
mod by_block;
pub mod clock;
mod clock_jumps;
mod clock_step;
mod connection;
mod connections;
mod ending;
mod ends;
mod exchange;
mod follower;
mod half;
mod mark;
mod numbers;
mod prefetch;
mod reactions;
pub mod reader;
#[cfg(test)]
pub mod story;
mod table;
pub mod thresholds;
pub mod tracked;
pub mod tracker;
pub mod wait;
mod waits;

pub use arrivals::{Arrival, Arrivals};
pub use by_block::{BLOCK_LEN, ByBlock};
pub use clock_jumps::ClockJumps;
pub use connection::{Connection, Copies, Lengths, Recorder};
pub use connections::Connections;
pub use ending::Ending;
pub use ends::{Endpoint, Ends, Side};
pub use exchange::Exchange;
pub use exchange::exchanged::{Exchanged, ServerLatency, Stale, Suspect};
pub use exchange::hours::{Hour, Hours};
pub use exchange::latency::Latency;
pub use exchange::slowest::Slowest;
pub use follower::{Follower, Repeat, TrackedSegment};
pub use half::Half;
pub use half::repeated::Repeats;
pub use mark::Mark;
pub use numbers::Place;
pub use reactions::Reactions;
pub use reader::capture_summary::CaptureSummary;
pub use table::Table;
pub use thresholds::{NETWORK_RTT_NS, SHORTEST_DELAYED_ACK_NS};

/// RFC 9293, section 3.7.1: the MSS where the peer announced none (IPv4).
pub const DEFAULT_MSS: u32 = 536;
