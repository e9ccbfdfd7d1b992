//! Is `TCP_NODELAY` in effect? What the connections of one party show.

use crate::flow::Side;
use crate::judge::{Nagle, Verdict};
use crate::scan::Scan;
use crate::variant::Variant;
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::net::IpAddr;

/// What the wire shows of Nagle's algorithm for the sockets of one party: a server's, or those of a
/// client host to one server port. Counts are connections with data from that side.
#[derive(Debug, Clone, Default)]
pub struct NagleCount {
    pub on: u64,
    pub off: u64,
    pub unknown: u64,
    /// One connection and two frames that prove `on`, and `off`.
    pub on_proof: Option<(u32, u64, u64)>,
    pub off_proof: Option<(u32, u64, u64)>,
    /// Which of Nagle's algorithms one of these connections shows, with its proof.
    pub variant: Option<(Variant, u32, u64, u64)>,
}

/// The parties that sent data, the one with most connections first.
pub fn nagle_counts(scan: &Scan, limit: usize) -> Vec<((Side, IpAddr, u16), NagleCount)> {
    let mut counts: HashMap<(bool, IpAddr, u16), NagleCount, RandomState> = HashMap::default();
    for verdict in &scan.verdicts {
        for side in Side::BOTH.into_iter().filter(|side| verdict.end(*side).bytes > 0) {
            let server_port = verdict.end(Side::Server).endpoint.port;
            let addr = verdict.end(side).endpoint.addr;
            counts.entry((side == Side::Client, addr, server_port)).or_default().add(verdict, side);
        }
    }
    let mut counts: Vec<_> = counts
        .into_iter()
        .map(|((client, addr, port), count)| {
            ((if client { Side::Client } else { Side::Server }, addr, port), count)
        })
        .collect();
    counts.sort_by_key(|((side, addr, port), count)| {
        let known = count.on + count.off > 0;
        let connections = count.on + count.off + count.unknown;
        (!known, std::cmp::Reverse(connections), *side as u8, *port, *addr)
    });
    counts.truncate(limit);
    counts
}

impl NagleCount {
    fn add(&mut self, verdict: &Verdict, side: Side) {
        let end = verdict.end(side);
        let proof = (verdict.id, end.detail().proof.0, end.detail().proof.1);
        match end.nagle {
            Nagle::On => {
                self.on += 1;
                self.on_proof.get_or_insert(proof);
                if end.detail().variant != Variant::Unknown {
                    let (full, small) = end.detail().variant_proof;
                    self.variant.get_or_insert((end.detail().variant, verdict.id, full, small));
                }
            }
            Nagle::Off => {
                self.off += 1;
                self.off_proof.get_or_insert(proof);
            }
            Nagle::Unknown => self.unknown += 1,
        }
    }
}
