//! Connections: which segment belongs to which, and what is known of each direction.

#[cfg(test)]
pub mod allocations;
pub mod band;
pub mod batch;
mod by_block;
pub mod clock;
mod connection;
mod connections;
mod exchange;
mod folded;
mod half;
pub mod lane;
pub mod longest;
mod lookups;
mod prefetch;
pub mod reader;
mod sending;
#[cfg(test)]
pub mod story;
mod table;
pub mod thresholds;
pub mod tracker;
pub mod wait;

pub use by_block::ByBlock;
pub use connection::{Connection, DEFAULT_MSS, Lengths, Sinks};
pub use connections::{BLOCK_LEN, Connections, Share, deal};
pub use exchange::Exchange;
pub use exchange::exchanged::{Exchanged, ServerLatency, Suspect};
pub use exchange::latency::Latency;
pub use half::pauses::{Pause, Pauses};
pub use half::rare::Rarest;
pub use half::{Half, known};
pub use table::key::{KeyV4, KeyV6, Lookup};
pub use table::{Endpoint, Ends, Table};
pub use thresholds::{NETWORK_RTT_NS, SHORTEST_DELAYED_ACK_NS};

/// One end of a connection, and the direction of what it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Side {
    Client = 0,
    Server = 1,
}

impl Side {
    pub const BOTH: [Side; 2] = [Side::Client, Side::Server];

    pub fn other(self) -> Self {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Side::Client => "client",
            Side::Server => "server",
        }
    }
}

/// A frame and its time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mark {
    /// Nanoseconds since the epoch.
    pub time_ns: i64,
    /// Wireshark's `frame.number`, from 1; 0 is 'none'.
    pub frame: u64,
}

impl Mark {
    pub const NONE: Self = Self { time_ns: 0, frame: 0 };

    pub fn is_set(self) -> bool {
        self.frame != 0
    }

    /// Came after `other` in the capture.
    pub fn after(self, other: Mark) -> bool {
        self.frame > other.frame
    }
}
