//! What other connections show: siblings, false discoveries, relays. Computed before any connection is judged.

pub mod false_discoveries;
pub mod fan_out;
pub mod host_frames;
pub mod relays;
pub mod siblings;
