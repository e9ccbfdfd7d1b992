//! Hops. A relay, or a host that is called and calls others, lies on a path from a first client to a last
//! server: what each hop of such a path loses.

use crate::judge::causes::Cause;
use crate::judge::findings::Findings;
use crate::judge::judged::JudgedConnection;
use crate::judge::nodelay::NagleTotals;
use crate::judge::relays::PassedOn;
use crate::result::scan::Scan;
use crate::track::{Endpoint, Side};
use foldhash::fast::RandomState;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::Hash;
use std::net::IpAddr;

/// The connections between two hosts that lie on a path over a third.
#[derive(Debug, Clone)]
pub struct Hop {
    /// 1 for the hop that begins at the first client.
    pub number: u32,
    /// The hosts that call; usually many at the first hop.
    pub clients: BTreeSet<IpAddr>,
    pub server: IpAddr,
    pub port: u16,
    pub connections: u64,
    pub exchanges: u64,
    pub client_stalls: u64,
    pub server_stalls: u64,
    pub stalled_ns: i64,
    /// Waits of this hop for a hop before or behind it, whose data was passed on.
    pub passed_on: u64,
    pub passed_on_ns: i64,
    pub latency_ns: i64,
    /// Of the client's and the server's sockets.
    pub nagle: [NagleTotals; 2],
}

/// Longer chains are no path, but hosts that call each other.
const MAX_HOPS: u32 = 8;

/// The hops of all paths over a relay that was seen to pass on, in their order; where none was, of those
/// over a host between.
pub fn hops(scan: &Scan) -> Vec<Hop> {
    let relayed = relayed(scan);
    if relayed.is_empty() { between(scan) } else { relayed }
}

/// Of the servers between which something was passed on.
fn relayed(scan: &Scan) -> Vec<Hop> {
    let server = |connection: u32| {
        let at = scan.connections.index_of(connection)?;
        Some(scan.connections[at].half(Side::Server).endpoint)
    };
    // A relay is the server of one hop and the client of the next one, whichever way something goes.
    let call = |row: &PassedOn| match row.by {
        Side::Server => Some((server(row.connection)?, server(row.upstream)?)),
        Side::Client => Some((server(row.upstream)?, server(row.connection)?)),
    };
    let calls: BTreeSet<(Endpoint, Endpoint)> = scan.passed_on.iter().filter_map(call).collect();
    let Some(depths) = depths(&calls) else {
        return Vec::new();
    };
    let outermost = calls.iter().map(|(outer, _)| (*outer, 0));
    let numbers: BTreeMap<Endpoint, u32> = outermost.chain(depths).collect();
    let mut hops: BTreeMap<(u32, Endpoint), Hop> = BTreeMap::new();
    for (index, judged) in scan.connections.iter().enumerate() {
        let server = judged.half(Side::Server).endpoint;
        let Some(number) = numbers.get(&server).map(|depth| depth + 1) else { continue };
        let hop = hops.entry((number, server));
        hop.or_insert_with(|| Hop::new(number, server.addr, server.port))
            .add(judged, scan.findings_of(index));
    }
    hops.into_values().collect()
}

/// Of paths over at least one host between; none where no host is seen on both sides. By addresses: what a
/// host calls itself (loopback) shows no path.
fn between(scan: &Scan) -> Vec<Hop> {
    // There are many connections between few hosts.
    let calls: HashSet<(IpAddr, IpAddr), RandomState> =
        scan.connections.iter().filter_map(call).collect();
    let calls: BTreeSet<(IpAddr, IpAddr)> = calls.into_iter().collect();
    let Some(depths) = depths(&calls).filter(|depths| depths.values().any(|&depth| depth > 1))
    else {
        return Vec::new();
    };
    let relays: BTreeSet<IpAddr> =
        calls.iter().map(|(client, _)| *client).filter(|addr| depths.contains_key(addr)).collect();
    let mut hops: BTreeMap<(u32, Option<IpAddr>, IpAddr, u16), Hop> = BTreeMap::new();
    for (index, judged) in scan.connections.iter().enumerate() {
        let Some((client, server)) = call(judged) else { continue };
        if !relays.contains(&client) && !relays.contains(&server) {
            continue;
        }
        let number = depths.get(&client).map_or(1, |depth| depth + 1);
        let port = judged.half(Side::Server).endpoint.port;
        let relay = relays.contains(&client).then_some(client);
        let hop = hops.entry((number, relay, server, port));
        hop.or_insert_with(|| Hop::new(number, server, port)).add(judged, scan.findings_of(index));
    }
    hops.into_values().collect()
}

