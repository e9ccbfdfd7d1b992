//! The columns that cross into Python.

pub mod column;
pub(super) mod columns;

use self::column::{DataTable, Halves};
use self::columns::{columns, some_columns};
use crate::judge::findings::Finding;
use crate::output::fields::{HourRow, NamedConnection, Row, StallRow};
use crate::result::connections::Chunk;
use crate::result::open::open as open_rows;
use crate::result::parts::taken_apart;
use crate::result::scan::Scan;
use crate::result::server_exchanges::first_findings;
use crate::result::servers::servers as server_rows;
use crate::track::by_block::BLOCK_LEN;
use crate::track::exchange::hours::Hour;

/// Rows of which the columns are computed at once: read once for each column, they stay in cache.
const ROWS_AT_ONCE: usize = 4096;

/// One row per connection, in the order of their ids.
pub fn connections(scan: &Scan) -> DataTable {
    let len = scan.connections.len();
    let blocks = (0..len).step_by(BLOCK_LEN).map(|begin| (begin, len.min(begin + BLOCK_LEN)));
    let blocks: Vec<(usize, usize)> = blocks.collect();
    let first = blocks.len() / 2 * BLOCK_LEN;
    Halves { blocks, kept: [first, len - first] }.table(|(begin, end)| {
        columns(&(begin..end).map(|index| NamedConnection::of(scan, index)).collect::<Vec<_>>())
    })
}

/// One row per stall, grouped by connection, in the order of time.
pub fn stalls(scan: &Scan) -> DataTable {
    let chunks = scan.connections.chunks(ROWS_AT_ONCE);
    let mut table = of_findings(scan, true, &chunks, |rows| columns(&rows_of_stalls(scan, rows)));
    if let Some(all) = &scan.calls {
        let stalls = chunks.iter().flat_map(|&chunk| scan.connections.of_chunk(chunk));
        let stalls = stalls.filter(Finding::is_stall);
        let row = |row: Finding<'_>| all.row(row.wait.connection, row.wait.to.frame);
        let rows: Vec<_> = stalls.map(|stall| row(stall).map(|row| row.named(all))).collect();
        table.extend(columns(&rows));
    }
    table
}

/// One row per wait that is not a stall.
pub fn waits(scan: &Scan) -> DataTable {
    of_findings(scan, false, &scan.connections.chunks(ROWS_AT_ONCE), columns)
}

/// Columns of these names, of the stalls or of the other waits; of all connections or of one. A
/// table of millions takes as much memory as the scan, so pictures take what they draw.
pub fn findings(scan: &Scan, stalls: bool, names: &[String], connection: Option<u32>) -> DataTable {
    let chunks = match connection {
        None => scan.connections.chunks(ROWS_AT_ONCE),
        Some(number) => scan.connections.chunks_of(number, ROWS_AT_ONCE),
    };
    of_findings(scan, stalls, &chunks, |rows| {
        if stalls {
            some_columns(&rows_of_stalls(scan, rows), Some(names))
        } else {
            some_columns(rows, Some(names))
        }
    })
}

fn rows_of_stalls<'a>(scan: &'a Scan, rows: &[Finding<'a>]) -> Vec<StallRow<'a>> {
    rows.iter().filter_map(|&row| StallRow::of(scan, row)).collect()
}

/// The stalls among the findings of some chunks, or the others.
fn of_findings<'a>(
    scan: &'a Scan,
    stalls: bool,
    chunks: &[Chunk],
    columns: impl Fn(&[Finding<'a>]) -> DataTable + Sync,
) -> DataTable {
    let kept = |chunk| scan.connections.of_chunk(chunk).filter(move |row| row.is_stall() == stalls);
    let count = |chunks: &[Chunk]| chunks.iter().map(|&chunk| kept(chunk).count()).sum();
    let (first, second) = chunks.split_at(chunks.len() / 2);
    Halves { blocks: chunks.to_vec(), kept: [count(first), count(second)] }
        .table(|chunk| columns(&kept(chunk).collect::<Vec<_>>()))
}

/// One row per exchange, in the order of their ends, with what it spent its time on.
pub fn exchanges(scan: &Scan) -> DataTable {
    let rows = scan.exchanges.as_deref().unwrap_or_default();
    let firsts = first_findings(&scan.connections, rows);
    let blocks: Vec<_> = rows.chunks(ROWS_AT_ONCE).zip(firsts.chunks(ROWS_AT_ONCE)).collect();
    let first = blocks.len() / 2 * ROWS_AT_ONCE;
    let kept = [first, rows.len() - first];
    Halves { blocks, kept }.table(|(rows, firsts)| {
        columns(&taken_apart(&scan.connections, rows, firsts).collect::<Vec<_>>())
    })
}

/// One row per debt that was never paid.
pub fn open(scan: &Scan) -> DataTable {
    columns(&open_rows(scan).collect::<Vec<_>>())
}

/// One row per server with exchanges, those that lose most first.
pub fn servers(scan: &Scan) -> DataTable {
    columns(&server_rows(scan, usize::MAX))
}

/// How many exchanges of each server ended in each hour, by their latency.
pub fn hours(scan: &Scan) -> DataTable {
    let row = |(hour, exchanges): &(Hour, u64)| HourRow {
        server: scan.servers[hour.server as usize].server,
        hour: *hour,
        exchanges: *exchanges,
    };
    columns(&scan.hours.iter().map(row).collect::<Vec<_>>())
}

/// The segments of one connection, or turns, as read again.
pub fn read_again<R: Row>(rows: &[R]) -> DataTable {
    columns(rows)
}
