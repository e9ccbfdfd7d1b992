//! The connections of a result in parts of about the same size, to be serialised on all cores.

use super::listed::{explained, is_listed};
use super::members::{object, open_object};
use crate::judge::finding::judged::JudgedConnection;
use crate::judge::findings::Findings;
use crate::output::fields::{NamedConnection, StallRow};
use crate::result::scan::Scan;
use std::ops::Range;

/// Rows and connections in a part: enough to make the hand-over cheap.
const MOST: usize = 1024;
/// A stall takes up to this many bytes; nothing else takes more.
const ROW_LEN: usize = 768;

/// What one core serialises at once.
pub enum JsonPart {
    /// Whole connections, as far as they are listed.
    Connections(Range<usize>),
    /// A connection with many rows: what comes before them,
    Open(usize),
    /// the stalls among some of its findings, and how many of all its findings are explained,
    Stalls(usize, Range<usize>, usize),
    /// what comes between stalls and waits,
    Between,
    /// the other waits among some of its findings,
    Waits(usize, Range<usize>),
    /// and the end.
    Close,
}

/// All listed connections of `scan`, in order.
pub fn parts(scan: &Scan) -> Vec<JsonPart> {
    let mut parts = Vec::new();
    let (mut begin, mut size) = (0, 0);
    for index in 0..scan.connections.len() {
        let rows = scan.findings_of(index).len();
        if size + rows >= MOST {
            parts.push(JsonPart::Connections(begin..index));
            (begin, size) = (index, 0);
        }
        if rows >= MOST {
            parts.extend(of_one(index, rows, explained(scan, index)));
            begin = index + 1;
        } else {
            size += usize::from(is_listed(scan, index)) + rows;
        }
    }
    parts.push(JsonPart::Connections(begin..scan.connections.len()));
    parts
}

/// A connection with many rows.
fn of_one(index: usize, rows: usize, explained: usize) -> impl Iterator<Item = JsonPart> {
    let blocks = move || (0..rows).step_by(MOST).map(move |at| at..(at + MOST).min(rows));
    let stalls = blocks().map(move |block| JsonPart::Stalls(index, block, explained));
    let waits = blocks().map(move |block| JsonPart::Waits(index, block));
    let open = std::iter::once(JsonPart::Open(index));
    open.chain(stalls).chain([JsonPart::Between]).chain(waits).chain([JsonPart::Close])
}

impl JsonPart {
    /// As JSON; a comma comes before what is a member of an array, even the first.
    pub fn serialized(&self, scan: &Scan) -> Vec<u8> {
        let mut out = Vec::with_capacity(MOST * ROW_LEN);
        match self {
            Self::Connections(indices) => {
                for index in indices.clone().filter(|&index| is_listed(scan, index)) {
                    connection(&mut out, scan, index);
                }
            }
            Self::Open(index) => open(&mut out, NamedConnection::of(scan, *index)),
            Self::Stalls(index, block, explained) => {
                let findings = scan.findings_of(*index).slice(block.clone());
                let explained = explained.saturating_sub(block.start);
                stalls(&mut out, findings, explained, &scan.connections[*index]);
            }
            Self::Between => out.extend_from_slice(BETWEEN),
            Self::Waits(index, block) => {
                waits(&mut out, scan.findings_of(*index).slice(block.clone()));
            }
            Self::Close => out.extend_from_slice(CLOSE),
        }
        out
    }
}

const STALLS: &[u8] = br#","stalls":["#;
const BETWEEN: &[u8] = br#"],"waits":["#;
const CLOSE: &[u8] = b"]}";

/// All of a connection.
fn connection(out: &mut Vec<u8>, scan: &Scan, index: usize) {
    let (findings, judged) = (scan.findings_of(index), &scan.connections[index]);
    open(out, NamedConnection::of(scan, index));
    stalls(out, findings, explained(scan, index), judged);
    out.extend_from_slice(BETWEEN);
    waits(out, findings);
    out.extend_from_slice(CLOSE);
}

/// What comes before the rows.
fn open(out: &mut Vec<u8>, connection: NamedConnection<'_>) {
    open_object(out, &connection);
    out.extend_from_slice(STALLS);
}

/// The stalls among `findings`. Of the first `explained` findings, those that are stalls say why they
/// are believed.
fn stalls(out: &mut Vec<u8>, findings: Findings<'_>, explained: usize, judged: &JudgedConnection) {
    for (at, finding) in findings.iter().enumerate().filter(|(_, row)| row.is_stall()) {
        object(out, &StallRow { finding, judged, is_explained: at < explained });
    }
}

/// The other waits.
fn waits(out: &mut Vec<u8>, findings: Findings<'_>) {
    for finding in findings.iter().filter(|finding| !finding.is_stall()) {
        object(out, &finding);
    }
}
