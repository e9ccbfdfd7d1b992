//! Is `TCP_NODELAY` in effect? What the connections of one party show.

use crate::flow::Side;
use crate::scan::Scan;
use crate::variant::Variant;
use crate::verdict::{Nagle, Verdict};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::net::IpAddr;

/// A server's sockets, or those of a client host to one server port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Party {
    is_server: bool,
    pub addr: IpAddr,
    pub server_port: u16,
}

/// What the wire shows of Nagle's algorithm for the sockets of one party. Counts are connections
/// with data from that side; there may be millions of parties, so of each proof only the index of
/// the connection is kept.
#[derive(Debug, Clone, Default)]
pub struct NagleCount {
    pub on: u32,
    pub off: u32,
    pub unknown: u32,
    /// Where each of them was seen first, if it was.
    first_on: u32,
    first_off: u32,
    first_variant: u32,
    variant: Variant,
}

impl Party {
    pub fn side(&self) -> Side {
        Side::BOTH[usize::from(self.is_server)]
    }
}

/// The parties that sent data, the one with most connections first.
pub fn nagle_counts(scan: &Scan, limit: usize) -> Vec<(Party, NagleCount)> {
    let mut counts: HashMap<Party, NagleCount, RandomState> = HashMap::default();
    for (index, verdict) in scan.verdicts.iter().enumerate() {
        for side in Side::BOTH.into_iter().filter(|side| verdict.end(*side).bytes > 0) {
            let server_port = verdict.end(Side::Server).endpoint.port;
            let addr = verdict.end(side).endpoint.addr;
            let party = Party { is_server: side == Side::Server, addr, server_port };
            counts.entry(party).or_default().add(verdict, side, index as u32);
        }
    }
    let order = |(party, count): &(&Party, &NagleCount)| {
        let known = count.on + count.off > 0;
        let connections = count.on + count.off + count.unknown;
        (!known, Reverse(connections), party.is_server, party.server_port, party.addr)
    };
    let mut first: Vec<_> = counts.iter().collect();
    if limit < first.len() {
        first.select_nth_unstable_by_key(limit, order);
        first.truncate(limit);
    }
    first.sort_unstable_by_key(order);
    first.into_iter().map(|(party, count)| (*party, count.clone())).collect()
}

impl NagleCount {
    fn add(&mut self, verdict: &Verdict, side: Side, index: u32) {
        let end = verdict.end(side);
        let (count, first) = match end.nagle {
            Nagle::On => (&mut self.on, &mut self.first_on),
            Nagle::Off => (&mut self.off, &mut self.first_off),
            Nagle::Unknown => {
                self.unknown += 1;
                return;
            }
        };
        if *count == 0 {
            *first = index;
        }
        *count += 1;
        let variant = end.detail().variant;
        if self.variant == Variant::Unknown && variant != Variant::Unknown {
            (self.variant, self.first_variant) = (variant, index);
        }
    }

    /// One connection and two frames that prove `on`.
    pub fn on_proof(&self, scan: &Scan, side: Side) -> Option<(u32, u64, u64)> {
        (self.on > 0).then(|| proof(scan, self.first_on, side))
    }

    /// As `on_proof`.
    pub fn off_proof(&self, scan: &Scan, side: Side) -> Option<(u32, u64, u64)> {
        (self.off > 0).then(|| proof(scan, self.first_off, side))
    }

    /// Which of Nagle's algorithms one of these connections shows, with its proof.
    pub fn variant(&self, scan: &Scan, side: Side) -> Option<(Variant, u32, u64, u64)> {
        let verdict = &scan.verdicts[self.first_variant as usize];
        let (full, small) = verdict.end(side).detail().variant_proof;
        (self.variant != Variant::Unknown).then_some((self.variant, verdict.id, full, small))
    }
}

fn proof(scan: &Scan, index: u32, side: Side) -> (u32, u64, u64) {
    let verdict = &scan.verdicts[index as usize];
    let (first, second) = verdict.end(side).proof;
    (verdict.id, first, second)
}
