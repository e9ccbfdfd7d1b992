//! `-o stalls.csv`: one row per stall; `-o waits.csv`: one per other wait; `-o exchanges.csv`: one per exchange.
//! What it holds needs no quotes: numbers, addresses, names of this program.

use super::fields::{Category, Field, Fields, Integer, Output, Row, StallRow, declared};
use super::file::{create, written};
use super::stalls::{AT_ONCE, write_findings, write_stalls};
use super::values;
use crate::capture::error::ScanError;
use crate::cores::in_order;
use crate::judge::findings::Finding;
use crate::result::parts::{TakenApart, taken_apart};
use crate::result::scan::Scan;
use crate::result::server_exchanges::first_findings;
use std::io::{self, Write};
use std::net::IpAddr;

/// Writes all stalls of `scan` to `path`.
///
/// # Errors
/// `path` cannot be written.
pub fn write(scan: &Scan, path: &str) -> Result<(), ScanError> {
    let mut writer = create(path)?;
    written(path, write_rows(scan, &mut writer))
}

/// Writes all exchanges of `scan`, if they were kept, to `path`.
///
/// # Errors
/// `path` cannot be written.
pub fn write_exchanges(scan: &Scan, path: &str) -> Result<(), ScanError> {
    let mut writer = create(path)?;
    let rows = scan.exchanges.as_deref().unwrap_or_default();
    let firsts = first_findings(&scan.connections, rows);
    let lines = |piece: usize| {
        let own = piece * AT_ONCE..rows.len().min((piece + 1) * AT_ONCE);
        let mut out = Vec::new();
        taken_apart(&scan.connections, &rows[own.clone()], &firsts[own])
            .for_each(|row| line(&mut out, &row));
        out
    };
    let whole = writer.write_all(header::<TakenApart>().as_bytes()).and_then(|()| {
        let pieces = rows.len().div_ceil(AT_ONCE);
        in_order(scan.threads, pieces, lines, |lines| writer.write_all(&lines))?;
        writer.flush()
    });
    written(path, whole)
}

/// Writes all waits of `scan` that are no stalls to `path`.
///
/// # Errors
/// `path` cannot be written.
pub fn write_waits(scan: &Scan, path: &str) -> Result<(), ScanError> {
    let mut writer = create(path)?;
    let head = writer.write_all(header::<Finding<'_>>().as_bytes());
    written(
        path,
        head.and_then(|()| write_findings(scan, &mut writer, false, |out, row| line(out, &row))),
    )
}

fn write_rows(scan: &Scan, writer: &mut impl Write) -> io::Result<()> {
    writer.write_all(header::<StallRow<'_>>().as_bytes())?;
    write_stalls(scan, writer, line)
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

impl<R> Values<'_, R> {
    fn write<T>(
        &mut self,
        field: Field,
        value: impl Fn(&R) -> T,
        write: impl Fn(&mut Vec<u8>, &str, T),
    ) {
        if field.is_in(Output::Csv) {
            write(self.out, "", value(self.row));
            self.out.push(b',');
        }
    }
}

impl<R> Fields<R> for Values<'_, R> {
    fn integer<I: Integer>(&mut self, field: Field, value: impl Fn(&R) -> I) {
        self.write(field, value, values::integer);
    }

    fn time(&mut self, field: Field, value_ns: impl Fn(&R) -> i64) {
        self.write(field, value_ns, values::integer);
    }

    fn duration(&mut self, field: Field, value_ns: impl Fn(&R) -> i64) {
        self.write(field, value_ns, values::duration);
    }

    fn maybe_duration(&mut self, field: Field, value_ns: impl Fn(&R) -> Option<i64>) {
        self.write(field, value_ns, |out, before, value_ns| {
            if let Some(value_ns) = value_ns {
                values::duration(out, before, value_ns);
            }
        });
    }

    fn flag(&mut self, field: Field, value: impl Fn(&R) -> bool) {
        self.write(field, value, values::flag);
    }

    fn category<C: Category>(&mut self, field: Field, value: impl Fn(&R) -> C) {
        self.write(field, |row| value(row).name(), values::name);
    }

    fn text(&mut self, field: Field, value: impl Fn(&R) -> &'static str) {
        self.write(field, value, values::name);
    }

    fn address(&mut self, field: Field, value: impl Fn(&R) -> IpAddr) {
        self.write(field, value, values::address);
    }
}
