//! A server as Python sees it.

use super::fields::row_with_fields;
use crate::judge::words::evidence::ms;
use crate::result::servers;

row_with_fields! {
    /// A server endpoint: the fields of a [`servers::NamedServer`] and these; percentiles are p50,
    /// p75, p90, p95, p99, max, in ms.
    ServerRow(server: &servers::NamedServer<'_>) and (*server) with {
        let addr = server.of.server.addr;
    } {
        /// The user's name for the address, else the address.
        addr: String = server.name.map_or_else(|| addr.to_string(), str::to_owned),
        ip: String = addr.to_string(),
        latency_ms: [f64; 6] = server.latency().0.map(ms),
        predicted_ms: [f64; 6] = server.predicted().0.map(ms),
    }
}
