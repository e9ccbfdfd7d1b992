//! Stories for tests: a connection told segment by segment, one line each, with relative times, as
//! packetdrill does. No file, no thread.
//!
//! ```ignore
//! let told = Story::new()
//!     .handshake(0.02, 1.0)
//!     .after_ms(5.0, client(100))
//!     .after_ms(40.0, server(0))
//!     .after_ms(0.02, client(50))
//!     .end();
//! assert_eq!(told.wait().ack_ns(), 40_000_000);
//! ```

use crate::decode::{ACK, FIN, Header, Options, PSH, RST, SYN, URG};
use crate::track::connection::{Lengths, Recorder, Split};
use crate::track::early::{Early, Followed, Segment};
use crate::track::ends::Ends;
use crate::track::exchange::exchanged::{Exchanged, Stale};
use crate::track::half::Half;
use crate::track::thresholds::FINE_CLOCK_NS;
use crate::track::tracked::Block;
use crate::track::wait::Wait;
use crate::track::{Connection, Endpoint, Exchange, Mark, Side};

/// Waits from here on are told.
pub const MIN_WAIT_NS: i64 = 10_000_000;
/// Step of the clock.
pub const CLOCK_NS: i64 = FINE_CLOCK_NS;
/// First sequence numbers of client and server: the client's wrap after 50 bytes.
const FIRST_SEQ: [u32; 2] = [u32::MAX - 50, 9_000];
/// MSS 1460, window scale 7: no timestamps, so that the effective MSS is 1460.
const SYN_OPTIONS: [u8; 8] = [2, 4, 5, 180, 1, 3, 3, 7];

/// A segment of the story: it follows what its sender has sent and acknowledges all that the peer has
/// sent, but where the story says otherwise.
#[derive(Debug, Clone, Copy)]
pub struct StorySegment {
    by: Side,
    len: u32,
    flags: u8,
    window: u16,
    ip_id: u16,
    options: Options,
    /// Stream offsets: of its first byte, and up to which it acknowledges the peer's bytes.
    seq: Option<i64>,
    ack: Option<i64>,
    again: bool,
}

/// `len` bytes from the client; 0 is a pure ACK.
pub fn client(len: u32) -> StorySegment {
    StorySegment::new(Side::Client, len)
}

/// `len` bytes from the server; 0 is a pure ACK.
pub fn server(len: u32) -> StorySegment {
    StorySegment::new(Side::Server, len)
}

impl StorySegment {
    fn new(by: Side, len: u32) -> Self {
        let options = Options::default();
        Self {
            by,
            len,
            flags: if len > 0 { ACK | PSH } else { ACK },
            window: 512,
            ip_id: 0,
            options,
            seq: None,
            ack: None,
            again: false,
        }
    }

    /// Its first byte has this offset in the stream; 0 follows the SYN.
    pub fn seq(self, offset: i64) -> Self {
        Self { seq: Some(offset), ..self }
    }

    /// The last bytes that its sender has sent, once more.
    pub fn again(self) -> Self {
        Self { again: true, ..self }
    }

    /// It acknowledges the first `bytes` of the peer's stream.
    pub fn ack(self, bytes: i64) -> Self {
        Self { ack: Some(bytes), ..self }
    }

    /// Its program wrote more: it is not pushed.
    pub fn more(self) -> Self {
        Self { flags: self.flags & !PSH, ..self }
    }

    /// The window on the wire, not scaled.
    pub fn window(self, window: u16) -> Self {
        Self { window, ..self }
    }

    pub fn ip_id(self, ip_id: u16) -> Self {
        Self { ip_id, ..self }
    }

    /// It carries timestamps.
    pub fn tsval(self, tsval: u32) -> Self {
        self.stamped(tsval, 0)
    }

    /// It carries timestamps, and echoes one of the peer.
    pub fn stamped(self, tsval: u32, tsecr: u32) -> Self {
        let ([t0, t1, t2, t3], [e0, e1, e2, e3]) = (tsval.to_be_bytes(), tsecr.to_be_bytes());
        self.options(&[1, 1, 8, 10, t0, t1, t2, t3, e0, e1, e2, e3])
    }

    /// Options as on the wire.
    pub fn options(self, bytes: &[u8]) -> Self {
        Self { options: Options::read(bytes, false, self.flags), ..self }
    }

    pub fn fin(self) -> Self {
        self.with(FIN)
    }

    pub fn rst(self) -> Self {
        self.with(RST)
    }

    pub fn urg(self) -> Self {
        self.with(URG)
    }

    /// A SYN, with ACK from the server.
    pub fn syn(self) -> Self {
        let flags = if self.by == Side::Client { SYN } else { SYN | ACK };
        Self { flags, seq: Some(-1), window: u16::MAX, ..self }.options(&SYN_OPTIONS)
    }

    fn with(self, flags: u8) -> Self {
        Self { flags: self.flags | flags, ..self }
    }
}

/// A connection as it goes on.
pub struct Story {
    connection: Connection,
    recorder: Recorder,
    early: Early,
    now: Mark,
    /// Stream offsets after the last byte of client and server.
    sent: [i64; 2],
}

