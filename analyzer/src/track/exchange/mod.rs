//! Exchanges: the client's bytes, then the server's, until the client speaks again.

pub mod exchanged;
pub mod hours;
pub mod latency;

use crate::track::{Mark, Side};

/// One request and its response. Times are ns since the epoch, lengths bytes.
#[derive(Debug, Clone, Copy)]
pub struct Exchange {
    pub connection: u32,
    /// First data of the request.
    pub begin: Mark,
    /// Last data of the response.
    pub end: Mark,
    pub request_bytes: u64,
    pub response_bytes: u64,
}

impl Exchange {
    /// Never negative, though clocks may step back.
    pub fn latency_ns(&self) -> i64 {
        (self.end.time_ns - self.begin.time_ns).max(0)
    }
}

/// The exchanges of one connection, as they go by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Exchanges {
    begin: Mark,
    end: Mark,
    /// Sum of all latencies.
    pub latency_ns: i64,
    pub count: u32,
    /// Place of the server among [`super::Exchanged`]'s, from 1, and whether a wait in the current exchange
    /// may be a stall.
    server: u32,
}

const SUSPECT: u32 = 1 << 31;

impl Exchanges {
    /// Place of the server, once there was an exchange.
    pub fn server(&self) -> Option<u32> {
        (self.server & !SUSPECT).checked_sub(1)
    }

    pub fn set_server(&mut self, place: u32) {
        self.server = (self.server & SUSPECT) | (place + 1);
    }

    /// A wait in the current exchange may be a stall.
    pub fn suspect(&mut self) {
        self.server |= SUSPECT;
    }

    /// Does new data of `by` end the current exchange?
    #[inline]
    pub fn is_ended_by(&self, by: Side) -> bool {
        by == Side::Client && self.end.is_set()
    }

    /// New data.
    #[inline]
    pub fn data(&mut self, by: Side, now: Mark) {
        if by == Side::Server {
            self.end = now;
        } else if !self.begin.is_set() {
            self.begin = now;
        }
    }

    /// Does a wait that began at `from` lie within the current exchange?
    pub fn covers(&self, from: Mark) -> bool {
        self.begin.is_set() && from.frame >= self.begin.frame
    }

    /// Does a turn that began at `turn_ns` lie within it?
    pub fn covers_turn(&self, turn_ns: i64) -> bool {
        self.begin.is_set() && turn_ns >= self.begin.time_ns
    }

    /// Ends the current exchange, at the end of the capture too, and tells whether a wait in it may
    /// be a stall. What the server says before any request (a greeting) is not an exchange. `bytes`
    /// are what client and server have sent in it.
    pub fn finish(&mut self, connection: u32, bytes: [u64; 2]) -> Option<(Exchange, bool)> {
        let [request_bytes, response_bytes] = bytes;
        let (begin, end) = (self.begin, self.end);
        let exchange = Exchange { connection, begin, end, request_bytes, response_bytes };
        let suspect = self.server & SUSPECT != 0;
        self.begin = Mark::NONE;
        self.end = Mark::NONE;
        self.server &= !SUSPECT;
        if !begin.is_set() || !end.is_set() {
            return None;
        }
        self.count += 1;
        self.latency_ns = self.latency_ns.saturating_add(exchange.latency_ns());
        Some((exchange, suspect))
    }
}
