//! One direction of a connection, as far as it is known apart from its waits. It is computed once, and
//! read by the model, the ledger, the reasons and the words.

use crate::judge::ack_delay::AckDelay;
use crate::judge::doubts::Doubts;
use crate::judge::path::Path;
use crate::track::Side;
use crate::track::wait::Wait;

/// The data that one host sends, and the ACKs that come back.
#[derive(Debug, Clone, Copy, Default)]
pub struct Direction {
    /// The path between the capture point and the sender.
    pub path: Path,
    /// Which of the receiver's ACKs its timer delayed.
    pub acks: AckDelay,
    /// Doubts about its connection: facts that the capture does not show.
    pub doubts: Doubts,
}

impl Direction {
    /// Both directions of a connection, by the `doubts` about it, its `waits` and the `paths` to its
    /// client and server.
    pub fn of_both(doubts: Doubts, waits: &[Wait], paths: &[Path; 2]) -> [Self; 2] {
        if waits.is_empty() {
            // The rest is asked for waits.
            return paths.map(|path| Self { path, doubts, ..Self::default() });
        }
        Side::BOTH.map(|side| Self {
            path: paths[side as usize].agreeing(side, waits),
            acks: AckDelay::of(side, waits, &paths[side.other() as usize]),
            doubts,
        })
    }
}
