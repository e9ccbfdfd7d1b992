//! Which variant of Nagle's algorithm a sender runs: is a small segment held behind unacknowledged
//! full-sized ones?
//!
//! By RFC 896 and RFC 1122, section 4.2.3.4, it is (Windows, BSD, smoltcp, lwIP). Minshall's variant
//! (Linux's `tcp_minshall_check`) holds it only behind a small one. gVisor also sends the tail of one
//! large write at once, but holds a separate small write.

use crate::judge::findings::Findings;
use crate::judge::nagle::nodelay::Nagle;
use crate::named::named;
use crate::track::Side;
use crate::track::half::Half;
use crate::track::wait::fact;

named! {
    /// The variant of a sender with Nagle's algorithm on.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    enum Variant {
        Classic = "classic",
        Minshall = "minshall",
        #[default]
        Unknown = "unknown",
    }
}

impl Variant {
    /// The variant of `side`, with two frames as proof: full-sized data, and the small segment held behind
    /// it or sent at once.
    pub fn of(nagle: Nagle, half: &Half, side: Side, findings: Findings<'_>) -> (Self, (u32, u32)) {
        if nagle != Nagle::On {
            return (Variant::Unknown, (0, 0));
        }
        let held_tail = findings.stalls().find(|finding| {
            finding.wait.by == side && finding.is_sure() && !finding.wait.is(fact::UNACKED_SMALL)
        });
        match (held_tail, half.odd().passed_full) {
            (Some(finding), _) => {
                (Variant::Classic, (finding.wait.from.frame, finding.wait.to.frame))
            }
            (None, (0, _)) => (Variant::Unknown, (0, 0)),
            (None, tail) => (Variant::Minshall, tail),
        }
    }
}
