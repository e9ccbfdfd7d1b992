//! Exchanges: the client's bytes, then the server's, until the client speaks again or the reply is over.

pub mod exchanged;
pub mod hours;
pub mod latency;
pub mod slowest;

use crate::track::{Mark, Side};

/// One request and its response. Times are ns since the epoch, lengths bytes.
#[derive(Debug, Clone, Copy)]
pub struct Exchange {
    pub connection: u32,
    /// First data of the request.
    pub begin: Mark,
    /// Last data of the response.
    pub end: Mark,
    /// Last data of the request, and first data of the response.
    pub asked_ns: i64,
    pub answered_ns: i64,
    pub request_bytes: u64,
    pub response_bytes: u64,
}

impl Exchange {
    /// An exchange of one segment each, of which no more is known.
    pub fn between(connection: u32, begin: Mark, end: Mark) -> Self {
        let (asked_ns, answered_ns) = (begin.time_ns, end.time_ns);
        Self { connection, begin, end, asked_ns, answered_ns, request_bytes: 0, response_bytes: 0 }
    }

    /// Never negative, though clocks may step back.
    pub fn latency_ns(&self) -> i64 {
        (self.end.time_ns - self.begin.time_ns).max(0)
    }
}

/// Exchanges whose connections have these `numbers`, by their places.
pub fn numbered(rows: Vec<Exchange>, numbers: &[u32]) -> impl Iterator<Item = Exchange> {
    rows.into_iter().map(|row| Exchange { connection: numbers[row.connection as usize], ..row })
}

/// The exchanges of one connection, as they go by.
#[derive(Debug, Clone, Default)]
#[repr(C, packed(4))]
pub struct Exchanges {
    /// First data of the current request. The response ends with the last new data of the server.
    begin: Mark,
    /// Sum of all latencies.
    pub latency_ns: i64,
    pub count: u32,
    /// Place of the server among [`super::exchanged::Exchanged`]'s, from 1, four facts of the
    /// current exchange, and how many messages were no part of one, up to three.
    server: u32,
}

/// A wait in it may be a stall.
const SUSPECT: u32 = 1 << 31;
/// The server has sent something.
const ANSWERED: u32 = 1 << 30;
/// In several segments: the response began before its last data.
const SEVERAL: u32 = 1 << 29;
/// It began soon after the server had spoken unasked.
const AFTER_UNASKED: u32 = 1 << 28;
const FACTS: u32 = SUSPECT | ANSWERED | SEVERAL | AFTER_UNASKED;
/// One message that was no part of an exchange, and as many as are counted.
const UNASKED: u32 = 1 << 26;
const MOST_UNASKED: u32 = 3 * UNASKED;

impl Exchanges {
    /// Place of the server, once there was an exchange.
    pub fn server(&self) -> Option<u32> {
        (self.server & !(FACTS | MOST_UNASKED)).checked_sub(1)
    }

    pub fn set_server(&mut self, place: u32) {
        self.server = (self.server & (FACTS | MOST_UNASKED)) | (place + 1);
    }

    /// A wait in the current exchange may be a stall.
    pub fn suspect(&mut self) {
        self.server |= SUSPECT;
    }

    /// Does new data of `by` end the current exchange?
    #[inline]
    pub fn is_ended_by(&self, by: Side) -> bool {
        by == Side::Client && self.server & ANSWERED != 0
    }

    /// A message came that nobody had asked for, or that got no answer.
    pub fn note_unasked(&mut self) {
        if self.server & MOST_UNASKED != MOST_UNASKED {
            self.server += UNASKED;
        }
    }

    /// Has the server spoken with no request open?
    pub fn has_unasked(&self) -> bool {
        !self.begin.is_set() && self.server & ANSWERED != 0
    }

    /// The next request begins soon after that.
    pub fn note_after_unasked(&mut self) {
        self.server |= AFTER_UNASKED;
    }

    /// Did the current exchange begin so?
    pub fn is_after_unasked(&self) -> bool {
        self.server & AFTER_UNASKED != 0
    }

    /// How many such messages came, up to three.
    pub fn unasked(&self) -> u32 {
        (self.server & MOST_UNASKED) / UNASKED
    }

    /// The rest of the response, or its ACK, was still owed at the end: it was no whole exchange.
    pub fn abandon(&mut self) {
        self.begin = Mark::NONE;
    }

    /// Where the current request began, if the server has sent nothing since.
    pub fn open(&self) -> Option<Mark> {
        let (begin, facts) = (self.begin, self.server);
        (begin.is_set() && facts & ANSWERED == 0).then_some(begin)
    }

    /// New data. Is it the second segment of a response?
    #[inline]
    pub fn data(&mut self, by: Side, now: Mark) -> bool {
        if by == Side::Server {
            let is_second = self.server & (ANSWERED | SEVERAL) == ANSWERED;
            self.server |= if is_second { SEVERAL } else { ANSWERED };
            return is_second;
        }
        if !self.begin.is_set() {
            self.begin = now;
        }
        false
    }

    /// Did the server answer in several segments?
    pub fn is_answered_in_several(&self) -> bool {
        self.server & SEVERAL != 0
    }

    /// Does a wait that began at `from` lie within the current exchange?
    pub fn covers(&self, from: Mark) -> bool {
        self.begin.is_set() && from.frame >= self.begin.frame
    }

    /// Does a turn that began at `turn_ns` lie within it?
    pub fn covers_turn(&self, turn_ns: i64) -> bool {
        self.begin.is_set() && turn_ns >= self.begin.time_ns
    }

    /// Ends the current exchange, at the end of the capture too: where it began, and whether a wait
    /// in it may be a stall. What the server says before any request (a greeting) is not an exchange.
    pub fn finish(&mut self) -> Option<(Mark, bool)> {
        let (begin, facts) = (self.begin, self.server);
        self.begin = Mark::NONE;
        self.server &= !FACTS;
        (begin.is_set() && facts & ANSWERED != 0).then_some((begin, facts & SUSPECT != 0))
    }

    /// Counts an exchange with its latency.
    pub fn count(&mut self, latency_ns: i64) {
        self.count += 1;
        self.latency_ns = self.latency_ns.saturating_add(latency_ns);
    }
}
