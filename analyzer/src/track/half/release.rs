//! The first ACK that covered something: when it came, and what it says.

use crate::decode::{FIN, Header};
use crate::track::Mark;
use crate::track::wait::{fact, when};
use serde::{Deserialize, Serialize};

/// Such an ACK.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    pub mark: Mark,
    pub facts: AckFacts,
}

/// What an ACK says, as those bits of [`Wait::facts`](crate::track::wait::Wait::facts) that are
/// [`fact::OF_ACK`]: they take one byte.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AckFacts(u8);

const _: () = assert!(fact::OF_ACK < 256 && fact::ACK_EXACT < 256, "they take one byte");

impl Release {
    pub const NONE: Self = Self { mark: Mark::NONE, facts: AckFacts(0) };
}

impl AckFacts {
    /// Of an ACK in `segment`, when the last small segment ends at `snd_sml`.
    #[inline]
    pub fn of(segment: &Header, snd_sml: u32) -> Self {
        let facts = when(segment.len == 0, fact::PURE_ACK)
            | when(segment.has(FIN), fact::ACK_FIN)
            | when(segment.ack == snd_sml, fact::ACK_EXACT);
        Self(facts as u8)
    }

    /// Those of the wait that the ACK ends.
    pub fn facts(self) -> u32 {
        u32::from(self.0) & fact::OF_ACK
    }

    pub fn is(self, fact: u32) -> bool {
        u32::from(self.0) & fact != 0
    }
}
