//! Waits by cause.

use crate::judge::causes::Cause;
use crate::result::scan::Scan;
use crate::track::Side;

/// Waits of one cause and side: how many, how long in all, and the longest; in ns.
#[derive(Debug, Clone, Copy)]
pub struct CauseTotal {
    pub cause: Cause,
    pub by: Side,
    pub waits: u64,
    pub total_ns: i64,
    pub longest_ns: i64,
}

/// All listed waits by cause and by who ended them, in the order of the causes.
pub fn causes(scan: &Scan) -> Vec<CauseTotal> {
    let mut totals: Vec<CauseTotal> = Vec::new();
    for finding in scan.connections.findings() {
        let (cause, by, wait_ns) = (finding.cause, finding.wait.by, finding.wait.wait_ns());
        let known = totals.iter_mut().find(|total| (total.cause, total.by) == (cause, by));
        match known {
            Some(total) => {
                total.waits += 1;
                total.total_ns = total.total_ns.saturating_add(wait_ns);
                total.longest_ns = total.longest_ns.max(wait_ns);
            }
            None => totals.push(CauseTotal {
                cause,
                by,
                waits: 1,
                total_ns: wait_ns,
                longest_ns: wait_ns,
            }),
        }
    }
    totals.sort_by_key(|total| (total.cause as u8, total.by as u8));
    totals
}
