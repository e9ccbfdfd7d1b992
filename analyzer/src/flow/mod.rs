//! Connections: which segment belongs to which, and what is known of each direction.

mod connection;
mod exchange;
mod half;
mod sending;
mod table;

pub use connection::{Connection, Sinks};
pub use exchange::Exchange;
pub use half::Half;
pub use table::{Endpoint, Table};

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
    pub fn is_set(self) -> bool {
        self.frame != 0
    }

    /// Came after `other` in the capture.
    pub fn after(self, other: Mark) -> bool {
        self.frame > other.frame
    }
}
