//! Latencies of all exchanges, by server: histograms, so that memory does not follow the packets.

use super::exchange::Exchange;
use super::table::Endpoint;
use hashbrown::HashMap;
use hdrhistogram::Histogram;

/// Latencies in ns, to two significant digits (within 1 %).
pub type Latency = Histogram<u32>;

const SIGNIFICANT_DIGITS: u8 = 2;

/// What one server's exchanges took.
#[derive(Debug, Clone)]
pub struct ServerLatency {
    pub server: Endpoint,
    pub latency: Latency,
}

/// Every exchange goes through here.
#[derive(Debug, Default)]
pub struct Exchanged {
    /// All of them, if they were asked for.
    pub all: Option<Vec<Exchange>>,
    /// Those with a wait that may be a stall.
    pub suspects: Vec<Exchange>,
    pub servers: Vec<ServerLatency>,
    by_endpoint: HashMap<Endpoint, u32, foldhash::fast::RandomState>,
}

impl Exchanged {
    pub fn new(keep_all: bool) -> Self {
        Self { all: keep_all.then(Vec::new), ..Self::default() }
    }

    /// Takes a complete exchange with `server`, which has the place `index` here once it is set.
    pub fn add(&mut self, exchange: Exchange, server: &Endpoint, index: &mut Option<u32>) {
        let index = *index.get_or_insert_with(|| self.place(*server));
        self.servers[index as usize].record(exchange.latency_ns());
        if exchange.suspect {
            self.suspects.push(exchange);
        }
        if let Some(all) = &mut self.all {
            all.push(exchange);
        }
    }

    fn place(&mut self, server: Endpoint) -> u32 {
        *self.by_endpoint.entry(server).or_insert_with(|| {
            self.servers.push(ServerLatency::new(server));
            self.servers.len() as u32 - 1
        })
    }
}

impl ServerLatency {
    fn new(server: Endpoint) -> Self {
        Self { server, latency: empty() }
    }

    fn record(&mut self, latency_ns: i64) {
        // A histogram that grows by itself refuses no value.
        let _ = self.latency.record(latency_ns as u64);
    }
}

/// An empty histogram; it grows by itself.
#[expect(clippy::expect_used, reason = "one to five digits are allowed")]
pub fn empty() -> Latency {
    Histogram::new(SIGNIFICANT_DIGITS).expect("two significant digits")
}
