//! What one thread does at once.

use crate::capture::Capture;
use crate::capture::ranges::RangedFile;
use crate::capture::unpack::Unpacker;
use crate::track::reader::decoder::Part;
use crate::track::reader::range::Range;
use std::sync::Arc;

/// Something that one thread does.
pub enum Job<'a> {
    Open(&'a str),
    Unpack(Arc<Unpacker>),
    /// The range with this number. Its beginning is known, or a guess.
    Read {
        number: u64,
        part: Part,
        known: bool,
        first: bool,
        range: Box<Range>,
    },
    /// The next range of what can be read only from its beginning, after so many frames.
    Stream {
        number: u64,
        capture: Box<Capture>,
        len: u64,
        first: bool,
        frames: u64,
        range: Box<Range>,
    },
    /// A shard takes a range.
    Take {
        shard: usize,
        range: Arc<Range>,
    },
}

/// A capture that was opened.
pub enum Opened {
    Ranged(Arc<RangedFile>),
    Stream(Box<Capture>),
}
