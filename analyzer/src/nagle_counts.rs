//! Is `TCP_NODELAY` in effect? What the connections of one party show.

use crate::flow::{Endpoint, Side};
use crate::scan::Scan;
use crate::summary::first_by_key;
use crate::variant::Variant;
use crate::verdict::{NagleTotals, Verdict};
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

/// Of each side so many parties are counted of which nothing is known, those that come first: few are
/// listed, and there may be millions.
const MOST_UNKNOWN: usize = 1 << 14;

/// The parties that sent data, those first of which something is known, then the one with most
/// connections.
pub fn nagle_counts(scan: &Scan, limit: usize) -> Vec<(Party, NagleCount)> {
    let order = |(party, count): &(Party, NagleCount)| {
        (
            !count.is_known(),
            Reverse(count.totals.connections()),
            party.is_server,
            party.server_port,
            party.addr,
        )
    };
    first_by_key(counted(|| seen(scan), MOST_UNKNOWN).into_iter().collect(), limit, order)
}

/// What the connections show of their parties, in the order of their numbers; of a server that has
/// several in a row, at once.
fn seen(scan: &Scan) -> impl Iterator<Item = (Party, NagleCount)> {
    let of_one_server =
        |a: &Verdict, b: &Verdict| a.end(Side::Server).endpoint == b.end(Side::Server).endpoint;
    let runs = scan.verdicts.blocks().flat_map(move |block| block.chunk_by(of_one_server));
    let with_index = |next: &mut u32, run| {
        let first = *next;
        *next += <[Verdict]>::len(run) as u32;
        Some((first, run))
    };
    runs.scan(0, with_index).flat_map(seen_in)
}

/// As `seen`, of connections to one server, of which the first has the index `first`.
fn seen_in((first, run): (u32, &[Verdict])) -> impl Iterator<Item = (Party, NagleCount)> {
    let Endpoint { addr, port: server_port } = run[0].end(Side::Server).endpoint;
    let of_side = move |side: Side| {
        let sent = move |(_, verdict): &(u32, &Verdict)| verdict.end(side).bytes > 0;
        (first..).zip(run).filter(sent)
    };
    let clients = of_side(Side::Client).map(move |(index, verdict)| {
        let addr = verdict.end(Side::Client).endpoint.addr;
        let party = Party { is_server: false, addr, server_port };
        (party, NagleCount::of(verdict, Side::Client, index))
    });
    let server = of_side(Side::Server)
        .map(|(index, verdict)| NagleCount::of(verdict, Side::Server, index))
        .reduce(NagleCount::and_later);
    let party = Party { is_server: true, addr, server_port };
    clients.chain(server.map(|count| (party, count)))
}

type Counts = HashMap<Party, NagleCount, RandomState>;

/// Adds up what was `seen`: of all parties of which something is known, and of up to `most_unknown`
/// others of each side.
fn counted<I: Iterator<Item = (Party, NagleCount)>>(
    seen: impl Fn() -> I,
    most_unknown: usize,
) -> Counts {
    let mut counts = Counts::default();
    let mut unknown = [0; 2];
    let (mut left_out, mut known_late) = (false, false);
    for (party, one) in seen() {
        let unknown = &mut unknown[party.side() as usize];
        if let Some(count) = counts.get_mut(&party) {
            count.add_later(&one);
        } else if one.is_known() {
            known_late |= left_out;
            counts.insert(party, one);
        } else if *unknown < most_unknown {
            *unknown += 1;
            counts.insert(party, one);
        } else {
            left_out = true;
        }
    }
    if known_late {
        // Connections of the same party may have been left out before.
        counts.values_mut().for_each(|count| *count = NagleCount::default());
        for (party, one) in seen() {
            if let Some(count) = counts.get_mut(&party) {
                count.add_later(&one);
            }
        }
    }
    counts
}

impl NagleCount {
    /// What one connection shows.
    fn of(verdict: &Verdict, side: Side, index: u32) -> Self {
        let end = verdict.end(side);
        Self {
            totals: NagleTotals::of(end.nagle),
            first_on: index,
            first_off: index,
            first_variant: index,
            variant: end.detail().variant,
        }
    }

    fn is_known(&self) -> bool {
        self.totals.on + self.totals.off > 0
    }

    /// Adds those of connections with higher numbers.
    fn and_later(mut self, more: Self) -> Self {
        self.add_later(&more);
        self
    }

    /// As `and_later`.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Nagle;
    use std::net::Ipv4Addr;

    fn one(client: u32, nagle: Nagle, index: u32) -> (Party, NagleCount) {
        let addr = Ipv4Addr::from(client).into();
        let count = NagleCount {
            totals: NagleTotals::of(nagle),
            first_on: index,
            first_off: index,
            first_variant: index,
            variant: Variant::Unknown,
        };
        (Party { is_server: false, addr, server_port: 80 }, count)
    }

    /// A client of which nothing is known for long, behind many others of which nothing is ever known.
    #[test]
    fn of_a_party_that_is_known_late_all_connections_count() {
        let unknown = (0..100).flat_map(|index| [index, index / 2 * 2]);
        let late = [Nagle::Off, Nagle::Unknown, Nagle::On, Nagle::Off].map(|nagle| (70, nagle));
        let seen = unknown.map(|client| (client, Nagle::Unknown)).chain(late);
        let seen = (0..).zip(seen).map(|(index, (client, nagle))| one(client, nagle, index));
        let few = counted(|| seen.clone(), 10);
        let all = counted(|| seen.clone(), usize::MAX);
        assert_eq!((few.len(), all.len()), (11, 100));
        for (party, count) in &few {
            assert_eq!(format!("{count:?}"), format!("{:?}", all[party]));
        }
        let late = &few[&one(70, Nagle::Off, 0).0];
        assert_eq!((late.totals.on, late.totals.off, late.totals.unknown), (1, 2, 4));
        assert_eq!((late.first_on, late.first_off), (202, 200));
    }
}
