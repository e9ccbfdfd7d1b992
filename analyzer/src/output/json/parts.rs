//! The listed connections of a result, serialised on all cores.

use super::listed::ListedRows;
use super::members::{array, open_object};
use crate::cores::in_order;
use crate::output::fields::{NamedConnection, StallRow};
use crate::output::values;
use crate::result::scan::Scan;
use std::io::{self, Write};
use std::mem;

/// Connections that one core serialises at once.
const AT_ONCE: usize = 64;

/// Writes the connections in their order, separated by commas.
pub fn write_connections(
    scan: &Scan,
    listed: &ListedRows,
    writer: &mut impl Write,
) -> io::Result<()> {
    let parts: Vec<&[usize]> = listed.connections.chunks(AT_ONCE).collect();
    // A comma comes before each, which the first must not have.
    let mut begin = 1;
    in_order(
        scan.threads,
        parts.len(),
        |part| {
            let mut out = Vec::new();
            parts[part].iter().for_each(|&index| connection(&mut out, scan, index, listed));
            out
        },
        |bytes| writer.write_all(&bytes[mem::take(&mut begin)..]),
    )
}

fn connection(out: &mut Vec<u8>, scan: &Scan, index: usize, listed: &ListedRows) {
    let judged = &scan.connections[index];
    open_object(out, &NamedConnection::of(scan, index));
    let stalls = listed.stalls.rows(scan, index).into_iter();
    values::name(out, ",\"stalls\":", "");
    array(out, stalls.map(|finding| StallRow::with(scan, judged, finding)));
    values::name(out, ",\"waits\":", "");
    array(out, listed.waits.rows(scan, index));
    not_listed(out, ",\"stalls_not_listed\":", listed.stalls.rest(scan, index));
    not_listed(out, ",\"waits_not_listed\":", listed.waits.rest(scan, index));
    out.push(b'}');
}

fn not_listed(out: &mut Vec<u8>, member: &str, count: usize) {
    if count > 0 {
        values::integer(out, member, count);
    }
}
