//! Endings of waits for something that never came.

use crate::named::named;
use crate::track::Side;

named! {
    /// Endings of waits for something that never came.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Ending {
        Capture = "capture",
        ClientFin = "client_fin",
        ServerFin = "server_fin",
        ClientReset = "client_reset",
        ServerReset = "server_reset",
        /// A SYN met RST.
        Refused = "refused",
        /// A SYN met an older connection that the other end still has.
        OldConnection = "old_connection",
    }
}

impl Ending {
    /// The `turn_ns` of a wait that began with its first frame.
    pub const NO_TURN: i64 = i64::MIN;

    const ALL: [Self; 7] = [
        Self::Capture,
        Self::ClientFin,
        Self::ServerFin,
        Self::ClientReset,
        Self::ServerReset,
        Self::Refused,
        Self::OldConnection,
    ];

    pub fn fin(by: Side) -> Self {
        [Self::ClientFin, Self::ServerFin][by as usize]
    }

    pub fn reset(by: Side) -> Self {
        [Self::ClientReset, Self::ServerReset][by as usize]
    }

    /// Did RST end it?
    pub fn is_reset(self) -> bool {
        matches!(self, Self::ClientReset | Self::ServerReset)
    }

    /// The ending as the `turn_ns` of its wait, for which such a wait has no use: no capture has times so early.
    pub fn turn_ns(self) -> i64 {
        Self::NO_TURN + 1 + self as i64
    }

    /// The one that has this `turn_ns`.
    pub fn of(turn_ns: i64) -> Option<Self> {
        let first_ns = Self::Capture.turn_ns();
        let place = usize::try_from(turn_ns.checked_sub(first_ns)?).ok()?;
        Self::ALL.get(place).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_known_by_its_turn_and_nothing_else_is_taken_for_one() {
        let all = || Ending::NAMES.iter().zip(Ending::ALL);
        assert!(all().all(|(name, ending)| ending.name() == *name));
        assert!(Ending::ALL.into_iter().all(|ending| Ending::of(ending.turn_ns()) == Some(ending)));
        assert_eq!(Ending::ALL.len(), Ending::NAMES.len());
        for turn_ns in [Ending::NO_TURN, Ending::NO_TURN + 8, -1, 0, i64::MAX] {
            assert_eq!(Ending::of(turn_ns), None);
        }
    }
}
