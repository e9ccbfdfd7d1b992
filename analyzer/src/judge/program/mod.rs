//! May the program have made the wait? Its own pauses, its timers, its reaction time as a relay.

pub mod pace;
pub mod reaction;
pub mod ticks;