impl Hop {
    fn new(number: u32, server: IpAddr, port: u16) -> Self {
        Self {
            number,
            clients: BTreeSet::new(),
            server,
            port,
            connections: 0,
            exchanges: 0,
            client_stalls: 0,
            server_stalls: 0,
            stalled_ns: 0,
            passed_on: 0,
            passed_on_ns: 0,
            latency_ns: 0,
            nagle: [NagleTotals::default(); 2],
        }
    }

    fn add(&mut self, judged: &JudgedConnection, findings: Findings<'_>) {
        let by = |side: Side| {
            let stalls = findings.iter().filter(|row| row.cause.is_stall() && row.wait.by == side);
            stalls.count() as u64
        };
        let passed_on = || findings.iter().filter(|row| row.cause == Cause::PassedOn);
        self.clients.insert(judged.half(Side::Client).endpoint.addr);
        self.connections += 1;
        self.exchanges += u64::from(judged.exchanges);
        self.client_stalls += by(Side::Client);
        self.server_stalls += by(Side::Server);
        self.stalled_ns += judged.stalled_ns;
        self.passed_on += passed_on().count() as u64;
        self.passed_on_ns += passed_on().map(|row| row.wait.wait_ns()).sum::<i64>();
        for side in Side::BOTH {
            self.nagle[side as usize] += NagleTotals::of(judged.half(side).nagle);
        }
        self.latency_ns = self.latency_ns.saturating_add(judged.latency_ns);
    }
}

/// Who called whom, if data was sent.
fn call(judged: &JudgedConnection) -> Option<(IpAddr, IpAddr)> {
    let [client, server] = judged.halves.each_ref().map(|end| end.endpoint.addr);
    let data = judged.halves.iter().any(|end| end.bytes > 0);
    (data && client != server).then_some((client, server))
}

/// For each that is called, the number of hops from the first client. `None` where they call each other in
/// a circle.
fn depths<T: Copy + Eq + Hash>(calls: &BTreeSet<(T, T)>) -> Option<HashMap<T, u32>> {
    let mut depths: HashMap<T, u32> = calls.iter().map(|(_, server)| (*server, 1)).collect();
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

    fn calls(pairs: &[(u8, u8)]) -> BTreeSet<(IpAddr, IpAddr)> {
        let addr = |last: u8| IpAddr::from([10, 0, 0, last]);
        pairs.iter().map(|&(client, server)| (addr(client), addr(server))).collect()
    }

    #[test]
    fn a_host_that_is_called_and_calls_is_a_hop() {
        let depths = depths(&calls(&[(1, 2), (2, 3), (3, 4), (1, 9)])).unwrap();
        let depth = |last: u8| depths[&IpAddr::from([10, 0, 0, last])];
        assert_eq!([depth(2), depth(3), depth(4), depth(9)], [1, 2, 3, 1]);
    }

    #[test]
    fn clients_and_servers_alone_are_no_path() {
        let depths = depths(&calls(&[(1, 2), (3, 2), (1, 4)])).unwrap();
        assert!(depths.values().all(|&depth| depth == 1));
    }

    #[test]
    fn hosts_that_call_each_other_have_no_order() {
        assert!(depths(&calls(&[(1, 2), (2, 1)])).is_none());
    }
}
