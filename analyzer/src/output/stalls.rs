//! All stalls or other waits, row by row, made on all cores: memory does not grow with them.

use super::fields::StallRow;
use crate::cores::in_order;
use crate::judge::findings::Finding;
use crate::result::scan::Scan;
use std::io::{self, Write};

/// Rows whose lines one core makes at once.
pub const AT_ONCE: usize = 4096;

/// Writes a line for each stall, grouped by connection, in the order of time.
pub fn write_stalls<'a>(
    scan: &'a Scan,
    writer: &mut impl Write,
    line: impl Fn(&mut Vec<u8>, &StallRow<'a>) + Sync,
) -> io::Result<()> {
    write_findings(scan, writer, true, |out, row| {
        if let Some(row) = StallRow::of(scan, row) {
            line(out, &row);
        }
    })
}

/// Writes a line for each stall or for each other wait, in the same order.
pub fn write_findings<'a>(
    scan: &'a Scan,
    writer: &mut impl Write,
    stalls: bool,
    line: impl Fn(&mut Vec<u8>, Finding<'a>) + Sync,
) -> io::Result<()> {
    let chunks = scan.connections.chunks(AT_ONCE);
    let lines = |chunk: usize| {
        let rows = scan.connections.of_chunk(chunks[chunk]);
        let mut out = Vec::new();
        rows.filter(|row| row.is_stall() == stalls).for_each(|row| line(&mut out, row));
        out
    };
    in_order(scan.threads, chunks.len(), lines, |lines| writer.write_all(&lines))?;
    writer.flush()
}
