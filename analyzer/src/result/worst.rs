//! The worst first, and no more than are asked for.

use crate::judge::causes::Cause;
use crate::judge::finding::judged::JudgedConnection;
use crate::judge::findings::Finding;
use crate::result::first::first_by_key;
use crate::result::scan::Scan;
use crate::track::Side;
use crate::track::wait::fact;

/// Rows that are looked at one after the other.
const AT_ONCE: usize = 4096;

/// At most `limit` affected connections, worst first; those with only possible stalls come last.
pub fn affected(scan: &Scan, limit: usize) -> Vec<usize> {
    let order = |index: &usize| {
        let judged = &scan.connections[*index];
        (!judged.surely_stalls, -judged.stalled_ns, *index)
    };
    first_by_key(scan.affected(), limit, order)
}

/// The connections among `indices` that lose most to stalls, then the first.
pub fn costliest(
    scan: &Scan,
    indices: impl IntoIterator<Item = usize>,
    limit: usize,
) -> Vec<usize> {
    first_by_key(indices, limit, |index| (-scan.connections[*index].stalled_ns, *index))
}

/// Number of the connection with the most bytes; of several, the first.
pub fn busiest(scan: &Scan) -> Option<u32> {
    let bytes = |row: &&JudgedConnection| {
        let all: u64 = row.halves.iter().map(|half| half.bytes).sum();
        (all, std::cmp::Reverse(row.id))
    };
    scan.connections.iter().max_by_key(bytes).map(|row| row.id)
}

/// The longest waits that are no stalls, of all connections or of one; idle clients' last. Tries are told with
/// what was waited for.
pub fn longest_waits(
    scan: &Scan,
    limit: usize,
    connection: Option<u32>,
) -> Vec<(&JudgedConnection, Finding<'_>)> {
    let chunks = match connection {
        None => scan.connections.chunks(AT_ONCE),
        Some(number) => scan.connections.chunks_of(number, AT_ONCE),
    };
    let rows = chunks.iter().flat_map(|&chunk| scan.connections.of_chunk(chunk));
    let waits = rows.filter(|finding| !finding.is_stall() && !finding.wait.is(fact::TRIED));
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
