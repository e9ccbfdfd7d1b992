//! A range of a capture, decoded: what one thread reads at once, and the shards take one after the
//! other.

use crate::capture::Frame;
use crate::decode::message::{Announced, Messages};
use crate::decode::{Addresses, Header, Segment, Skip};
use crate::track::clock::stamps::Stamps;
use crate::track::clock::step::ClockStep;
use crate::track::ends::Ends;
use crate::track::table::key::{
    AnyKey, Key, KeyV4, LongKey, SHARDS, addresses_inside, addresses_v4, addresses_v6,
};
use crate::track::{Mark, Side};

/// Rows that lie together: enough that looking them up and prefetching runs on, few enough that a
/// range with few rows for each shard takes little memory.
const MOST_ROWS: usize = 128;
const NONE: u32 = u32::MAX;

/// A segment on its way to its shard.
#[derive(Debug, Clone, Copy)]
pub struct ShardRow {
    time_ns: i64,
    /// Ports and addresses; of a long key the ports, and where it is in [`Range::long`].
    key: KeyV4,
    pub header: Header,
    /// Which frame of the range it is, from 0, in 30 bits, and two facts.
    frame: u32,
}

const _: () = assert!(size_of::<ShardRow>() == 48, "three quarters of a cache line");

/// The sender is the lower endpoint of the key.
const FROM_LOW: u32 = 1;
/// The key is one of IPv6, or of a tunnel.
const IS_LONG: u32 = 2;

/// Some rows of a shard.
#[derive(Debug, Clone)]
struct Piece {
    shard: usize,
    rows: Vec<ShardRow>,
}

/// Frames of one capture that follow one another. Its memory is used again.
#[derive(Debug, Clone)]
pub struct Range {
    shards: usize,
    /// The first `used` are those of this range, in the order of their frames for each shard.
    pieces: Vec<Piece>,
    used: usize,
    /// The piece that each shard's next row goes to.
    current: [u32; SHARDS],
    long: Vec<LongKey>,
    /// Lengths that its messages announce, by their rows' frames.
    announced: Vec<(u32, Announced)>,
    messages: Messages,
    pub found: Found,
    pub placed: Placed,
}

/// Where the frames of a range stand among all captures.
#[derive(Debug, Clone, Copy, Default)]
pub struct Placed {
    /// Frames before its first one.
    pub frames_before: u32,
    /// They begin a capture that shares no connections with those before.
    pub parts: bool,
    /// Step of the clock of their capture.
    pub clock_ns: i64,
}

/// Facts about the frames of a range.
#[derive(Debug, Clone, Default)]
pub struct Found {
    pub stamps: Stamps,
    /// Bytes on the wire.
    pub bytes: u64,
    /// Link type of the first frame.
    pub link_type: Option<u32>,
    /// Step of the clock, as the first frames of a capture show it.
    pub first_clock: ClockStep,
    pub skipped: [u64; Skip::MEMBERS.len()],
    /// Segments among them that the filter left out only because of their VLAN tags.
    pub missed_for_tags: u64,
}

impl Found {
    #[inline]
    pub fn count(&mut self, frame: &Frame<'_>) {
        self.link_type.get_or_insert(frame.link_type);
        self.stamps.see(frame.time_ns);
        self.bytes += u64::from(frame.wire_len);
    }
}

impl Range {
    /// An empty range for `shards` shards.
    pub fn new(shards: usize) -> Self {
        debug_assert!(shards.is_power_of_two() && shards <= SHARDS);
        Self {
            shards,
            pieces: Vec::new(),
            used: 0,
            current: [NONE; SHARDS],
            long: Vec::new(),
            announced: Vec::new(),
            messages: Messages::default(),
            found: Found::default(),
            placed: Placed::default(),
        }
    }

    /// Empties it for reuse.
    pub fn reset(&mut self) {
        self.used = 0;
        self.current = [NONE; SHARDS];
        self.long.clear();
        self.announced.clear();
        self.found = Found::default();
        self.placed = Placed::default();
    }

