//! Which connections a result lists one by one.

use crate::scan::Scan;

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
    let quiet = (0..scan.verdicts.len()).filter(|&index| !is_listed(scan, index)).count();
    scan.connections_not_listed() + quiet as u64
}
