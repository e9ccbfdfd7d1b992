//! May the capture hide a hold, or fake one? Lost frames, jitter, IP IDs, spurious retransmissions.

pub mod ip_ids;
pub mod jitter;
pub mod link;
pub mod losses;
pub mod point;
pub mod spurious;
