//! Facts of several connections together, before any is judged: data passed on, and paths.

pub mod copies;
pub mod fan_out;
pub mod paths;
pub mod relays;
pub mod servers;

use crate::track::{Endpoint, Side};

/// Ends of waits or arrivals examined on either side of one: on a busy host more would prove nothing.
const MOST_NEAR: usize = 64;

/// One direction of all connections of a server.
type ServerDirection = (Endpoint, Side);
