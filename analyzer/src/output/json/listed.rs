//! Which connections a result lists one by one, and which stalls it explains.

use crate::result::scan::Scan;

/// This many connections are listed in any case: about 50 MB. Of more, only those with a stall or another
/// listed wait are; the others count in the totals only, as those of a port scan do.
const WHATEVER_THEY_SHOW: usize = 1 << 17;

/// Is the connection with this index listed?
pub fn is_listed(scan: &Scan, index: usize) -> bool {
    index < WHATEVER_THEY_SHOW || !scan.findings_of(index).is_empty()
}

/// How many connections count in the totals only, those that were folded among them.
pub fn not_listed(scan: &Scan) -> u64 {
    let quiet = (0..scan.connections.len()).filter(|&index| !is_listed(scan, index)).count();
    scan.connections_not_listed() + quiet as u64
}

/// Up to this many stalls have their evidence in sentences: about 50 MB. Of more, only the first of each
/// connection do; the others show the same facts as numbers.
const EXPLAINED: u64 = 1 << 17;
const EXPLAINED_OF_EACH: usize = 16;

/// How many findings of the connection with this index, from the first on, are explained if they are
/// stalls.
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
