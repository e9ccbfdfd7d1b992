//! Facts that several connections show together: data passed on, and paths. Known before any connection is judged.

pub mod copies;
pub mod fan_out;
pub mod paths;
pub mod relays;

use crate::track::{Endpoint, Side};

/// Ends of waits or arrivals examined on either side of one: on a busy host more would prove nothing.
const MOST_NEAR: usize = 64;

/// One direction of all connections of a server.
type ServerDirection = (Endpoint, Side);
