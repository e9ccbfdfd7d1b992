//! Is `TCP_NODELAY` in effect? What the connections of one party show.

use crate::judge::judged::JudgedConnection;
use crate::judge::nodelay::NagleTotals;
use crate::judge::variant::Variant;
use crate::result::scan::Scan;
use crate::result::worst::first_by_key;
use crate::track::{Endpoint, Side};
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
    pub totals: NagleTotals,
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
    let mut index = 0;
    let of_one_server = |a: &JudgedConnection, b: &JudgedConnection| {
        a.half(Side::Server).endpoint == b.half(Side::Server).endpoint
    };
    for run in scan.connections.blocks().flat_map(|block| block.chunk_by(of_one_server)) {
        let Endpoint { addr, port: server_port } = run[0].half(Side::Server).endpoint;
        let mut server = NagleCount::default();
        for judged in run {
            if judged.half(Side::Client).bytes > 0 {
                let addr = judged.half(Side::Client).endpoint.addr;
                let client = Party { is_server: false, addr, server_port };
                let one = NagleCount::of(judged, Side::Client, index);
                counts.entry(client).or_default().add_later(&one);
            }
            if judged.half(Side::Server).bytes > 0 {
                server.add_later(&NagleCount::of(judged, Side::Server, index));
            }
            index += 1;
        }
        if server.totals.connections() > 0 {
            let party = Party { is_server: true, addr, server_port };
            counts.entry(party).or_default().add_later(&server);
        }
    }
    let order = |(party, count): &(Party, NagleCount)| {
        let known = count.totals.on + count.totals.off > 0;
        (
            !known,
            Reverse(count.totals.connections()),
            party.is_server,
            party.server_port,
            party.addr,
        )
    };
    first_by_key(counts.into_iter().collect(), limit, order)
}

impl NagleCount {
    /// What one connection shows.
    fn of(judged: &JudgedConnection, side: Side, index: u32) -> Self {
        let end = judged.half(side);
        Self {
            totals: NagleTotals::of(end.nagle),
            first_on: index,
            first_off: index,
            first_variant: index,
            variant: end.detail().variant,
        }
    }

    /// Adds those of connections with higher numbers.
    fn add_later(&mut self, more: &Self) {
        if self.totals.on == 0 {
            self.first_on = more.first_on;
        }
        if self.totals.off == 0 {
            self.first_off = more.first_off;
        }
        if self.variant == Variant::Unknown {
            (self.variant, self.first_variant) = (more.variant, more.first_variant);
        }
        self.totals += more.totals;
    }

    /// One connection and two frames that prove `on`.
    pub fn on_proof(&self, scan: &Scan, side: Side) -> Option<(u32, u64, u64)> {
        (self.totals.on > 0).then(|| proof(scan, self.first_on, side))
    }

    /// As `on_proof`.
    pub fn off_proof(&self, scan: &Scan, side: Side) -> Option<(u32, u64, u64)> {
        (self.totals.off > 0).then(|| proof(scan, self.first_off, side))
    }

    /// Which of Nagle's algorithms one of these connections shows, with its proof.
    pub fn variant(&self, scan: &Scan, side: Side) -> Option<(Variant, u32, u64, u64)> {
        let judged = &scan.connections[self.first_variant as usize];
        let (full, small) = judged.half(side).detail().variant_proof;
        (self.variant != Variant::Unknown).then_some((self.variant, judged.id, full, small))
    }
}

fn proof(scan: &Scan, index: u32, side: Side) -> (u32, u64, u64) {
    let judged = &scan.connections[index as usize];
    let (first, second) = judged.half(side).proof;
    (judged.id, first, second)
}
