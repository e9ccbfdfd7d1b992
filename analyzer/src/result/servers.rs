//! Latency by server: as measured, and as it would be without the stalls.

use crate::judge::evidence::ms;
use crate::judge::findings::Findings;
use crate::judge::judged::JudgedConnection;
use crate::judge::nodelay::NagleTotals;
use crate::result::scan::Scan;
use crate::track::{Endpoint, Latency, ServerLatency, Side, Suspect};
use serde::Serialize;
use std::ops::AddAssign;

/// One server endpoint; durations in ms. Percentiles of more than 128 exchanges
/// are within 0.5 %.
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

/// The exchanges of one server, as they were and as they would have been without the stalls.
#[derive(Debug, Clone)]
pub struct ServerExchanges {
    pub server: Endpoint,
    totals: ServerTotals,
    latency: Latency,
    /// Those with at least one stall.
    stalled: u64,
    /// `None` where nothing stalled.
    predicted: Option<Latency>,
}

/// What judging shows of the exchanges of one server.
#[derive(Default)]
pub struct ServerJudged {
    totals: ServerTotals,
    /// Boxed: few of many servers have stalls.
    moved: Option<Box<Moved>>,
}

/// Latencies of one server's exchanges with stalls, and what they would have been without.
#[derive(Default)]
struct Moved {
    from: Latency,
    to: Latency,
}

impl ServerJudged {
    /// Adds a connection with its findings; its exchanges that may have a stall are `suspects`, in the
    /// order of time.
    pub fn add(&mut self, judged: &JudgedConnection, suspects: &[Suspect], findings: Findings<'_>) {
        self.totals += ServerTotals::of(judged);
        for (latency_ns, rest_ns) in rests_of(suspects, findings) {
            let moved = self.moved.get_or_insert_default();
            moved.from.record(latency_ns as u64);
            moved.to.record(rest_ns as u64);
        }
    }
}

impl AddAssign for ServerJudged {
    fn add_assign(&mut self, more: Self) {
        self.totals += more.totals;
        let Some(more) = more.moved else { return };
        let moved = self.moved.get_or_insert_default();
        moved.from.add(&more.from);
        moved.to.add(&more.to);
    }
}

/// The latencies of the exchanges with a stall, and what is left of them without their stalls, in ns.
fn rests_of(suspects: &[Suspect], mut findings: Findings<'_>) -> impl Iterator<Item = (i64, i64)> {
    suspects.iter().filter_map(move |suspect| {
        findings = findings.skip_past(|wait| wait.to.frame < suspect.begin_frame);
        let (stalls, stalled_ns) = stalls_from(findings, suspect.begin_frame, suspect.end_frame());
        (stalls > 0).then(|| (suspect.latency_ns, (suspect.latency_ns - stalled_ns).max(0)))
    })
}

/// The exchanges of each server, as they were and as they would have been.
pub fn without_stalls(
    servers: Vec<ServerLatency>,
    judged: Vec<ServerJudged>,
) -> Vec<ServerExchanges> {
    servers
        .into_iter()
        .zip(judged)
        .map(|(server, judged)| ServerExchanges::new(server, judged))
        .collect()
}

impl ServerExchanges {
    fn new(server: ServerLatency, judged: ServerJudged) -> Self {
        let ServerLatency { server, latency } = server;
        let stalled = judged.moved.as_ref().map_or(0, |moved| moved.from.len());
        let predicted = judged.moved.map(|moved| latency.moved(&moved.from, &moved.to));
        Self { server, totals: judged.totals, latency, stalled, predicted }
    }
}

/// What the connections of one server add up to, those with exchanges.
#[derive(Debug, Clone, Default)]
struct ServerTotals {
    connections: u64,
    affected: u64,
    stalls: u64,
    stalled_ns: i64,
    latency_ns: i64,
    latency_stalled_ns: i64,
    client_nagle: NagleTotals,
    server_nagle: NagleTotals,
}

impl ServerTotals {
    /// Of one connection.
    fn of(judged: &JudgedConnection) -> Self {
        Self {
            connections: 1,
            affected: u64::from(judged.stalls > 0),
            stalls: u64::from(judged.stalls),
            stalled_ns: judged.stalled_ns,
            latency_ns: judged.latency_ns,
            latency_stalled_ns: judged.exchanges_stalled_ns,
            client_nagle: NagleTotals::of(judged.half(Side::Client).nagle),
            server_nagle: NagleTotals::of(judged.half(Side::Server).nagle),
        }
    }
}

impl AddAssign for ServerTotals {
    fn add_assign(&mut self, more: Self) {
        self.connections += more.connections;
        self.affected += more.affected;
        self.stalls += more.stalls;
        self.stalled_ns += more.stalled_ns;
        self.latency_ns = self.latency_ns.saturating_add(more.latency_ns);
        self.latency_stalled_ns += more.latency_stalled_ns;
        self.client_nagle += more.client_nagle;
        self.server_nagle += more.server_nagle;
    }
}

/// All servers with complete exchanges: those that lose most to stalls first, then the busiest.
pub fn servers(scan: &Scan, limit: usize) -> Vec<ServerRow> {
    let mut order: Vec<&ServerExchanges> = scan.servers.iter().collect();
    order.sort_by_key(|server| {
        let busiest = std::cmp::Reverse(server.latency.len());
        (-server.totals.stalled_ns, busiest, server.server)
    });
    order.truncate(limit);
    order.into_iter().map(row).collect()
}

fn row(server: &ServerExchanges) -> ServerRow {
    let totals = &server.totals;
    let predicted = server.predicted.as_ref().unwrap_or(&server.latency);
    ServerRow {
        addr: server.server.addr.to_string(),
        port: server.server.port,
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

/// Number and total wait of the stalls whose held segment lies within an exchange from frame `begin`
/// to frame `end`; `findings` are those of its connection.
pub fn stalls_in(findings: Findings<'_>, begin: u64, end: u64) -> (u64, i64) {
    stalls_from(findings.skip_while(|wait| wait.to.frame < begin), begin, end)
}

/// As `stalls_in`, from the first finding on that does not end before the exchange.
fn stalls_from(findings: Findings<'_>, begin: u64, end: u64) -> (u64, i64) {
    findings
        .iter()
        .take_while(|row| row.wait.to.frame <= end)
        .filter(|row| row.is_stall() && row.wait.from.frame >= begin)
        .fold((0, 0), |(count, sum), row| (count + 1, sum + row.wait.wait_ns()))
}
