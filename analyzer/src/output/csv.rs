//! `-o stalls.csv`: one row per stall; `-o waits.csv`: one per other wait; `-o exchanges.csv`: one
//! per exchange. What it holds needs no quotes: numbers, addresses, names of this program.

use super::fields::{Field, Fields, Output, Row, StallRow, declared};
use super::file::{create, written};
use super::values::{self, Value, ValueKind};
use crate::capture::error::ScanError;
use crate::cores::in_order;
use crate::judge::findings::Finding;
use crate::result::parts::taken_apart;
use crate::result::scan::Scan;
use crate::result::server_exchanges::first_findings;
use std::io::Write;

/// Rows of which one core makes lines at once.
const AT_ONCE: usize = 4096;

/// Writes all stalls of `scan` to `path`, grouped by connection, in the order of time.
///
/// # Errors
/// `path` cannot be written.
pub fn write(scan: &Scan, path: &str) -> Result<(), ScanError> {
    write_rows(scan, path, &scan.connections.chunks(AT_ONCE), |&chunk| {
        let stalls = scan.connections.of_chunk(chunk).filter(Finding::is_stall);
        stalls.filter_map(|row| StallRow::of(scan, row))
    })
}

/// Writes all waits of `scan` that are no stalls to `path`, in the same order.
///
/// # Errors
/// `path` cannot be written.
pub fn write_waits(scan: &Scan, path: &str) -> Result<(), ScanError> {
    write_rows(scan, path, &scan.connections.chunks(AT_ONCE), |&chunk| {
        scan.connections.of_chunk(chunk).filter(|row| !row.is_stall())
    })
}

/// Writes all exchanges of `scan`, if they were kept, to `path`.
///
/// # Errors
/// `path` cannot be written.
pub fn write_exchanges(scan: &Scan, path: &str) -> Result<(), ScanError> {
    let rows = scan.exchanges.as_deref().unwrap_or_default();
    let firsts = first_findings(&scan.connections, rows);
    let blocks: Vec<_> = rows.chunks(AT_ONCE).zip(firsts.chunks(AT_ONCE)).collect();
    write_rows(scan, path, &blocks, |(rows, firsts)| taken_apart(&scan.connections, rows, firsts))
}

/// Writes the rows of all blocks, made on all cores, block by block: memory does not grow.
fn write_rows<B: Sync, I: Iterator<Item: Row>>(
    scan: &Scan,
    path: &str,
    blocks: &[B],
    rows: impl Fn(&B) -> I + Sync,
) -> Result<(), ScanError> {
    let mut writer = create(path)?;
    let lines = |block: usize| {
        let mut out = Vec::new();
        rows(&blocks[block]).for_each(|row| line(&mut out, &row));
        out
    };
    let whole = writer.write_all(header::<I::Item>().as_bytes()).and_then(|()| {
        in_order(scan.threads, blocks.len(), lines, |lines| writer.write_all(&lines))?;
        writer.flush()
    });
    written(path, whole)
}

fn header<R: Row>() -> String {
    let mut names = declared::<R>();
    names.retain(|row| row.field.is_in(Output::Csv));
    names.iter().map(|row| row.field.name).collect::<Vec<_>>().join(",") + "\n"
}

fn line<R: Row>(out: &mut Vec<u8>, row: &R) {
    R::fields(&mut Values { out, row });
    // The last comma makes way for the end of the line.
    out.pop();
    out.push(b'\n');
}

/// Writes each value with a comma behind it.
struct Values<'a, R> {
    out: &'a mut Vec<u8>,
    row: &'a R,
}

impl<R> Fields<R> for Values<'_, R> {
    #[inline]
    fn field(&mut self, field: Field, _: ValueKind, value: impl Fn(&R) -> Value<'_>) {
        if field.is_in(Output::Csv) {
            values::value(self.out, value(self.row));
            self.out.push(b',');
        }
    }
}
