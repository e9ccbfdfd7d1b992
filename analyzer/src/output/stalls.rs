//! All stalls, row by row, made on all cores: memory does not grow with them.

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
    let chunks = scan.connections.chunks(AT_ONCE);
    let lines = |chunk: usize| {
        let stalls = scan.connections.of_chunk(chunks[chunk]).filter(Finding::is_stall);
        let mut out = Vec::new();
        stalls.filter_map(|row| StallRow::of(scan, row)).for_each(|row| line(&mut out, &row));
        out
    };
    in_order(scan.threads, chunks.len(), lines, |lines| writer.write_all(&lines))?;
    writer.flush()
}
