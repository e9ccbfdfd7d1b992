//! Exchanges: the client's bytes, then the server's, until the client speaks again.

use super::{Mark, Side};

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
    /// A wait in it may be a stall.
    pub suspect: bool,
}

impl Exchange {
    /// Never negative, though clocks may step back.
    pub fn latency_ns(&self) -> i64 {
        (self.end.time_ns - self.begin.time_ns).max(0)
    }
}

/// The exchanges of one connection, as they go by.
#[derive(Debug, Clone, Default)]
#[repr(C)]
pub struct Exchanges {
    begin: Mark,
    end: Mark,
    request_bytes: u64,
    response_bytes: u64,
    /// Sum of all latencies.
    pub latency_ns: i64,
    pub count: u32,
    /// Place of the server among [`super::Exchanged`]'s.
    pub server: Option<u32>,
    /// A wait in the current exchange may be a stall.
    pub suspect: bool,
    /// Latency of the first exchange, and the frame in which it ended.
    pub first: Option<(i64, u64)>,
}

impl Exchanges {
    /// In the cache line that new data needs.
    #[inline]
    pub fn warm(&self) -> &u64 {
        &self.request_bytes
    }

    /// New data of `len` bytes; returns the exchange that it ended.
    pub fn data(&mut self, by: Side, len: u32, now: Mark, connection: u32) -> Option<Exchange> {
        let len = u64::from(len);
        if by == Side::Server {
            self.response_bytes += len;
            self.end = now;
            return None;
        }
        let ended = match self.end.is_set() {
            true => self.finish(connection),
            false => None,
        };
        if !self.begin.is_set() {
            self.begin = now;
        }
        self.request_bytes += len;
        ended
    }

    /// Does a wait that began at `from` lie within the current exchange?
    pub fn covers(&self, from: Mark) -> bool {
        self.begin.is_set() && from.frame >= self.begin.frame
    }

    /// Ends the current exchange, at the end of the capture too. What the server says before any
    /// request (a greeting) is not an exchange.
    pub fn finish(&mut self, connection: u32) -> Option<Exchange> {
        let exchange = Exchange {
            connection,
            begin: self.begin,
            end: self.end,
            request_bytes: self.request_bytes,
            response_bytes: self.response_bytes,
            suspect: self.suspect,
        };
        let complete = self.begin.is_set() && self.end.is_set();
        self.begin = Mark::default();
        self.end = Mark::default();
        self.request_bytes = 0;
        self.response_bytes = 0;
        self.suspect = false;
        if !complete {
            return None;
        }
        self.count += 1;
        self.latency_ns = self.latency_ns.saturating_add(exchange.latency_ns());
        self.first.get_or_insert((exchange.latency_ns(), exchange.end.frame));
        Some(exchange)
    }
}
