//! Looks up the connections of many segments at once, so that their cache misses overlap.

use crate::decode::{Addresses, Header, Segment};
use crate::track::reader::batch::{Batch, Captured, LOOKUPS};
use crate::track::reader::lane::Outlet;
use crate::track::{KeyV4, KeyV6, Lookup, Mark, Table, deal};

/// Segments whose connections are still to be looked up.
#[derive(Default)]
pub struct Lookups {
    segments: Vec<(Header, Mark)>,
    sought: Vec<Sought>,
    v6: Vec<Lookup<KeyV6>>,
}

/// A pending look-up. IPv6 ones are larger and lie apart.
enum Sought {
    V4(Lookup<KeyV4>),
    /// Index into [`Lookups::v6`].
    V6(u32),
}

impl Lookups {
    pub fn is_full(&self) -> bool {
        self.segments.len() >= LOOKUPS
    }

    /// Adds a segment whose connection is to be found.
    #[expect(clippy::inline_always, reason = "as Capture::next_frame")]
    #[inline(always)]
    pub fn push(&mut self, segment: &Segment<'_>, mark: Mark, table: &Table) {
        let (header, ports) = (segment.header(), segment.ports());
        self.segments.push((header, mark));
        self.sought.push(match segment.addresses {
            Addresses::V4(bytes) => Sought::V4(table.lookup_v4(*bytes, ports)),
            Addresses::V6(bytes) => {
                self.v6.push(table.lookup_v6(bytes, ports));
                Sought::V6(self.v6.len() as u32 - 1)
            }
        });
    }

    /// Looks up all connections and moves the segments to their trackers.
    pub fn find<T: FnMut(&Batch), const N: usize>(
        &mut self,
        table: &mut Table,
        outlet: &mut Outlet<'_, T, N>,
    ) {
        for ((header, mark), sought) in self.segments.iter().zip(&self.sought) {
            let found = match sought {
                Sought::V4(lookup) => table.find_v4(lookup, header),
                Sought::V6(index) => table.find_v6(&self.v6[*index as usize], header),
            };
            let (tracker, place) = deal::<N>(found.connection);
            if let Some(ends) = table.opened() {
                outlet.open(tracker, place, ends);
            }
            outlet.push(tracker, Captured::new(*header, *mark, place, found.by));
        }
        self.segments.clear();
        self.sought.clear();
        self.v6.clear();
    }
}
