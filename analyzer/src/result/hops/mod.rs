//! Hops. What each hop loses on a path from a first client over relays to a last server.

pub mod without;

use crate::capture::times::sum_ns;
use crate::judge::causes::Cause;
use crate::judge::finding::judged::JudgedConnection;
use crate::judge::nagle::nodelay::NagleTotals;
use crate::judge::pooled::relays::PassedOn;
use crate::result::scan::Scan;
use crate::track::{Endpoint, Side};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// The connections to a server on a path over relays.
#[derive(Debug, Clone)]
pub struct Hop {
    /// Counts the paths that have nothing in common, from 1.
    pub chain: u32,
    /// 1 for the hop that begins at the first client.
    pub number: u32,
    /// The hosts that call; usually many at the first hop.
    pub clients: BTreeSet<IpAddr>,
    /// The relays that were seen to be these clients, as they are called themselves.
    pub called_by: BTreeSet<Endpoint>,
    pub server: Endpoint,
    pub connections: u64,
    pub exchanges: u64,
    pub client_stalls: u64,
    pub server_stalls: u64,
    pub stalled_ns: i64,
    /// The part of it that lies within exchanges.
    pub exchanges_stalled_ns: i64,
    /// Waits of the client and the server for another hop, of which they passed data on.
    pub passed_on: [u64; 2],
    pub passed_on_ns: [i64; 2],
    pub latency_ns: i64,
    /// Nagle's algorithm on the client's and the server's sockets.
    pub nagle: [NagleTotals; 2],
    /// Mean latency of the first hop without the stalls of this one, where that can be said.
    pub first_hop_without_ns: Option<i64>,
}

/// Longer chains are no path, but hosts that call each other.
const MAX_HOPS: u32 = 8;

/// Who calls whom: a relay is the second of one pair and the first of another.
type RelayCalls = BTreeSet<(Endpoint, Endpoint)>;

/// The chain of a server, and its number there.
type HopPlace = (u32, u32);

/// The hops of all paths over a relay that was seen to pass on, in their order.
pub fn hops(scan: &Scan) -> Vec<Hop> {
    let calls = calls(scan);
    let Some(places) = places(&calls).filter(|places| !places.is_empty()) else {
        return Vec::new();
    };
    let mut hops: BTreeMap<(HopPlace, Endpoint), Hop> = BTreeMap::new();
    let once = |(_, judged): &(usize, &JudgedConnection)| !judged.is_copy();
    for (index, judged) in scan.connections.iter().enumerate().filter(once) {
        let server = judged.half(Side::Server).endpoint;
        let Some(&place) = places.get(&server) else { continue };
        let hop = hops.entry((place, server)).or_insert_with(|| Hop::new(place, server));
        hop.add(scan, index);
    }
    for (outer, inner) in &calls {
        if let Some(hop) = hops.get_mut(&(places[inner], *inner)) {
            hop.called_by.insert(*outer);
        }
    }
    let mut hops: Vec<Hop> = hops.into_values().collect();
    hops.chunk_by_mut(|one, next| one.chain == next.chain).for_each(without::predict);
    hops
}

/// The calls of relays: such a host is the server of one hop and the client of the next one,
/// whichever way something goes.
fn calls(scan: &Scan) -> RelayCalls {
    let server = |connection: u32| {
        let at = scan.connections.index_of(connection)?;
        Some(scan.connections[at].half(Side::Server).endpoint)
    };
    let call = |row: &PassedOn| match row.by {
        Side::Server => Some((server(row.connection)?, server(row.upstream)?)),
        Side::Client => Some((server(row.upstream)?, server(row.connection)?)),
    };
    scan.passed_on.iter().filter_map(call).collect()
}

/// The place of each that calls or is called. `None` where they call each other in a circle.
fn places(calls: &RelayCalls) -> Option<BTreeMap<Endpoint, HopPlace>> {
    let depths = depths(calls)?;
    let number = |end: &Endpoint| depths.get(end).map_or(1, |depth| depth + 1);
    Some(chains(calls).into_iter().map(|(end, chain)| (end, (chain, number(&end)))).collect())
}

/// For each that calls or is called, the number of the group of those that are linked by calls.
fn chains(calls: &RelayCalls) -> BTreeMap<Endpoint, u32> {
    let mut chains: BTreeMap<Endpoint, u32> = BTreeMap::new();
    let mut next = 0;
    for (client, server) in calls {
        let known = [client, server].map(|end| chains.get(end).copied());
        let chain = known.into_iter().flatten().min().unwrap_or_else(|| {
            next += 1;
            next
        });
        for other in known.into_iter().flatten().filter(|&other| other != chain) {
            chains.values_mut().filter(|value| **value == other).for_each(|value| *value = chain);
        }
        chains.extend([(*client, chain), (*server, chain)]);
    }
    let used: BTreeSet<u32> = chains.values().copied().collect();
    let place = |chain: u32| used.range(..=chain).count() as u32;
    chains.into_iter().map(|(end, chain)| (end, place(chain))).collect()
}

