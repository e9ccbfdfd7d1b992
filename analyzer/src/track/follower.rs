//! Follows some connections, known by their numbers, and only looks the others up.

use crate::decode::Header;
use crate::named::named;
use crate::track::connection::{Lengths, Recorder};
use crate::track::exchange::exchanged::Exchanged;
use crate::track::half::repeated::Repeats;
use crate::track::reader::range::{Range, ShardRow};
use crate::track::table::Table;
use crate::track::{Connection, Mark, Side};
use foldhash::fast::RandomState;
use hashbrown::HashMap;

named! {
    /// Did a segment bring something again?
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Repeat {
        No = "no",
        /// Sent again.
        Retransmitted = "retransmitted",
        /// Captured again.
        Duplicated = "duplicated",
        /// Overtaken by what was sent after it.
        Reordered = "reordered",
    }
}

impl Repeat {
    /// The facts that a segment added.
    fn between(before: Repeats, after: Repeats) -> Self {
        match after {
            _ if after.duplicated > before.duplicated => Self::Duplicated,
            _ if after.reordered > before.reordered => Self::Reordered,
            _ if after.retransmitted > before.retransmitted || after.fins > before.fins => {
                Self::Retransmitted
            }
            _ => Self::No,
        }
    }
}

/// A segment of a connection.
#[derive(Debug, Clone, Copy)]
pub struct TrackedSegment {
    pub mark: Mark,
    pub by: Side,
    pub header: Header,
    /// Stream offset of the first payload byte.
    pub rel_seq: u64,
    pub repeat: Repeat,
    /// The window it advertises in bytes, where the scale is known.
    pub window: Option<u32>,
    /// True if it holds new data that is not a whole number of MSS.
    pub is_small: bool,
}

/// The only shard of a reading, so that it opens connections in the order of their numbers.
pub struct Follower<F> {
    table: Table,
    /// The connection to follow, once it began.
    wanted: HashMap<u32, Option<Connection>, RandomState>,
    recorder: Recorder,
    see: F,
}

impl<F: FnMut(u32, TrackedSegment)> Follower<F> {
    /// Shows each segment of these connections to `see`.
    pub fn new(connections: &[u32], see: F) -> Self {
        Self {
            table: Table::default(),
            wanted: connections.iter().map(|&number| (number, None)).collect(),
            recorder: Recorder::new(Lengths::NONE, Exchanged::default()),
            see,
        }
    }

    /// Takes the next range.
    pub fn take(&mut self, range: &Range, shard: usize) {
        if range.placed.parts {
            self.table.forget();
        }
        self.recorder.clock_ns = range.placed.clock_ns;
        for row in range.of(shard).flatten() {
            self.take_row(range, row);
        }
    }

    fn take_row(&mut self, range: &Range, row: &ShardRow) {
        let key = range.key(row);
        let found = self.table.find(key, self.table.fetch(key), row.is_from_low(), &row.header);
        let number = found.connection;
        let Some(connection) = self.wanted.get_mut(&number) else { return };
        if found.is_new {
            *connection = Some(Connection::new(number, range.ends(row, found.by)));
        }
        let Some(connection) = connection else { return };
        let (by, header, mark) = (found.by, row.header, range.mark(row));
        let rel_seq = connection.rel_seq(by, &header);
        let window = connection.half(by).window_of(&header);
        let before = connection.half(by).odd().repeats;
        connection.take(by, &header, mark, &mut self.recorder);
        let repeat = Repeat::between(before, connection.half(by).odd().repeats);
        let is_small = connection.half(by).is_last_small();
        let segment = TrackedSegment { mark, by, header, rel_seq, repeat, window, is_small };
        (self.see)(number, segment);
    }
}
