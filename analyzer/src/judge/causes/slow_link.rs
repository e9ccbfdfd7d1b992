//! # What happens
//! The sender had sent already, but a slow link on the path, or a shaper, still had to send it on: each
//! frame took as long as its bytes take at the rate of that link.
//!
//! # How it is recognised
//! Behind the slow link, frames of the same burst come as far apart as they are long: at least three short
//! ones and three longer ones at the same rate, and never more than that rate carries. The sender's
//! own clock, in its TCP timestamps, shows that it sent several of them together. Without timestamps such
//! waits go to the program.
//!
//! # What it is not
//! A program or a kernel that paces its segments: those come at equal distances, or each as much later as
//! the one before it was long, and the timestamps show that they left so late. A full congestion window:
//! that waits for a round trip. In front of the slow link nothing of it shows.
//!
//! # What to do
//! Send fewer bytes (compress, send less often), or have a faster link. No socket option helps.
//!
//! # References
//! RFC 7323, section 3; RFC 5136, section 2.3; Linux `tcp_mstamp_refresh`.

use super::Direction;
use crate::track::wait::Wait;

pub(super) fn recognises(wait: &Wait, direction: &Direction) -> bool {
    direction.link.explains(wait)
}
