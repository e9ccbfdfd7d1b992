//! Latency by server: as measured, and as it would be without the stalls.

use crate::judge::finding::verdict::Verdict;
use crate::judge::nagle::nodelay::NagleTotals;
use crate::result::scan::Scan;
use crate::result::server_exchanges::ServerExchanges;
use crate::track::Endpoint;
use crate::track::exchange::latency::Latency;

/// One server endpoint. Percentiles of more than 128 exchanges are within 0.5 %.
#[derive(Debug, Clone)]
pub struct ServerRow {
    pub endpoint: Endpoint,
    /// The user's name for the address.
    pub name: Option<String>,
    pub verdict: Verdict,
    pub connections: u64,
    pub affected_connections: u64,
    pub exchanges: u64,
    /// Exchanges with at least one stall.
    pub stalled_exchanges: u64,
    pub stalls: u64,
    pub stalled_ns: i64,
    /// Sum of all latencies, and what the stalls took of it.
    pub latency_sum_ns: i64,
    pub latency_stalled_ns: i64,
    pub latency: Percentiles,
    pub predicted: Percentiles,
    /// Nagle's algorithm on either side of its connections, as the wire shows it.
    pub client_nagle: NagleTotals,
    pub server_nagle: NagleTotals,
}

/// Percentiles of the latency of exchanges, in ns: p50, p75, p90, p95, p99 and the maximum.
#[derive(Debug, Clone, Copy)]
pub struct Percentiles(pub [i64; 6]);

impl Percentiles {
    fn of(latency: &Latency) -> Self {
        let shares = [0.5, 0.75, 0.9, 0.95, 0.99, 1.0];
        Self(latency.quantiles(shares).map(|latency_ns| latency_ns as i64))
    }
}

/// Servers that a result lists: about 50 MB as JSON. The others are in the totals only.
pub const MOST_LISTED: usize = 1 << 16;

/// All servers with complete exchanges: those that lose most to stalls first, then the busiest.
pub fn servers(scan: &Scan, limit: usize) -> Vec<ServerRow> {
    let mut order: Vec<&ServerExchanges> = scan.servers.iter().collect();
    order.sort_by_key(|server| {
        let busiest = std::cmp::Reverse(server.totals.exchanges);
        (-server.totals.stalled_ns, busiest, server.server)
    });
    order.truncate(limit);
    order.into_iter().map(|server| row(scan, server)).collect()
}

/// How many servers count in the totals only.
pub fn not_listed(scan: &Scan) -> u64 {
    scan.servers.len().saturating_sub(MOST_LISTED) as u64
}

fn row(scan: &Scan, server: &ServerExchanges) -> ServerRow {
    let totals = &server.totals;
    let predicted = server.predicted.as_ref().unwrap_or(&server.latency);
    ServerRow {
        endpoint: server.server,
        name: scan.names.get(server.server.addr).map(str::to_owned),
        verdict: totals.verdict(),
        connections: totals.connections,
        affected_connections: server.counted.connections,
        exchanges: totals.exchanges,
        stalled_exchanges: server.counted.exchanges,
        stalls: totals.stalls,
        stalled_ns: totals.stalled_ns,
        latency_sum_ns: totals.latency_ns,
        latency_stalled_ns: server.counted.latency_ns,
        latency: Percentiles::of(&server.latency),
        predicted: Percentiles::of(predicted),
        client_nagle: totals.client_nagle,
        server_nagle: totals.server_nagle,
    }
}
