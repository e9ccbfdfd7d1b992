//! Segments that Nagle's algorithm may hold: small ones that may wait.

use crate::track::Connection;
use crate::track::thresholds::{LEAST_MSS, LOOPBACK_MSS};
use crate::track::wait::{Facts, Wait, fact};

/// These leave at once on all stacks.
pub const EXEMPT: Facts = Facts::of([fact::FIN, fact::URGENT]);
pub const REPEATED: Facts = Facts::of([fact::RETRANSMITTED, fact::RECOVERY]);
pub const NO_WINDOW: Facts = Facts::of([fact::ZERO_WINDOW, fact::WINDOW_FULL]);
const EXCLUDED: Facts = Facts::of([EXEMPT, REPEATED, NO_WINDOW, fact::UNSEEN, fact::PASSED_ON]);

/// Was it a small segment that waited, and did nothing forbid Nagle's algorithm to hold it?
pub fn may_hold(wait: &Wait) -> bool {
    wait.is(fact::SMALL) && !wait.has_any(EXCLUDED)
}

/// Is a segment as long as the handshake announced, or longer?
pub fn is_full_sized(wait: &Wait, connection: &Connection) -> bool {
    connection.announced_mss().is_some_and(|mss| wait.len >= mss)
}

/// How long a segment is: only small ones are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// Shorter than the path carries.
    Small,
    /// None of this sender is longer, and nothing shows the MSS.
    Longest,
    /// The segment is as long as the path carries, by where messages were cut.
    Carried,
    /// The segment is as long as the handshake announced, or longer.
    Full,
}

impl Size {
    pub fn of(wait: &Wait, connection: &Connection) -> Self {
        if is_full_sized(wait, connection) {
            return Self::Full;
        }
        let announced = connection.announced_mss();
        let least = if connection.is_loopback() { LOOPBACK_MSS } else { LEAST_MSS };
        match connection.carried(wait.by) {
            Some(carried) if wait.len >= carried => Self::Carried,
            None if wait.len < least || announced.is_some() => Self::Small,
            None if wait.is(fact::CUT) => Self::Carried,
            None if wait.len >= connection.half(wait.by).largest() => Self::Longest,
            _ => Self::Small,
        }
    }
}
