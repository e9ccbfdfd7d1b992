//! Latency by server: as measured, and as it would be without the stalls.

use crate::judge::finding::verdict::Verdict;
use crate::judge::nagle::nodelay::NagleTotals;
use crate::judge::words::evidence::ms;
use crate::result::scan::Scan;
use crate::result::server_exchanges::ServerExchanges;
use crate::track::Latency;
use serde::Serialize;

/// One server endpoint; durations in ms. Percentiles of more than 128 exchanges
/// are within 0.5 %.
#[derive(Debug, Clone, Serialize)]
pub struct ServerRow {
    pub addr: String,
    /// What the user calls the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub port: u16,
    pub verdict: Verdict,
    pub connections: u64,
    pub affected_connections: u64,
    pub exchanges: u64,
    /// Exchanges with at least one stall.
    pub stalled_exchanges: u64,
    pub stalls: u64,
    pub stalled_ms: f64,
    /// Sum of all latencies, and what the stalls took of it.
    pub latency_sum_ms: f64,
    pub latency_stalled_ms: f64,
    pub latency: Percentiles,
    pub predicted: Percentiles,
    /// What the wire shows of Nagle's algorithm on either side of its connections.
    pub client_nagle: NagleTotals,
    pub server_nagle: NagleTotals,
}

/// Percentiles of the latency of exchanges, in ms.
#[expect(clippy::struct_field_names, reason = "the unit")]
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Percentiles {
    pub p50_ms: f64,
    pub p75_ms: f64,
    pub p90_ms: f64,
    pub p95_ms: f64,
    pub p99_ms: f64,
    pub max_ms: f64,
}

impl Percentiles {
    fn of(latency: &Latency) -> Self {
        let shares = [0.5, 0.75, 0.9, 0.95, 0.99, 1.0];
        let [p50_ms, p75_ms, p90_ms, p95_ms, p99_ms, max_ms] =
            latency.quantiles(shares).map(|latency_ns| ms(latency_ns as i64));
        Self { p50_ms, p75_ms, p90_ms, p95_ms, p99_ms, max_ms }
    }
}

/// A result lists so many servers: about 50 MB as JSON. The others are in the totals only.
pub const MOST_LISTED: usize = 1 << 16;

/// All servers with complete exchanges: those that lose most to stalls first, then the busiest.
pub fn servers(scan: &Scan, limit: usize) -> Vec<ServerRow> {
    let mut order: Vec<&ServerExchanges> = scan.servers.iter().collect();
    order.sort_by_key(|server| {
        let busiest = std::cmp::Reverse(server.latency.len());
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
        addr: server.server.addr.to_string(),
        name: scan.names.get(server.server.addr).map(str::to_owned),
        port: server.server.port,
        verdict: totals.verdict(),
        connections: totals.connections,
        affected_connections: totals.affected,
        exchanges: server.latency.len(),
        stalled_exchanges: server.stalled,
        stalls: totals.stalls,
        stalled_ms: ms(totals.stalled_ns),
        latency_sum_ms: ms(totals.latency_ns),
        latency_stalled_ms: ms(totals.latency_stalled_ns),
        latency: Percentiles::of(&server.latency),
        predicted: Percentiles::of(predicted),
        client_nagle: totals.client_nagle,
        server_nagle: totals.server_nagle,
    }
}
