//! How long each server usually takes for an answer, over all of its connections.

use crate::track::Endpoint;
use crate::track::exchange::exchanged::ServerLatency;
use std::collections::HashMap;
use std::sync::OnceLock;

/// The median latency of each server, once one is asked for.
#[derive(Default)]
pub struct Servers<'a> {
    all: &'a [ServerLatency],
    medians_ns: OnceLock<HashMap<Endpoint, i64>>,
}

impl<'a> Servers<'a> {
    pub fn new(all: &'a [ServerLatency]) -> Self {
        Self { all, medians_ns: OnceLock::new() }
    }

    /// 0 where it answered nothing.
    pub fn median_ns(&self, server: Endpoint) -> i64 {
        let median = |row: &ServerLatency| {
            let [median_ns] = row.latency.quantiles([0.5]);
            (row.server, median_ns.cast_signed())
        };
        let medians_ns = self.medians_ns.get_or_init(|| self.all.iter().map(median).collect());
        medians_ns.get(&server).copied().unwrap_or(0)
    }
}
