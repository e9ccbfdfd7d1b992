//! Answers about `TCP_NODELAY` as Python sees them.

use crate::result::nagle_counts::{NagleCount, NagleParty};
use crate::result::scan::Scan;
use pyo3::prelude::*;

/// What the wire shows of `TCP_NODELAY` on one party's sockets; proofs are (connection, frame,
/// frame).
#[pyclass(frozen, get_all)]
pub struct NagleRow {
    pub side: &'static str,
    pub addr: String,
    pub server_port: u16,
    pub on: u32,
    pub off: u32,
    pub unknown: u32,
    pub switched: u32,
    pub on_proof: Option<(u32, u32, u32)>,
    pub off_proof: Option<(u32, u32, u32)>,
    pub switched_proof: Option<(u32, u32, u32)>,
    pub variant: Option<(&'static str, u32, u32, u32)>,
}

impl NagleRow {
    pub fn new(scan: &Scan, party: NagleParty, count: &NagleCount) -> Self {
        let side = party.side();
        let [on_proof, off_proof, switched_proof] = count.proofs(scan, side);
        Self {
            side: side.name(),
            addr: scan.names.addr(party.addr),
            server_port: party.server_port,
            on: count.totals.on,
            off: count.totals.off,
            unknown: count.totals.unknown,
            switched: count.totals.switched,
            on_proof,
            off_proof,
            switched_proof,
            variant: count.variant(scan, side).map(|(variant, connection, full, small)| {
                (variant.name(), connection, full, small)
            }),
        }
    }
}
