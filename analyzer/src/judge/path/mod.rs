//! Where is a release due, and how well is that known?

mod chance;
mod following;
mod quick_acks;
pub mod reference;
pub mod releases;
pub mod sender_clock;
pub mod sender_rtt;
mod varying;
