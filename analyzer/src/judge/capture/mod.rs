//! May the capture fake a hold, or hide one? Where it was taken, IP IDs, spurious retransmissions.

pub mod ip_ids;
pub mod made_up;
pub mod point;
pub mod spurious;
