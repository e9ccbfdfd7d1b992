//! Segments on their way from the reader to the tracker, and the look-up of their connections.

use crate::decode::{Addresses, Header, Segment};
use crate::flow::{Ends, KeyV4, KeyV6, Lookup, Mark, Side, Table};

/// Segments handed over at once: enough to make the hand-over cheap, few enough to stay in cache.
pub const BATCH_LEN: usize = 512;
/// Segments whose connections are looked up at once: as many misses of the cache as overlap.
const LOOKUPS: usize = 64;

/// A segment, where it was captured and whose it is, as small as it goes: it moves from one core to
/// the other.
#[derive(Debug, Clone, Copy)]
pub struct Captured {
    pub mark: Mark,
    pub header: Header,
    /// Number of the connection, times two, and the sender.
    connection_and_side: u32,
}

const _: () = assert!(size_of::<Captured>() == 48, "four segments take three cache lines");

impl Captured {
    #[inline]
    pub fn connection(&self) -> usize {
        (self.connection_and_side >> 1) as usize
    }

    /// The sender.
    #[inline]
    pub fn by(&self) -> Side {
        Side::BOTH[(self.connection_and_side & 1) as usize]
    }
}

/// Segments in the order of the capture.
#[derive(Debug, Default)]
pub struct Batch {
    pub segments: Vec<Captured>,
    /// Connections that begin here, in the order of their numbers.
    pub opened: Vec<Ends>,
}

impl Batch {
    /// Makes room for the next segments, in the memory of the last.
    pub fn reset(&mut self) {
        self.segments.clear();
        self.segments.reserve(BATCH_LEN + LOOKUPS);
        self.opened.clear();
    }
}

/// How the segments that came last are looked up.
#[derive(Default)]
pub struct Lookups {
    all: Vec<Sought>,
    v6: Vec<Lookup<KeyV6>>,
}

/// What is looked up. The long ones lie apart.
enum Sought {
    V4(Lookup<KeyV4>),
    /// Index into [`Lookups::v6`].
    V6(u32),
}

impl Lookups {
    pub fn is_full(&self) -> bool {
        self.all.len() >= LOOKUPS
    }

    /// Adds a segment to the batch, whose connection is to be found.
    #[expect(clippy::inline_always, reason = "as Capture::next_frame")]
    #[inline(always)]
    pub fn push(&mut self, segment: &Segment<'_>, mark: Mark, table: &Table, batch: &mut Batch) {
        let (header, ports) = (segment.header(), segment.ports());
        batch.segments.push(Captured { mark, header, connection_and_side: 0 });
        self.all.push(match segment.addresses {
            Addresses::V4(bytes) => Sought::V4(table.lookup_v4(*bytes, ports)),
            Addresses::V6(bytes) => {
                self.v6.push(table.lookup_v6(bytes, ports));
                Sought::V6(self.v6.len() as u32 - 1)
            }
        });
    }

    /// Looks all connections up at once: so the misses of the cache overlap.
    pub fn find(&mut self, table: &mut Table, batch: &mut Batch) {
        let first = batch.segments.len() - self.all.len();
        for (captured, sought) in batch.segments[first..].iter_mut().zip(&self.all) {
            let header = &captured.header;
            let found = match sought {
                Sought::V4(lookup) => table.find_v4(lookup, header),
                Sought::V6(index) => table.find_v6(&self.v6[*index as usize], header),
            };
            captured.connection_and_side = found.connection << 1 | found.by as u32;
        }
        table.give_opened(&mut batch.opened);
        self.all.clear();
        self.v6.clear();
    }
}
