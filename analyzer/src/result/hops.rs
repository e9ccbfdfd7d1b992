//! Hops. A host that is called and calls others, as a proxy does, lies on a path from a first client to a
//! last server: what each hop of such a path loses.

use crate::judge::findings::Findings;
use crate::judge::judged::JudgedConnection;
use crate::result::scan::Scan;
use crate::track::Side;
use foldhash::fast::RandomState;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
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
    pub latency_ns: i64,
}

/// Longer chains are no path, but hosts that call each other.
const MAX_HOPS: u32 = 8;

/// The hops of all paths over at least one host between, in their order; none where no host is
/// seen on both sides. By addresses: what a host calls itself (loopback) shows no path.
pub fn hops(scan: &Scan) -> Vec<Hop> {
    // There are many connections between few hosts.
    let calls: HashSet<(IpAddr, IpAddr), RandomState> =
        scan.connections.iter().filter_map(call).collect();
    let calls: BTreeSet<(IpAddr, IpAddr)> = calls.into_iter().collect();
    let Some(depths) = depths(&calls) else {
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
        hop.or_insert_with(|| Hop::new(number, server, port)).add(
            judged,
            scan.findings_of(index),
            client,
        );
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
            latency_ns: 0,
        }
    }

    fn add(&mut self, judged: &JudgedConnection, findings: Findings<'_>, client: IpAddr) {
        let by = |side: Side| {
            let stalls = findings.iter().filter(|row| row.cause.is_stall() && row.wait.by == side);
            stalls.count() as u64
        };
        self.clients.insert(client);
        self.connections += 1;
        self.exchanges += u64::from(judged.exchanges);
        self.client_stalls += by(Side::Client);
        self.server_stalls += by(Side::Server);
        self.stalled_ns += judged.stalled_ns;
        self.latency_ns = self.latency_ns.saturating_add(judged.latency_ns);
    }
}

/// Who called whom, if data was sent.
fn call(judged: &JudgedConnection) -> Option<(IpAddr, IpAddr)> {
    let [client, server] = judged.halves.each_ref().map(|end| end.endpoint.addr);
    let data = judged.halves.iter().any(|end| end.bytes > 0);
    (data && client != server).then_some((client, server))
}

/// For each address that is called, the number of hops from the first client. `None` where
/// hosts call each other in a circle, or no host is called and calls.
fn depths(calls: &BTreeSet<(IpAddr, IpAddr)>) -> Option<HashMap<IpAddr, u32>> {
    let mut depths: HashMap<IpAddr, u32> = calls.iter().map(|(_, server)| (*server, 1)).collect();
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
            return depths.values().any(|&depth| depth > 1).then_some(depths);
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
        assert!(depths(&calls(&[(1, 2), (3, 2), (1, 4)])).is_none());
    }

    #[test]
    fn hosts_that_call_each_other_have_no_order() {
        assert!(depths(&calls(&[(1, 2), (2, 1)])).is_none());
    }
}
