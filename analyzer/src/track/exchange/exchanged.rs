//! All exchanges, by server.

use crate::track::Endpoint;
use crate::track::by_block::ByBlock;
use crate::track::exchange::Exchange;
use crate::track::exchange::hours::{Hour, Hours};
use crate::track::exchange::latency::Latency;
use crate::track::exchange::slowest::Slowest;
use hashbrown::HashMap;

/// The latencies of one server's exchanges.
#[derive(Debug, Clone)]
pub struct ServerLatency {
    pub server: Endpoint,
    pub latency: Latency,
}

/// An exchange with a wait that may be a stall, compacted.
#[derive(Debug, Clone, Copy)]
#[repr(C, packed(4))]
pub struct Suspect {
    pub connection: u32,
    pub begin_frame: u32,
    pub end_frame: u32,
    pub latency_ns: i64,
}

/// Every exchange goes through here.
#[derive(Debug, Default)]
pub struct Exchanged {
    /// All of them, if they were asked for.
    pub all: Option<Listed>,
    /// How many there are of each hour, if it was asked for.
    pub hours: Option<Hours>,
    pub servers: Vec<ServerLatency>,
    /// Exchanges with a wait that may be a stall, until it is judged.
    pub suspects: ByBlock<Suspect>,
    pub stale: Stale,
    /// The slowest ones, and some of all.
    pub slowest: Slowest,
    /// Answers that came late, by connection, each with whether a wait in its exchange may be a stall:
    /// at its end it is known whether they are answers.
    pub late: HashMap<u32, Vec<(Exchange, bool)>, foldhash::fast::RandomState>,
    /// Messages that were no part of an exchange.
    pub unasked: u64,
    /// When the last response of each connection began that came in several segments. Not in the
    /// connection: most responses are one segment, and its cache lines are full.
    pub answered_ns: ByBlock<i64>,
    by_endpoint: HashMap<Endpoint, u32, foldhash::fast::RandomState>,
}

/// Requests into connections that their server had closed, and drew RST: how many, and the frame of
/// the first, 0 for none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stale {
    pub count: u64,
    pub first_frame: u32,
}

impl Stale {
    /// Adds those of other connections.
    pub fn add(&mut self, more: Self) {
        let frames = [self.first_frame, more.first_frame].into_iter().filter(|&frame| frame > 0);
        self.first_frame = frames.min().unwrap_or_default();
        self.count += more.count;
    }
}

/// Exchanges one by one.
#[derive(Debug, Default)]
pub struct Listed {
    pub rows: Vec<Exchange>,
    /// Bytes that client and server of each connection had sent before the current exchange, by its
    /// number in its block.
    before: ByBlock<[u64; 2]>,
}

impl Exchanged {
    pub fn new(keep_all: bool, hourly: bool) -> Self {
        let (all, hours) = (keep_all.then(Listed::default), hourly.then(Hours::default));
        Self { all, hours, ..Self::default() }
    }

    /// Takes a complete exchange with the server at this place.
    #[inline]
    pub fn add(&mut self, exchange: Exchange, suspect: bool, server: u32) {
        self.servers[server as usize].latency.record(exchange.latency_ns() as u64);
        if suspect {
            self.suspects.push(exchange.connection, Suspect::new(&exchange));
        }
        self.slowest.add(&exchange);
        if let Some(hours) = &mut self.hours {
            *hours.entry(Hour::of(&exchange, server)).or_default() += 1;
        }
        if let Some(all) = &mut self.all {
            all.rows.push(exchange);
        }
    }

    /// Adds the `servers` of other connections; returns their places here.
    pub fn add_servers(&mut self, servers: Vec<ServerLatency>) -> Vec<u32> {
        let mut places = Vec::with_capacity(servers.len());
        for ServerLatency { server, latency } in servers {
            let place = self.place(server);
            self.servers[place as usize].latency.add(&latency);
            places.push(place);
        }
        places
    }

    /// The place of a server here.
    pub fn place(&mut self, server: Endpoint) -> u32 {
        *self.by_endpoint.entry(server).or_insert_with(|| {
            self.servers.push(ServerLatency { server, latency: Latency::default() });
            self.servers.len() as u32 - 1
        })
    }
}

impl Listed {
    /// Bytes that client and server of `connection` have sent since the last call, of `bytes` in all.
    pub fn bytes_since(&mut self, connection: u32, bytes: [u64; 2]) -> [u64; 2] {
        let before = std::mem::replace(self.before.one(connection), bytes);
        [bytes[0] - before[0], bytes[1] - before[1]]
    }
}

impl Suspect {
    pub fn new(exchange: &Exchange) -> Self {
        Self {
            connection: exchange.connection,
            end_frame: exchange.end.frame,
            begin_frame: exchange.begin.frame,
            latency_ns: exchange.latency_ns(),
        }
    }
}
