//! The stalls to show: those in which the pattern is clearest.

use crate::judge::causes::Cause;
use crate::judge::finding::judged::JudgedConnection;
use crate::judge::findings::Finding;
use crate::judge::model::{Confidence, Proof};
use crate::result::first::first_by_key;
use crate::result::groups::{self, ServerGroup};
use crate::result::scan::Scan;
use crate::track::Side;
use std::cmp::Reverse;

/// The stall that reports show: in the first group, the one with the most typical release time.
pub fn clearest<'a>(
    scan: &'a Scan,
    groups: &[ServerGroup],
) -> Option<(&'a JudgedConnection, Finding<'a>)> {
    let first = groups.first()?;
    let of_group = |&index: &usize| first.is_of(&scan.connections[index]);
    let stalls = scan.affected().filter(of_group).flat_map(|index| {
        let judged = &scan.connections[index];
        let stalls = scan.findings_of(index).stalls().filter(|stall| kind(*stall) == first.kind());
        stalls.map(move |stall| (judged, stall))
    });
    stalls.min_by_key(|(judged, stall)| (clearness(judged, *stall), judged.id))
}

/// The stalls of the connection with this index: those of the kind that reports name first, and of
/// each kind the clearest first.
pub fn clearest_of<'a>(
    scan: &'a Scan,
    groups: &[ServerGroup],
    index: usize,
    limit: usize,
) -> Vec<Finding<'a>> {
    let (judged, findings) = (&scan.connections[index], scan.findings_of(index));
    let named = groups.first().filter(|group| group.is_of(judged)).map(ServerGroup::kind);
    let named = named.filter(|&named| findings.stalls().any(|stall| kind(stall) == named));
    let main = named.or_else(|| groups::main_kind(scan, index));
    let order = |stall: &Finding<'a>| (Some(kind(*stall)) != main, clearness(judged, *stall));
    first_by_key(findings.stalls(), limit, order)
}

/// Its cause, and the side that held it.
fn kind(stall: Finding<'_>) -> (Cause, Side) {
    (stall.cause, stall.wait.by)
}

pub type Clearness = (Reverse<Confidence>, bool, i64, u32);

/// The clearest stall has the least: of the surest, those that a trace proves, and of these the hold,
/// else the release, that is closest to the usual release.
pub fn clearness(judged: &JudgedConnection, finding: Finding<'_>) -> Clearness {
    let usual_ns = (judged.half(finding.wait.by).model().release_ms * 1e6) as i64;
    let is_proven = finding.held.proof == Proof::Proven;
    let took_ns = if is_proven { finding.hold_ns() } else { finding.wait.release_ns() };
    let off_ns = (took_ns - usual_ns).abs();
    (Reverse(finding.confidence()), !is_proven, off_ns, finding.wait.to.frame)
}
