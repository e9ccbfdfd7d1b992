//! The worst first, and no more than are asked for.

use crate::judge::causes::Cause;
use crate::judge::finding::judged::JudgedConnection;
use crate::judge::findings::Finding;
use crate::result::scan::Scan;
use crate::track::Side;
use crate::track::wait::fact;

/// Indices of the affected connections, the worst first, at most `limit`.
pub fn affected(scan: &Scan, limit: usize) -> Vec<usize> {
    let order = |index: &usize| (-scan.connections[*index].stalled_ns, *index);
    first_by_key(scan.affected(), limit, order)
}

/// Number of the connection with the most bytes; of several, the first.
pub fn busiest(scan: &Scan) -> Option<u32> {
    let bytes = |row: &&JudgedConnection| {
        let all: u64 = row.halves.iter().map(|half| half.bytes).sum();
        (all, std::cmp::Reverse(row.id))
    };
    scan.connections.iter().max_by_key(bytes).map(|row| row.id)
}

/// The longest waits that are no stalls; those of idle clients last, since they are no problem.
pub fn longest_waits(scan: &Scan, limit: usize) -> Vec<(&JudgedConnection, Finding<'_>)> {
    let waits = scan.connections.findings().filter(|finding| !finding.is_stall());
    let order = |finding: &Finding<'_>| {
        let wait = finding.wait;
        let idle_client = wait.by == Side::Client
            && finding.cause == Cause::SenderApp
            && !wait.is(fact::OWN_DATA_BEFORE);
        (idle_client, -wait.wait_ns(), wait.to.frame, wait.by as u8)
    };
    let longest = first_by_key(waits, limit, order).into_iter();
    let of = |finding: &Finding<'_>| scan.connections.index_of(finding.wait.connection);
    longest.filter_map(|finding| Some((&scan.connections[of(&finding)?], finding))).collect()
}

/// Rows that are kept at least before the last of them are dropped: to drop each one by itself is slow.
const AT_ONCE: usize = 32;

/// The first `limit` of `rows` in the order of their keys, which all differ. No more than a few more are kept.
pub fn first_by_key<T, K: Ord>(
    rows: impl Iterator<Item = T>,
    limit: usize,
    key: impl Fn(&T) -> K,
) -> Vec<T> {
    let mut first: Vec<T> = Vec::new();
    if limit == 0 {
        return first;
    }
    let mut last: Option<K> = None;
    for row in rows {
        if last.as_ref().is_some_and(|last| key(&row) > *last) {
            continue;
        }
        first.push(row);
        if first.len() >= limit.saturating_add(limit.max(AT_ONCE)) {
            let (_, kept, _) = first.select_nth_unstable_by_key(limit - 1, &key);
            last = Some(key(kept));
            first.truncate(limit);
        }
    }
    first.sort_unstable_by_key(key);
    first.truncate(limit);
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_many_rows_come_in_order_however_many_are_asked_for() {
        const ROWS: usize = 1009;
        let mixed = || (0..ROWS).map(|row| row * 421 % ROWS);
        for limit in [0, 1, 5, 40, ROWS - 1, ROWS, usize::MAX] {
            let expected: Vec<usize> = (0..ROWS.min(limit)).collect();
            assert_eq!(first_by_key(mixed(), limit, |&row| row), expected);
            assert_eq!(first_by_key((0..ROWS).rev(), limit, |&row| row), expected);
        }
    }
}