    /// Adds a segment of the frame that was counted last.
    #[expect(clippy::inline_always, reason = "as Capture::next_frame")]
    #[inline(always)]
    pub fn push(&mut self, segment: &Segment<'_>, frame: &Frame<'_>) {
        let time_ns = frame.time_ns;
        self.found.stamps.step.see_segment(time_ns);
        let announced = self.messages.announced(segment, frame.data);
        let frame = (self.found.stamps.frames - 1) << 2;
        let (mut header, ports) = (segment.header(), segment.ports());
        if let Some(announced) = announced {
            header.options.announce();
            self.announced.push((frame >> 2, announced));
        }
        let (key, spread, facts) = match segment.addresses {
            Addresses::V4(bytes) if segment.tunnel.is_none() => {
                let (key, from_low) = Key::new(addresses_v4(*bytes), ports);
                (key, key.spread(), u32::from(from_low) * FROM_LOW)
            }
            _ => self.long_key(segment),
        };
        let row = ShardRow { time_ns, key, header, frame: frame | facts };
        self.rows_of(spread & (self.shards - 1)).push(row);
    }

    /// Keeps the key of a segment over IPv6 or in a tunnel; what stands for it, and on which shard and
    /// with which facts.
    fn long_key(&mut self, segment: &Segment<'_>) -> (KeyV4, usize, u32) {
        let ports = segment.ports();
        let (key, ports, spread, from_low) = match segment.addresses {
            Addresses::V6(bytes) if segment.tunnel.is_none() => {
                let (key, from_low) = Key::new(addresses_v6(bytes), ports);
                (LongKey::V6(key), key.ports, key.spread(), from_low)
            }
            addresses => {
                let (key, from_low) = Key::new(addresses_inside(addresses), ports);
                (LongKey::Inside(key, segment.tunnel), key.ports, key.spread(), from_low)
            }
        };
        self.long.push(key);
        let place = KeyV4::of_place(self.long.len() as u32 - 1, ports);
        (place, spread, (u32::from(from_low) * FROM_LOW) | IS_LONG)
    }

    /// Where the next row of a shard goes.
    #[inline]
    fn rows_of(&mut self, shard: usize) -> &mut Vec<ShardRow> {
        let current = self.current[shard] as usize;
        let is_free = self.pieces.get(current).is_some_and(|piece| piece.rows.len() < MOST_ROWS);
        let at = if is_free { current } else { self.next_piece(shard) };
        &mut self.pieces[at].rows
    }

    #[cold]
    fn next_piece(&mut self, shard: usize) -> usize {
        if self.used == self.pieces.len() {
            self.pieces.push(Piece { shard, rows: Vec::with_capacity(MOST_ROWS) });
        }
        let piece = &mut self.pieces[self.used];
        piece.shard = shard;
        piece.rows.clear();
        self.current[shard] = self.used as u32;
        self.used += 1;
        self.used - 1
    }

    /// The rows of a shard, in the order of their frames.
    pub fn of(&self, shard: usize) -> impl Iterator<Item = &[ShardRow]> {
        let pieces = self.pieces[..self.used].iter();
        pieces.filter(move |piece| piece.shard == shard).map(|piece| piece.rows.as_slice())
    }

    #[inline]
    pub fn key(&self, row: &ShardRow) -> AnyKey<'_> {
        match row.frame & IS_LONG {
            0 => AnyKey::V4(row.key),
            _ => AnyKey::Long(&self.long[row.key.place() as usize]),
        }
    }

    /// The ends of the connection of a row that `by` sent.
    #[cold]
    pub fn ends(&self, row: &ShardRow, by: Side) -> Ends {
        self.key(row).ends(row.is_from_low() == (by == Side::Client))
    }

    /// The length that a row's payload announces.
    #[cold]
    pub fn announced(&self, row: &ShardRow) -> Option<&Announced> {
        let at = self.announced.binary_search_by_key(&(row.frame >> 2), |&(frame, _)| frame);
        at.ok().map(|at| &self.announced[at].1)
    }

    #[inline]
    pub fn mark(&self, row: &ShardRow) -> Mark {
        Mark { time_ns: row.time_ns, frame: self.placed.frames_before + (row.frame >> 2) + 1 }
    }
}

impl ShardRow {
    /// Is the sender the lower endpoint of the key?
    #[inline]
    pub fn is_from_low(&self) -> bool {
        self.frame & FROM_LOW != 0
    }
}
