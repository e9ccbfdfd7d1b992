//! Which connections a result lists one by one, and which stalls it explains.

use crate::result::scan::Scan;

/// So many connections are listed whatever they show: about 50 MB. Of those that follow, the ones with
/// a stall or another listed wait are; the rest is in the totals only, as most ports of a port scan
/// are.
const WHATEVER_THEY_SHOW: usize = 1 << 17;

/// Is the connection with this index listed?
pub fn is_listed(scan: &Scan, index: usize) -> bool {
    index < WHATEVER_THEY_SHOW || !scan.findings_of(index).is_empty()
}

/// How many connections are in the totals only, those of a port scan among them.
pub fn not_listed(scan: &Scan) -> u64 {
    let quiet = (0..scan.connections.len()).filter(|&index| !is_listed(scan, index)).count();
    scan.connections_not_listed() + quiet as u64
}

/// Up to so many stalls, each says in sentences why it is believed: about 50 MB. Of more, the first of
/// each connection do; the others have the same facts as numbers.
const EXPLAINED: u64 = 1 << 17;
const EXPLAINED_OF_EACH: usize = 16;

/// So many of the first findings of the connection with this index are explained, if they are stalls.
pub fn explained(scan: &Scan, index: usize) -> usize {
    let findings = scan.findings_of(index);
    if scan.totals.stalls <= EXPLAINED {
        return findings.len();
    }
    let stalls = findings.iter().enumerate().filter(|(_, finding)| finding.cause.is_stall());
    stalls.take(EXPLAINED_OF_EACH).last().map_or(0, |(at, _)| at + 1)
}

/// How many stalls are not explained.
pub fn not_explained(scan: &Scan) -> u64 {
    if scan.totals.stalls <= EXPLAINED {
        return 0;
    }
    let many = |&index: &usize| scan.findings_of(index).len() > EXPLAINED_OF_EACH;
    let stalls =
        (0..scan.connections.len()).filter(many).map(|index| scan.connections[index].stalls);
    stalls.map(|stalls| u64::from(stalls).saturating_sub(EXPLAINED_OF_EACH as u64)).sum()
}
