//! # What happens
//! Something else. The capture does not tell.
//!
//! # How it is recognised
//! No other cause explains the wait: bytes are missing from the capture around it, or the ACKs of
//! the other side are; or, by its sender's timestamps, a single segment had left long before it came:
//! something held it up on its way, or the capture's clock was set; or the times of the frames are made up, as each comes just as long after the
//! one before; or segments come after their ACKs, so that two clocks stamped the frames. Or
//! full-sized segments arrived apart, captured across a network from their sender: a slow link
//! looks like a pause of the program, which would mostly follow a small segment. Or it was held or
//! the program paused: the probability of a hold lies between a quarter and 0.4, or the round trip
//! to the sender is not known, or varies, and no small segment was sent unheld.
//!
//! # What it is not
//! A verdict of 'clean'.
//!
//! # What to do
//! Capture again, both directions, at the host that waits, without drops.
//!
//! # References
//! None.
