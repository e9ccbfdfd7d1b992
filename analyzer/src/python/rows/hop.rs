//! A hop as Python sees it.

use crate::capture::times::sum_ns;
use crate::judge::words::evidence::ms;
use crate::result::hops::Hop;
use crate::result::names::Names;
use crate::track::Side;
use pyo3::prelude::*;

/// A hop of a path over a host between; durations in ms. `client` is one of the `clients`.
#[pyclass(frozen, get_all)]
pub struct HopRow {
    /// Counts the paths that have nothing in common, from 1.
    pub chain: u32,
    pub number: u32,
    pub clients: u64,
    pub client: String,
    /// The relays that were seen to be its clients, as they are called themselves.
    pub called_by: Vec<String>,
    pub server: String,
    pub connections: u64,
    pub exchanges: u64,
    pub client_stalls: u64,
    pub server_stalls: u64,
    pub stalled_ms: f64,
    /// Waits of the client and the server whose end was passed on from another hop.
    pub client_passed_on: u64,
    pub server_passed_on: u64,
    pub passed_on_ms: f64,
    /// Of the client's and the server's sockets: Nagle's algorithm `on`, `off`, `unknown` or `mixed`.
    pub client_nagle: &'static str,
    pub server_nagle: &'static str,
    pub mean_latency_ms: Option<f64>,
    /// Mean latency of the first hop without the stalls of this one, where that can be said.
    pub first_hop_without_ms: Option<f64>,
}

impl HopRow {
    pub fn new(hop: &Hop, names: &Names) -> Self {
        Self {
            chain: hop.chain,
            number: hop.number,
            clients: hop.clients.len() as u64,
            client: hop.clients.first().map_or_else(String::new, |&addr| names.addr(addr)),
            called_by: hop.called_by.iter().map(|&relay| names.endpoint(relay)).collect(),
            server: names.endpoint(hop.endpoint()),
            connections: hop.connections,
            exchanges: hop.exchanges,
            client_stalls: hop.client_stalls,
            server_stalls: hop.server_stalls,
            stalled_ms: ms(hop.stalled_ns),
            client_passed_on: hop.passed_on[Side::Client as usize],
            server_passed_on: hop.passed_on[Side::Server as usize],
            passed_on_ms: ms(sum_ns(hop.passed_on_ns)),
            client_nagle: hop.nagle[Side::Client as usize].name(),
            server_nagle: hop.nagle[Side::Server as usize].name(),
            mean_latency_ms: hop.mean_latency_ns().map(ms),
            first_hop_without_ms: hop.first_hop_without_ns.map(ms),
        }
    }
}
