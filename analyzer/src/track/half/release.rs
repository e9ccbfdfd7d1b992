//! The first ACK that covered something: when it came, and what it says.

use crate::decode::{FIN, Header};
use crate::track::Mark;
use crate::track::wait::{fact, when};

/// Such an ACK.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Release {
    pub mark: Mark,
    pub facts: AckFacts,
}

/// Facts of an ACK: those of the wait that it ends, and one of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AckFacts(u8);

/// A fact of the ACK, not of a wait: it covers the last small segment and nothing after it.
const EXACT: u8 = 1 << 7;

impl Release {
    pub const NONE: Self = Self { mark: Mark::NONE, facts: AckFacts(0) };
}

impl AckFacts {
    /// Facts of the ACK in `segment`, when the last small segment ends at `snd_sml`.
    #[inline]
    pub fn of(segment: &Header, snd_sml: u32) -> Self {
        let facts = when(segment.len == 0, fact::PURE_ACK) | when(segment.has(FIN), fact::ACK_FIN);
        Self(facts as u8 | if segment.ack == snd_sml { EXACT } else { 0 })
    }

    /// The facts of the wait that the ACK ends.
    pub fn facts(self) -> u32 {
        (self.0 & !EXACT).into()
    }

    pub fn is(self, fact: u32) -> bool {
        self.facts() & fact != 0
    }

    pub fn is_exact(self) -> bool {
        self.0 & EXACT != 0
    }
}
