//! Segments on their way from the reader to the tracker, and the look-up of their connections.

use crate::decode::{Addresses, Header, Ports, Segment};
use crate::flow::{Ends, Mark, Side, Table};

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

/// A segment before its connection is looked up.
struct Decoded {
    mark: Mark,
    header: Header,
    ports: Ports,
    addresses: Stored,
}

/// Addresses of a segment. The long ones lie apart.
enum Stored {
    /// As two numbers in native order: they are moved as such, not byte by byte.
    V4([u32; 2]),
    /// Index into [`Lookups::v6`].
    V6(u32),
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

/// Segments whose connections are to be looked up.
#[derive(Default)]
pub struct Lookups {
    segments: Vec<Decoded>,
    v6: Vec<[u8; 32]>,
}

impl Lookups {
    pub fn is_full(&self) -> bool {
        self.segments.len() >= LOOKUPS
    }

    #[inline]
    pub fn push(&mut self, segment: &Segment<'_>, mark: Mark) {
        let addresses = match segment.addresses {
            Addresses::V4([s0, s1, s2, s3, d0, d1, d2, d3]) => Stored::V4([
                u32::from_ne_bytes([*s0, *s1, *s2, *s3]),
                u32::from_ne_bytes([*d0, *d1, *d2, *d3]),
            ]),
            Addresses::V6(bytes) => {
                self.v6.push(*bytes);
                Stored::V6(self.v6.len() as u32 - 1)
            }
        };
        let (header, ports) = (segment.header(), segment.ports());
        self.segments.push(Decoded { mark, header, ports, addresses });
    }

    /// Looks all connections up at once: so the misses of the cache overlap.
    pub fn find(&mut self, table: &mut Table, batch: &mut Batch) {
        let v6 = &self.v6;
        let found = self.segments.iter().map(|segment| {
            let mut v4 = [0; 8];
            let addresses = match &segment.addresses {
                Stored::V4(both) => {
                    v4.as_chunks_mut().0.copy_from_slice(&both.map(u32::to_ne_bytes));
                    Addresses::V4(&v4)
                }
                Stored::V6(index) => Addresses::V6(&v6[*index as usize]),
            };
            let found = table.find(addresses, segment.ports, &segment.header);
            batch.opened.extend(found.opened);
            let connection_and_side = found.connection << 1 | found.by as u32;
            Captured { mark: segment.mark, header: segment.header, connection_and_side }
        });
        batch.segments.extend(found);
        self.segments.clear();
        self.v6.clear();
    }
}
