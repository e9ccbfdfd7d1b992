//! The answer in one word, and why there may be none: a capture must show what it does not hold.

use serde::Serialize;

/// The answer on a connection, or on all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// One stall at least is likely or certain.
    Stalls,
    /// There are stalls, and each is only possible.
    Possible,
    /// Nothing was held, and the capture would show it.
    Clean,
    /// It would not.
    Inconclusive,
}

impl Verdict {
    pub const NAMES: [&'static str; 4] = ["stalls", "possible", "clean", "inconclusive"];

    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// Reasons why the stalls of a connection may not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hidden {
    Nothing,
    NoData,
    /// Only one direction was captured: a stall shows in the ACKs of the other.
    OneDirection,
    /// Round trips vary so much that a hold looks like a pause of the program.
    Blurred,
    /// The clock ticks as seldom as the shortest delayed ACK comes.
    CoarseClock,
    /// Too many frames are missing.
    Lossy,
    /// Segments come after their ACKs: the directions have clocks of their own.
    Disordered,
    /// Pure ACKs are missing, and a stall shows in them.
    NoAcks,
    /// The capture ends where the segment would come that its last ACK released.
    CutOff,
    /// It is another connection of the capture, captured elsewhere on its way, which is judged.
    Copied,
}

impl Hidden {
    pub const COUNT: usize = 10;
    pub const NAMES: [&'static str; Self::COUNT] = [
        "",
        "no_data",
        "one_direction",
        "blurred",
        "coarse_clock",
        "lossy",
        "disordered",
        "no_acks",
        "cut_off",
        "copied",
    ];

    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}
