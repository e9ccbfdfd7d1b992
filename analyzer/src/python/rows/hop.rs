//! A hop as Python sees it.

use crate::judge::evidence::ms;
use crate::result::hops::Hop;
use crate::track::Side;
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
    /// Waits whose end was passed on from another hop, where it is lost.
    pub passed_on: u64,
    pub passed_on_ms: f64,
    /// Of the client's and the server's sockets: Nagle's algorithm `on`, `off`, `unknown` or `mixed`.
    pub client_nagle: &'static str,
    pub server_nagle: &'static str,
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
            passed_on: hop.passed_on,
            passed_on_ms: ms(hop.passed_on_ns),
            client_nagle: hop.nagle[Side::Client as usize].name(),
            server_nagle: hop.nagle[Side::Server as usize].name(),
            mean_latency_ms: (hop.exchanges > 0).then(|| ms(hop.latency_ns / hop.exchanges as i64)),
        }
    }
}