/// The state of the tracker at the end of the capture.
pub struct Told {
    pub connection: Connection,
    /// In the order of their ends.
    pub waits: Vec<Wait>,
    /// Waits that data ended as soon as a kernel would.
    pub by_data: Vec<Wait>,
    pub exchanges: Vec<Exchange>,
    pub stale: Stale,
    pub splits: Vec<Split>,
    pub unasked: u64,
}

impl Followed for Connection {
    fn known(&mut self, _: u32) -> Option<&mut Connection> {
        Some(self)
    }
}

/// Connections that were told, numbered from 0, as a block holds them.
pub fn block(all: impl IntoIterator<Item = Told>) -> Block {
    let mut block = Block::default();
    for (id, mut told) in (0..).zip(all) {
        told.connection.id = id;
        told.waits.iter_mut().for_each(|wait| wait.connection = id);
        block.connections.push(told.connection);
        block.waits.extend(told.waits);
        told.by_data.iter_mut().for_each(|wait| wait.connection = id);
        if !told.by_data.is_empty() {
            block.waits.extend(told.by_data);
            block.waits.sort_by_key(|wait| (wait.connection, wait.to.frame, wait.by as u8));
        }
    }
    block.numbers = (0..block.connections.len() as u32).collect();
    block
}

impl Story {
    /// Nothing was captured yet; it is one second after the epoch.
    pub fn new() -> Self {
        Self::between([10, 0, 0, 1], [10, 0, 0, 2])
    }

    /// Like `new`, between these IPv4 addresses.
    pub fn between(client: [u8; 4], server: [u8; 4]) -> Self {
        let [client, server] = [(client, 40_000), (server, 80)]
            .map(|(addr, port)| Endpoint { addr: addr.into(), port });
        let recorder = Recorder::new(Lengths::listing(MIN_WAIT_NS), Exchanged::new(true, false));
        Self {
            connection: Connection::new(0, Ends { client, server }),
            recorder: Recorder { clock_ns: CLOCK_NS, ..recorder },
            early: Early::default(),
            now: Mark { time_ns: 1_000_000_000, frame: 0 },
            sent: [0; 2],
        }
    }

    /// The handshake, captured where the round trips to client and server are these.
    pub fn handshake(self, client_ms: f64, server_ms: f64) -> Self {
        self.after_ms(0.0, client(0).syn())
            .after_ms(server_ms, server(0).syn())
            .after_ms(client_ms, client(0))
    }

    /// Captures this segment `ms` after the last one.
    pub fn after_ms(mut self, ms: f64, segment: StorySegment) -> Self {
        self.now.time_ns += (ms * 1e6).round() as i64;
        self.now.frame += 1;
        let by = segment.by as usize;
        let back = if segment.again { i64::from(segment.len) } else { 0 };
        let begin = segment.seq.unwrap_or(self.sent[by] - back);
        let header = self.header(&segment, begin);
        let fin = i64::from(header.has(FIN));
        self.sent[by] = self.sent[by].max(begin + i64::from(segment.len) + fin);
        let next = Segment { connection: 0, by: segment.by, header, now: self.now };
        self.early.pass(next, &mut self.connection, &mut self.recorder);
        self
    }

    fn header(&self, segment: &StorySegment, begin: i64) -> Header {
        let by = segment.by as usize;
        let number = |side: usize, offset: i64| FIRST_SEQ[side].wrapping_add(offset as u32);
        Header {
            seq: number(by, begin),
            ack: number(1 - by, segment.ack.unwrap_or(self.sent[1 - by])),
            len: segment.len,
            window: segment.window,
            ip_id: segment.ip_id,
            options: segment.options,
            flags: segment.flags,
        }
    }

    /// Repeats a part of the story.
    pub fn times(self, count: u32, part: impl Fn(Self) -> Self) -> Self {
        (0..count).fold(self, |story, _| part(story))
    }

    /// One direction, as it is by now.
    pub fn half(&self, side: Side) -> &Half {
        self.connection.half(side)
    }

    /// The capture ends.
    pub fn end(self) -> Told {
        self.end_after_ms(0.0)
    }

    /// The capture ends `ms` after the last segment.
    pub fn end_after_ms(mut self, ms: f64) -> Told {
        let end_ns = self.now.time_ns + (ms * 1e6).round() as i64;
        self.early.end(&mut self.connection, &mut self.recorder);
        self.connection.end(None, |_| end_ns, &mut self.recorder);
        let Recorder { mut waits, exchanged, splits, .. } = self.recorder;
        waits.end();
        Told {
            waits: waits.kept.of(0).clone(),
            by_data: waits.by_data.of(0).clone(),
            exchanges: exchanged.all.unwrap().rows,
            stale: exchanged.stale,
            splits,
            unasked: exchanged.unasked,
            connection: self.connection,
        }
    }
}

impl Told {
    pub fn half(&self, side: Side) -> &Half {
        self.connection.half(side)
    }

    /// The only wait.
    pub fn wait(&self) -> &Wait {
        assert_eq!(self.waits.len(), 1, "{:#?}", self.waits);
        &self.waits[0]
    }
}
