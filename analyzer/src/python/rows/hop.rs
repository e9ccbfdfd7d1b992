//! A hop as Python sees it.

use crate::judge::evidence::ms;
use crate::result::hops::Hop;
use pyo3::prelude::*;
use std::net::SocketAddr;

/// A hop of a path over a host between; durations in ms. `client` is one of the `clients`.
#[pyclass(frozen, get_all)]
pub struct HopRow {
    pub number: u32,
    pub clients: u64,
    pub client: String,
    pub server: String,
    pub connections: u64,
    pub exchanges: u64,
    pub client_stalls: u64,
    pub server_stalls: u64,
    pub stalled_ms: f64,
    pub mean_latency_ms: Option<f64>,
}

impl HopRow {
    pub fn new(hop: Hop) -> Self {
        Self {
            number: hop.number,
            clients: hop.clients.len() as u64,
            client: hop.clients.first().map_or_else(String::new, ToString::to_string),
            server: SocketAddr::new(hop.server, hop.port).to_string(),
            connections: hop.connections,
            exchanges: hop.exchanges,
            client_stalls: hop.client_stalls,
            server_stalls: hop.server_stalls,
            stalled_ms: ms(hop.stalled_ns),
            mean_latency_ms: (hop.exchanges > 0).then(|| ms(hop.latency_ns / hop.exchanges as i64)),
        }
    }
}
