//! The rows that a result lists: nobody reads millions. The others are counted.

use crate::judge::findings::Finding;
use crate::result::clearest::clearness;
use crate::result::first::first_by_key;
use crate::result::scan::Scan;
use crate::result::worst::costliest;

/// Most connections, most stalls and most other waits: about 15 MB.
const MOST: usize = 10_000;

/// The rows that a result lists.
pub struct ListedRows {
    /// Indices, in order.
    pub connections: Vec<usize>,
    pub stalls: Share,
    pub waits: Share,
}

/// How many stalls, or other waits, of each listed connection are listed, and their total.
pub struct Share {
    are_stalls: bool,
    of_each: usize,
    total: usize,
}

impl ListedRows {
    /// The connections that lose most to stalls, then those with other waits, then the first.
    pub fn new(scan: &Scan) -> Self {
        let mut connections = costliest(scan, scan.connections.with_findings(), MOST);
        let quiet = (0..scan.connections.len()).filter(|&index| scan.findings_of(index).is_empty());
        connections.extend(quiet.take(MOST - connections.len()));
        connections.sort_unstable();
        let stalls = Share::new(scan, &connections, true);
        let waits = Share::new(scan, &connections, false);
        Self { connections, stalls, waits }
    }

    /// How many connections are not listed, those that were thinned out among them.
    pub fn connections_not_listed(&self, scan: &Scan) -> u64 {
        scan.connection_count - self.connections.len() as u64
    }

    pub fn stalls_not_listed(&self, scan: &Scan) -> u64 {
        scan.totals.stalls - self.stalls.total as u64
    }

    /// How many other waits are not listed, and their sum in ns.
    pub fn waits_not_listed(&self, scan: &Scan) -> (u64, i64) {
        let (mut waits, mut wait_ns) = (scan.unlisted_waits, scan.unlisted_wait_ns);
        let known = scan.causes.rows().into_iter().filter(|row| !row.cause.is_stall());
        let (known, known_ns) = known.fold((0, 0_i64), |(waits, sum_ns), row| {
            (waits + row.waits, sum_ns.saturating_add(row.total_ns))
        });
        if known > self.waits.total as u64 {
            let rows = self.connections.iter().flat_map(|&index| self.waits.rows(scan, index));
            let listed_ns = rows.map(|row| row.wait.wait_ns()).fold(0, i64::saturating_add);
            waits += known - self.waits.total as u64;
            wait_ns = wait_ns.saturating_add(known_ns.saturating_sub(listed_ns));
        }
        (waits, wait_ns)
    }
}

impl Share {
    fn new(scan: &Scan, connections: &[usize], are_stalls: bool) -> Self {
        let mut share = Self { are_stalls, of_each: usize::MAX, total: 0 };
        let counts = connections.iter().map(|&index| share.count(scan, index));
        (share.of_each, share.total) = shared(counts.filter(|&count| count > 0).collect());
        share
    }

    /// How many a connection has.
    fn count(&self, scan: &Scan, index: usize) -> usize {
        let stalls = scan.connections[index].stalls as usize;
        if self.are_stalls { stalls } else { scan.findings_of(index).len() - stalls }
    }

    /// How many of a connection are not listed.
    pub fn rest(&self, scan: &Scan, index: usize) -> usize {
        self.count(scan, index).saturating_sub(self.of_each)
    }

    /// The listed findings of a connection in order: the clearest stalls, or the longest waits.
    pub fn rows<'a>(&self, scan: &'a Scan, index: usize) -> Vec<Finding<'a>> {
        let (judged, findings) = (&scan.connections[index], scan.findings_of(index));
        let rows = findings.iter().enumerate().filter(|(_, row)| row.is_stall() == self.are_stalls);
        let mut listed = match self.are_stalls {
            _ if self.rest(scan, index) == 0 => rows.collect(),
            true => first_by_key(rows, self.of_each, |(_, row)| clearness(judged, *row)),
            false => first_by_key(rows, self.of_each, |(at, row)| (-row.wait.wait_ns(), *at)),
        };
        listed.sort_unstable_by_key(|(at, _)| *at);
        listed.into_iter().map(|(_, row)| row).collect()
    }
}

/// The cap per connection at which all together list `MOST`, and how many that are.
fn shared(mut counts: Vec<usize>) -> (usize, usize) {
    counts.sort_unstable();
    let mut total = 0;
    for (at, &count) in counts.iter().enumerate() {
        // Places that connections with few rows leave are for the others.
        let others = counts.len() - at;
        let of_each = (MOST - total) / others;
        if count > of_each {
            return (of_each, total + of_each * others);
        }
        total += count;
    }
    (usize::MAX, total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_those_with_few_leave_is_for_the_others() {
        assert_eq!(shared(vec![6_000, 4_000]), (usize::MAX, MOST));
        assert_eq!(shared(vec![MOST, 1, 6_000]), (4_999, 9_999));
        assert_eq!(shared(vec![2; MOST]), (1, MOST));
        assert_eq!(shared(Vec::new()), (usize::MAX, 0));
    }
}
