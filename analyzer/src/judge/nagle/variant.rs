//! Which of Nagle's algorithms a sender runs: may a small segment follow full ones that are still
//! unacknowledged?
//!
//! RFC 896 and RFC 1122 (section 4.2.3.4) hold it (Windows, BSD, smoltcp, lwIP); Minshall's variant,
//! Linux' `tcp_minshall_check`, holds it only behind a small one. gVisor lets the tail of one large
//! write go as well, though it holds a small write of its own.

use crate::judge::findings::Findings;
use crate::judge::nagle::nodelay::Nagle;
use crate::track::wait::fact;
use crate::track::{Half, Side};
use serde::{Deserialize, Serialize};

/// What a sender in whose direction the algorithm is at work shows of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Variant {
    Classic,
    Minshall,
    #[default]
    Unknown,
}

impl Variant {
    pub const NAMES: [&'static str; 3] = ["classic", "minshall", "unknown"];

    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The variant of `side` and two frames that show it: full-sized data and the small segment that
    /// was held behind it, or that went at once.
    pub fn of(nagle: Nagle, half: &Half, side: Side, findings: Findings<'_>) -> (Self, (u64, u64)) {
        if nagle != Nagle::On {
            return (Variant::Unknown, (0, 0));
        }
        let held_tail = findings.stalls().find(|finding| {
            finding.wait.by == side && finding.is_sure() && !finding.wait.is(fact::UNACKED_SMALL)
        });
        match (held_tail, half.passed_full_ones()) {
            (Some(finding), _) => {
                (Variant::Classic, (finding.wait.from.frame, finding.wait.to.frame))
            }
            (None, (0, _)) => (Variant::Unknown, (0, 0)),
            (None, tail) => (Variant::Minshall, tail),
        }
    }
}
