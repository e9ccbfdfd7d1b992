//! May the capture fake a hold, or hide one? Where it was taken, spurious retransmissions.

pub mod point;
pub mod spurious;