impl Hop {
    fn new((chain, number): HopPlace, server: Endpoint) -> Self {
        Self {
            chain,
            number,
            clients: BTreeSet::new(),
            called_by: BTreeSet::new(),
            server,
            connections: 0,
            exchanges: 0,
            client_stalls: 0,
            server_stalls: 0,
            stalled_ns: 0,
            exchanges_stalled_ns: 0,
            passed_on: [0; 2],
            passed_on_ns: [0; 2],
            latency_ns: 0,
            nagle: [NagleTotals::default(); 2],
            first_hop_without_ns: None,
        }
    }

    pub fn mean_latency_ns(&self) -> Option<i64> {
        (self.exchanges > 0).then(|| self.latency_ns / self.exchanges as i64)
    }

    /// Adds the connection with this index, and of its stalls those that count.
    fn add(&mut self, scan: &Scan, index: usize) {
        let (judged, findings) = (&scan.connections[index], scan.findings_of(index));
        let stalls = findings.iter().filter(|row| scan.counts(row));
        let by = |side: Side| stalls.clone().filter(|row| row.wait.by == side).count() as u64;
        self.clients.insert(judged.half(Side::Client).endpoint.addr);
        self.connections += 1;
        self.exchanges += u64::from(judged.exchanges);
        self.client_stalls += by(Side::Client);
        self.server_stalls += by(Side::Server);
        self.stalled_ns = sum_ns(stalls.map(|row| row.lost_ns()).chain([self.stalled_ns]));
        if judged.surely_stalls || scan.totals.counts_possible() {
            self.exchanges_stalled_ns =
                sum_ns([self.exchanges_stalled_ns, judged.exchanges_stalled_ns]);
        }
        for row in findings.iter().filter(|row| row.cause == Cause::PassedOn) {
            self.passed_on[row.wait.by as usize] += 1;
            let sum_ns = &mut self.passed_on_ns[row.wait.by as usize];
            *sum_ns = sum_ns.saturating_add(row.lost_ns());
        }
        for side in Side::BOTH {
            self.nagle[side as usize].add(judged.half(side).nagle);
        }
        self.latency_ns = self.latency_ns.saturating_add(judged.latency_ns);
    }
}

/// For each that is called, the calls from the first relay to it. `None` if they form a circle.
fn depths(calls: &RelayCalls) -> Option<BTreeMap<Endpoint, u32>> {
    let mut depths: BTreeMap<Endpoint, u32> =
        calls.iter().map(|(_, server)| (*server, 1)).collect();
    for _ in 0..MAX_HOPS {
        let mut settled = true;
        for (client, server) in calls {
            let depth = depths.get(client).map_or(1, |depth| depth + 1);
            if depth > depths[server] {
                depths.insert(*server, depth);
                settled = false;
            }
        }
        if settled {
            return Some(depths);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(last: u8) -> Endpoint {
        Endpoint { addr: [10, 0, 0, last].into(), port: 9000 }
    }

    fn calls(pairs: &[(u8, u8)]) -> RelayCalls {
        pairs.iter().map(|&(client, server)| (end(client), end(server))).collect()
    }

    #[test]
    fn a_host_that_is_called_and_calls_is_a_hop() {
        let depths = depths(&calls(&[(1, 2), (2, 3), (3, 4), (1, 9)])).unwrap();
        let depth = |last: u8| depths[&end(last)];
        assert_eq!([depth(2), depth(3), depth(4), depth(9)], [1, 2, 3, 1]);
    }

    #[test]
    fn clients_and_servers_alone_are_no_path() {
        let depths = depths(&calls(&[(1, 2), (3, 2), (1, 4)])).unwrap();
        assert!(depths.values().all(|&depth| depth == 1));
    }

    #[test]
    fn paths_with_nothing_in_common_are_counted() {
        let chains = chains(&calls(&[(1, 2), (3, 4), (5, 6), (2, 6), (7, 3)]));
        let chain = |last: u8| chains[&end(last)];
        assert_eq!([1, 2, 5, 6].map(chain), [1; 4]);
        assert_eq!([3, 4, 7].map(chain), [2; 3]);
    }

    #[test]
    fn hosts_that_call_each_other_have_no_order() {
        assert!(depths(&calls(&[(1, 2), (2, 1)])).is_none());
    }
}
