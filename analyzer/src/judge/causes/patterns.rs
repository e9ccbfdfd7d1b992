//! Patterns that the waits of one direction show together: each of them is ruled on by those.

use crate::judge::causes::cork::Corks;
use crate::judge::causes::slow_link::SlowLink;
use crate::judge::causes::stop_and_wait;
use crate::judge::direction::Direction;
use crate::track::wait::Wait;
use crate::track::{Connection, Side};

/// Patterns among the waits of one direction.
#[derive(Debug, Clone, Copy, Default)]
pub struct Patterns {
    /// Did the sender never have more than one segment in flight, full-sized ones too?
    pub one_at_a_time: bool,
    /// Which waits look like those for a cork.
    pub corks: Corks,
    /// Did a small segment wait as long as the kernel's timer for a cork, with nothing unacknowledged?
    pub corked: bool,
    /// The clock of its sender, and whether it came through a slow link.
    pub link: SlowLink,
}

impl Patterns {
    pub fn of(
        connection: &Connection,
        side: Side,
        waits: &[Wait],
        directions: &[Direction; 2],
    ) -> Self {
        // Mostly one side has all of them: nothing is to be looked for among those of the other.
        let waits = if waits.iter().any(|wait| wait.by == side) { waits } else { &[] };
        let (half, path) = (connection.half(side), &directions[side as usize].path);
        let corks = Corks::of(connection, side, waits, directions);
        let own = || waits.iter().filter(|wait| wait.by == side);
        Self {
            one_at_a_time: stop_and_wait::is_throughout(half, path, own()),
            // The late segment may be the retransmission.
            corked: half.odd().repeats.retransmitted == 0
                && own().any(|wait| corks.is_left_behind(wait)),
            corks,
            link: SlowLink::of(half, side, waits),
        }
    }
}
