//! The stalls to show: those in which the pattern is clearest.

use crate::judge::causes::Cause;
use crate::judge::confidence::Confidence;
use crate::judge::findings::Finding;
use crate::judge::judged::JudgedConnection;
use crate::result::scan::Scan;
use crate::track::Side;
use std::cmp::Reverse;

/// The stall to show: of the cause and side that cost most, one of the best confidence, and of those the
/// one whose release is closest to what is usual there.
pub fn clearest(scan: &Scan) -> Option<(&JudgedConnection, Finding<'_>)> {
    let main = costliest(scan.connections.findings());
    let all = scan.affected().flat_map(|index| {
        let judged = &scan.connections[index];
        scan.findings_of(index).iter().map(move |finding| (judged, finding))
    });
    all.filter(|(_, finding)| finding.cause.is_stall())
        .min_by_key(|(judged, finding)| (kind(*finding) != main, clearness(judged, *finding)))
}

/// The stalls of the connection with this index: the costliest cause and side first, and of each the
/// clearest first.
pub fn clearest_of(scan: &Scan, index: usize, limit: usize) -> Vec<Finding<'_>> {
    let judged = &scan.connections[index];
    let findings = scan.findings_of(index).iter();
    let main = costliest(findings.clone());
    let mut stalls: Vec<_> = findings.filter(|finding| finding.cause.is_stall()).collect();
    stalls.sort_by_key(|finding| (kind(*finding) != main, clearness(judged, *finding)));
    stalls.truncate(limit);
    stalls
}

type Kind = (Cause, Side);

fn kind(finding: Finding<'_>) -> Kind {
    (finding.cause, finding.wait.by)
}

/// The kind of stall that costs most; of equals, the one that a headline names first.
fn costliest<'a>(findings: impl Iterator<Item = Finding<'a>>) -> Kind {
    const KINDS: [Kind; 4] = [
        (Cause::NagleDelack, Side::Client),
        (Cause::NagleDelack, Side::Server),
        (Cause::NagleRtt, Side::Client),
        (Cause::NagleRtt, Side::Server),
    ];
    let mut lost_ns = [0_i64; KINDS.len()];
    for finding in findings.filter(|finding| finding.cause.is_stall()) {
        let index = 2 * usize::from(finding.cause == Cause::NagleRtt) + finding.wait.by as usize;
        lost_ns[index] = lost_ns[index].saturating_add(finding.wait.wait_ns());
    }
    let most = (0..KINDS.len()).min_by_key(|&index| -lost_ns[index]).unwrap_or(0);
    KINDS[most]
}

fn clearness(judged: &JudgedConnection, finding: Finding<'_>) -> (Reverse<Confidence>, i64, u64) {
    let releases = judged.half(finding.wait.by).detail().releases.of(finding.wait);
    let off_ns = (finding.wait.release_ns() - releases.band.center_ns).abs();
    (Reverse(finding.confidence()), off_ns, finding.wait.to.frame)
}
