//! Is TCP_NODELAY in effect, and when; which variant of Nagle's algorithm, which delayed-ACK timer?

pub mod nodelay;
pub mod timers;
pub mod variant;
