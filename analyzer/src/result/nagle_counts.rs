//! Is `TCP_NODELAY` in effect? What the connections of one party show.

use crate::cores;
use crate::judge::finding::judged::{JudgedConnection, JudgedHalf};
use crate::judge::nagle::nodelay::{Nagle, NagleTotals};
use crate::judge::nagle::variant::Variant;
use crate::result::connections::runs_of_servers;
use crate::result::first::first_by_key;
use crate::result::scan::Scan;
use crate::track::{Endpoint, Side};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::net::IpAddr;

/// A server's sockets, or those of a client host to one server port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NagleParty {
    is_server: bool,
    pub addr: IpAddr,
    pub server_port: u16,
}

/// Nagle's algorithm on the sockets of one party, as the wire shows it. Counts are connections with
/// data from that side. Of a proof only the connection is kept: parties may be millions.
#[derive(Debug, Clone)]
pub struct NagleCount {
    pub totals: NagleTotals,
    /// The first connection that shows each answer, if one does.
    first: [u32; 4],
    first_variant: u32,
    variant: Variant,
}

impl NagleParty {
    pub fn side(&self) -> Side {
        Side::BOTH[usize::from(self.is_server)]
    }
}

type Counts = HashMap<NagleParty, NagleCount, RandomState>;

/// The parties that sent data, and how many there are in all: those that lose most to stalls come
/// first, then the one with most connections.
pub fn nagle_counts(scan: &Scan, limit: usize) -> (Vec<(NagleParty, NagleCount)>, usize) {
    let blame = blame(scan);
    let order = |(party, count): &(NagleParty, NagleCount)| {
        let known = count.totals.connections() > count.totals.of(Nagle::Unknown);
        (
            Reverse(blame.get(party).copied()),
            !known,
            Reverse(count.totals.connections()),
            party.is_server,
            party.server_port,
            party.addr,
        )
    };
    let all = all_counts(scan);
    let total = all.len();
    (first_by_key(all, limit, order), total)
}

/// Time that the stalls of each party cost, in ns.
fn blame(scan: &Scan) -> HashMap<NagleParty, i64, RandomState> {
    let mut blame = HashMap::default();
    for index in scan.affected() {
        let judged = &scan.connections[index];
        let server_port = judged.half(Side::Server).endpoint.port;
        for stall in scan.findings_of(index).stalls() {
            let (by, is_server) = (stall.wait.by, stall.wait.by == Side::Server);
            let party = NagleParty { is_server, addr: judged.half(by).endpoint.addr, server_port };
            let lost_ns: &mut i64 = blame.entry(party).or_default();
            *lost_ns = lost_ns.saturating_add(stall.lost_ns());
        }
    }
    blame
}

/// Counts all connections, an equal part of them in each thread.
fn all_counts(scan: &Scan) -> Counts {
    let blocks: Vec<&[JudgedConnection]> = scan.connections.blocks().collect();
    let len = blocks.len().div_ceil(scan.threads);
    let counts = cores::of_pieces(scan.threads, &blocks, len, counts);
    let add = |mut all: Counts, more: Counts| {
        more.iter().for_each(|(party, more)| all.entry(*party).or_default().add(more));
        all
    };
    counts.into_iter().reduce(add).unwrap_or_default()
}

/// Counts the connections of some blocks.
fn counts(blocks: &[&[JudgedConnection]]) -> Counts {
    let mut counts = Counts::default();
    for run in blocks.iter().flat_map(|block| runs_of_servers(block)) {
        let Endpoint { addr, port: server_port } = run[0].half(Side::Server).endpoint;
        let mut server = NagleCount::default();
        for judged in run.iter().filter(|judged| !judged.is_copy()) {
            if judged.half(Side::Client).bytes > 0 {
                let addr = judged.half(Side::Client).endpoint.addr;
                let client = NagleParty { is_server: false, addr, server_port };
                counts.entry(client).or_default().add_one(judged, Side::Client);
            }
            if judged.half(Side::Server).bytes > 0 {
                server.add_one(judged, Side::Server);
            }
        }
        if server.totals.connections() > 0 {
            let party = NagleParty { is_server: true, addr, server_port };
            counts.entry(party).or_default().add(&server);
        }
    }
    counts
}

impl Default for NagleCount {
    fn default() -> Self {
        let none = u32::MAX;
        Self {
            totals: NagleTotals::default(),
            first: [none; 4],
            first_variant: none,
            variant: Variant::Unknown,
        }
    }
}

impl NagleCount {
    /// Adds what one connection shows.
    fn add_one(&mut self, judged: &JudgedConnection, side: Side) {
        let (end, id) = (judged.half(side), judged.id);
        self.totals.add(end.nagle);
        let first = &mut self.first[end.nagle as usize];
        *first = id.min(*first);
        let variant = end.detail.as_ref().map_or(Variant::Unknown, |detail| detail.variant);
        if variant != Variant::Unknown && id < self.first_variant {
            (self.variant, self.first_variant) = (variant, id);
        }
    }

    /// Adds those of other connections.
    fn add(&mut self, more: &Self) {
        for (first, more) in self.first.iter_mut().zip(more.first) {
            *first = more.min(*first);
        }
        if more.first_variant < self.first_variant {
            (self.variant, self.first_variant) = (more.variant, more.first_variant);
        }
        self.totals += more.totals;
    }

    /// One connection and two frames that prove `on`, `off` and `switched`.
    pub fn proofs(&self, scan: &Scan, side: Side) -> [Option<(u32, u32, u32)>; 3] {
        [Nagle::On, Nagle::Off, Nagle::Switched].map(|nagle| {
            let id = self.first[nagle as usize];
            let (first, second) = half(scan, id, side)?.proof;
            Some((id, first, second))
        })
    }

    /// Which of Nagle's algorithms one of these connections shows, with its proof.
    pub fn variant(&self, scan: &Scan, side: Side) -> Option<(Variant, u32, u32, u32)> {
        let (full, small) = half(scan, self.first_variant, side)?.detail().variant_proof;
        Some((self.variant, self.first_variant, full, small))
    }
}

/// An end of a connection, if it is there.
fn half(scan: &Scan, id: u32, side: Side) -> Option<&JudgedHalf> {
    scan.connections.index_of(id).map(|index| scan.connections[index].half(side))
}
