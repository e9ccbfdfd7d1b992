//! Latency by server: as measured, and as it would be without the stalls.

use crate::both_cores::in_order;
use crate::evidence::ms;
use crate::flow::{Endpoint, Exchange, Latency, ServerLatency, Side, empty_latency};
use crate::judge::Finding;
use crate::scan::{Scan, own};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use serde::Serialize;
use std::convert::Infallible;

/// One server endpoint; durations in ms. Percentiles are within 0.5 %.
#[derive(Debug, Clone, Serialize)]
pub struct ServerRow {
    pub addr: String,
    pub port: u16,
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
        // The middle of a histogram's step is within half of it.
        let middle = |latency_ns: u64| ms(latency.median_equivalent(latency_ns) as i64);
        let at = |quantile: f64| middle(latency.value_at_quantile(quantile));
        Self {
            p50_ms: at(0.5),
            p75_ms: at(0.75),
            p90_ms: at(0.9),
            p95_ms: at(0.95),
            p99_ms: at(0.99),
            max_ms: middle(latency.max()),
        }
    }
}

/// An exchange with at least one stall.
#[derive(Debug, Clone, Copy)]
pub struct StalledExchange {
    connection: u32,
    latency_ns: i64,
    /// What is left of the latency without the stalls.
    rest_ns: i64,
}

/// Exchanges that are looked at in one go.
const CHUNK: usize = 4096;

/// Those of `suspects` in which there is a stall.
pub fn stalled(
    suspects: &[Exchange],
    findings: &[Finding],
    first: &[usize],
) -> Vec<StalledExchange> {
    let stalled = |exchange: &Exchange| {
        let own = own(findings, first, exchange.connection as usize);
        let (stalls, stalled_ns) = stalls_in(own, exchange);
        let (connection, latency_ns) = (exchange.connection, exchange.latency_ns());
        let rest_ns = (latency_ns - stalled_ns).max(0);
        (stalls > 0).then_some(StalledExchange { connection, latency_ns, rest_ns })
    };
    let chunks: Vec<&[Exchange]> = suspects.chunks(CHUNK).collect();
    let mut all = Vec::new();
    let work = |chunk: usize| chunks[chunk].iter().filter_map(stalled).collect::<Vec<_>>();
    let Ok(()) = in_order(chunks.len(), work, |some| {
        all.extend(some);
        Ok::<(), Infallible>(())
    });
    all
}

/// What the connections of one server add up to.
#[derive(Default)]
struct Totals<'a> {
    connections: u64,
    affected: u64,
    stalls: u64,
    stalled_ns: i64,
    latency_ns: i64,
    latency_stalled_ns: i64,
    stalled: Vec<&'a StalledExchange>,
}

/// All servers with complete exchanges: those that lose most to stalls first, then the busiest.
pub fn servers(scan: &Scan, limit: usize) -> Vec<ServerRow> {
    let mut totals = totals(scan);
    let mut order: Vec<(&ServerLatency, Totals<'_>)> = scan
        .servers
        .iter()
        .map(|server| (server, totals.remove(&server.server).unwrap_or_default()))
        .collect();
    order.sort_by_key(|(server, totals)| {
        (-totals.stalled_ns, std::cmp::Reverse(server.latency.len()), server.server)
    });
    order.truncate(limit);
    order.into_iter().map(|(server, totals)| row(server, &totals)).collect()
}

fn totals(scan: &Scan) -> HashMap<Endpoint, Totals<'_>, RandomState> {
    let mut by_server: HashMap<Endpoint, Totals<'_>, RandomState> = HashMap::default();
    for verdict in scan.verdicts.iter().filter(|verdict| verdict.exchanges > 0) {
        let totals = by_server.entry(verdict.end(Side::Server).endpoint).or_default();
        totals.connections += 1;
        totals.affected += u64::from(verdict.stalls > 0);
        totals.stalls += u64::from(verdict.stalls);
        totals.stalled_ns += verdict.stalled_ns;
        totals.latency_ns = totals.latency_ns.saturating_add(verdict.latency_ns);
        totals.latency_stalled_ns += verdict.exchanges_stalled_ns;
    }
    for exchange in &scan.stalled {
        let server = scan.verdicts[exchange.connection as usize].end(Side::Server).endpoint;
        if let Some(totals) = by_server.get_mut(&server) {
            totals.stalled.push(exchange);
        }
    }
    by_server
}

fn row(server: &ServerLatency, totals: &Totals<'_>) -> ServerRow {
    ServerRow {
        addr: server.server.addr.to_string(),
        port: server.server.port,
        connections: totals.connections,
        affected_connections: totals.affected,
        exchanges: server.latency.len(),
        stalled_exchanges: totals.stalled.len() as u64,
        stalls: totals.stalls,
        stalled_ms: ms(totals.stalled_ns),
        latency_sum_ms: ms(totals.latency_ns),
        latency_stalled_ms: ms(totals.latency_stalled_ns),
        latency: Percentiles::of(&server.latency),
        predicted: Percentiles::of(&predicted(&server.latency, &totals.stalled)),
    }
}

/// The histogram with the exchanges that stalled moved to where they would have been.
fn predicted(measured: &Latency, stalled: &[&StalledExchange]) -> Latency {
    let (mut without, mut freed, mut rest) = (measured.clone(), empty_latency(), empty_latency());
    for exchange in stalled {
        // Histograms that grow by themselves refuse no value.
        let _ = freed.record(exchange.latency_ns as u64);
        let _ = rest.record(exchange.rest_ns as u64);
    }
    let _ = without.subtract(&freed);
    let _ = without.add(&rest);
    without
}

/// Number and total wait of the stalls whose held segment lies within the exchange; `findings` are
/// those of its connection.
pub fn stalls_in(findings: &[Finding], exchange: &Exchange) -> (u64, i64) {
    let begin = findings.partition_point(|row| row.wait.to.frame < exchange.begin.frame);
    findings[begin..]
        .iter()
        .take_while(|row| row.wait.to.frame <= exchange.end.frame)
        .filter(|row| row.cause.is_stall() && row.wait.from.frame >= exchange.begin.frame)
        .fold((0, 0), |(count, sum), row| (count + 1, sum + row.wait.wait_ns()))
}
