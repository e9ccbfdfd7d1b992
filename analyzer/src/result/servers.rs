//! Latency by server: as measured, and as it would be without the stalls.

use crate::result::scan::Scan;
use crate::result::server_exchanges::ServerExchanges;
use crate::track::exchange::latency::Latency;

/// A server endpoint, and the user's name for its address.
#[derive(Debug, Clone, Copy)]
pub struct NamedServer<'a> {
    pub of: &'a ServerExchanges,
    pub name: Option<&'a str>,
}

impl NamedServer<'_> {
    pub fn latency(&self) -> Percentiles {
        Percentiles::of(&self.of.latency)
    }

    /// The latency without the stalls that count.
    pub fn predicted(&self) -> Percentiles {
        Percentiles::of(self.of.predicted.as_ref().unwrap_or(&self.of.latency))
    }
}

/// Percentiles of the latency of exchanges, in ns: p50, p75, p90, p95, p99 and the maximum. Those
/// of more than 128 exchanges are within 0.5 %.
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
pub fn servers(scan: &Scan, limit: usize) -> Vec<NamedServer<'_>> {
    let mut order: Vec<&ServerExchanges> = scan.servers.iter().collect();
    order.sort_by_key(|server| {
        let busiest = std::cmp::Reverse(server.totals.exchanges);
        (-server.totals.stalled_ns, busiest, server.server)
    });
    order.truncate(limit);
    let name = |server: &ServerExchanges| scan.names.get(server.server.addr);
    order.into_iter().map(|of| NamedServer { of, name: name(of) }).collect()
}

/// How many servers count in the totals only.
pub fn not_listed(scan: &Scan) -> u64 {
    scan.servers.len().saturating_sub(MOST_LISTED) as u64
}
