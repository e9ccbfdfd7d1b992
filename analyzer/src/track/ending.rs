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
        /// The client sent its request again.
        AskedAgain = "asked_again",
        /// Another connection began between the same ports.
        PortsReused = "ports_reused",
        /// A SYN met RST.
        Refused = "refused",
        /// A SYN met an older connection that the other end still has.
        OldConnection = "old_connection",
        /// A SYN was answered, and sent again all the same.
        AnswerLost = "answer_lost",
    }
}

impl Ending {
    pub fn fin(by: Side) -> Self {
        [Self::ClientFin, Self::ServerFin][by as usize]
    }

    pub fn reset(by: Side) -> Self {
        [Self::ClientReset, Self::ServerReset][by as usize]
    }

    /// True if RST ended it.
    pub fn is_reset(self) -> bool {
        matches!(self, Self::ClientReset | Self::ServerReset)
    }

    /// True if nobody ended it, as far as the capture shows.
    pub fn is_left_open(self) -> bool {
        matches!(self, Self::Capture | Self::PortsReused)
    }

    /// True for a SYN that was turned down, or whose answer did not arrive.
    pub fn is_of_syn(self) -> bool {
        matches!(self, Self::Refused | Self::OldConnection | Self::AnswerLost)
    }
}
