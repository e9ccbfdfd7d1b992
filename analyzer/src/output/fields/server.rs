//! The fields of a server.

use super::Output::{Json, Python, Table};
use super::{Field, Fields, Row, field};
use crate::judge::nagle::nodelay::{Nagle, NagleTotals};
use crate::result::servers::{NamedServer, Percentiles};
use crate::track::Endpoint;
use crate::track::exchange::hours::Hour;

const ADDR: Field = field!("addr", "IP address.");
const NAME: Field = field!("name", "What `--names` calls the address.").only(Json).sparse();
const VERDICT: Field = field!("verdict", "The worst of its connections.");
const AFFECTED: Field = field!("affected_connections", "Those with stalls that count.");
const LATENCY_SUM: Field = field!("latency_sum_ms", "Latency of all exchanges together.");
const LATENCY_STALLED: Field = field!("latency_stalled_ms", "What stalls that count took of it.");
const LATENCY: Field = field!("latency", "Percentiles as measured.");
const PREDICTED: Field = field!("predicted", "Percentiles without the stalls that count.");
const CLIENT_NAGLE: Field = field!("client_nagle", "Nagle on the clients' sockets.").only(Json);
const SERVER_NAGLE: Field = field!("server_nagle", "Nagle on the server's sockets.").only(Json);

impl Row for NamedServer<'_> {
    const NAME: &'static str = "server";

    fn fields(to: &mut impl Fields<Self>) {
        to.address(ADDR.except(Python), |row| row.of.server.addr);
        to.name(NAME, |row| row.name);
        to.integer(field!("port", "TCP port."), |row| row.of.server.port);
        to.category(VERDICT.except(Table), |row| row.of.totals.verdict());
        to.integer(field!("connections", "Those with exchanges."), |row| row.of.totals.connections);
        to.integer(AFFECTED, |row| row.of.counted.connections);
        to.integer(field!("exchanges", "Requests with responses."), |row| row.of.totals.exchanges);
        to.integer(field!("stalled_exchanges", "Those with a stall that counts."), |row| {
            row.of.counted.exchanges
        });
        to.integer(field!("stalls", "Possible ones included."), |row| row.of.totals.stalls);
        to.duration(field!("stalled_ms", "Total wait of these stalls."), |row| {
            row.of.totals.stalled_ns
        });
        to.duration(LATENCY_SUM.except(Table), |row| row.of.totals.latency_ns);
        to.duration(LATENCY_STALLED.except(Table), |row| row.of.counted.latency_ns);
        to.nested(LATENCY.except(Python), NamedServer::latency);
        to.nested(PREDICTED.except(Python), NamedServer::predicted);
        to.nested(CLIENT_NAGLE, |row| row.of.totals.client_nagle);
        to.nested(SERVER_NAGLE, |row| row.of.totals.server_nagle);
    }
}

impl Row for Percentiles {
    const NAME: &'static str = "percentiles";

    fn fields(to: &mut impl Fields<Self>) {
        to.duration(field!("p50_ms", "Median."), |row| row.0[0]);
        to.duration(field!("p75_ms", "75th percentile."), |row| row.0[1]);
        to.duration(field!("p90_ms", "90th percentile."), |row| row.0[2]);
        to.duration(field!("p95_ms", "95th percentile."), |row| row.0[3]);
        to.duration(field!("p99_ms", "99th percentile."), |row| row.0[4]);
        to.duration(field!("max_ms", "Longest."), |row| row.0[5]);
    }
}

impl Row for NagleTotals {
    const NAME: &'static str = "sockets";

    fn fields(to: &mut impl Fields<Self>) {
        to.integer(field!("on", "Connections on which it is on."), |row| row.of(Nagle::On));
        to.integer(field!("off", "Connections on which it is off."), |row| row.of(Nagle::Off));
        to.integer(field!("unknown", "Connections that do not show it."), |row| {
            row.of(Nagle::Unknown)
        });
        to.integer(field!("switched", "Connections on which it went off."), |row| {
            row.of(Nagle::Switched)
        });
    }
}

/// The exchanges of a server that ended in one hour, with latencies of one bucket.
#[derive(Debug, Clone, Copy)]
pub struct HourRow {
    pub server: Endpoint,
    pub hour: Hour,
    pub exchanges: u64,
}

impl Row for HourRow {
    const NAME: &'static str = "hour";

    fn fields(to: &mut impl Fields<Self>) {
        to.address(ADDR, |row| row.server.addr);
        to.integer(field!("port", "TCP port."), |row| row.server.port);
        to.time(field!("hour_ns", "Begin of the hour."), |row| row.hour.begin_ns);
        to.integer(field!("bucket", "Bucket of the latency."), |row| row.hour.bucket);
        to.integer(field!("exchanges", "Requests with responses."), |row| row.exchanges);
    }
}
