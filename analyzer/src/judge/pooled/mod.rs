//! What other connections show: siblings, false discoveries, relays. Computed before any connection is judged.

pub mod false_discoveries;
pub mod fan_out;
pub mod host_frames;
mod listed;
pub mod relays;
pub mod siblings;

use crate::track::{Endpoint, Side};

/// Ends of waits or arrivals examined on either side of one: on a busy host more would prove nothing.
const MOST_NEAR: usize = 64;

/// One direction of all connections of a server.
type ServerDirection = (Endpoint, Side);
