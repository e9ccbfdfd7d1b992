//! How a sender splits its messages: what its stalls have in common.

use crate::judge::finding::judged::JudgedConnection;
use crate::judge::statistics;
use crate::track::wait::{Wait, fact};

/// How many frames are worth reading again.
const FRAMES: usize = 3;

/// Typical lengths in bytes, and frames to look at.
#[derive(Debug, Clone, Default)]
pub struct Pieces {
    pub unacked_len: u32,
    pub held_len: u32,
    /// Is most of what was unacknowledged full-sized? Then the held segment may be the tail of the
    /// same write.
    pub unacked_full_sized: bool,
    /// Frames of the first unacknowledged segments, each with that of the segment held behind it.
    pub frames: Vec<(u64, u64)>,
    /// The connection of the first of them.
    pub connection: u64,
    /// The frame that ended a server's first reply; later ones may not tell the protocol or program.
    pub first_reply: Option<u64>,
}

/// The pieces while the stalls come in.
pub struct PieceCounter {
    unacked_lens: Vec<u32>,
    held_lens: Vec<u32>,
    full_sized: usize,
    /// With their connection.
    frames: Vec<((u64, u64), u64)>,
    first_reply: Option<u64>,
}

impl PieceCounter {
    /// For stalls of which the first are on the connection of `judged`.
    pub fn new(judged: &JudgedConnection) -> Self {
        Self {
            unacked_lens: Vec::new(),
            held_lens: Vec::new(),
            full_sized: 0,
            frames: Vec::with_capacity(FRAMES + 1),
            first_reply: judged.first_exchange.map(|(_, frame)| frame.get()),
        }
    }

    pub fn add(&mut self, stall: &Wait) {
        self.unacked_lens.push(stall.unacked_len);
        self.held_lens.push(stall.len);
        self.full_sized += usize::from(!stall.is(fact::UNACKED_SMALL));
        let frames = ((stall.from.frame, stall.to.frame), u64::from(stall.connection));
        if self.frames.len() < FRAMES || self.frames.last().is_some_and(|&last| frames < last) {
            self.frames.push(frames);
            self.frames.sort_unstable();
            self.frames.truncate(FRAMES);
        }
    }

    pub fn total(mut self) -> Pieces {
        Pieces {
            unacked_full_sized: 2 * self.full_sized > self.held_lens.len(),
            unacked_len: statistics::lower(&mut self.unacked_lens).unwrap_or(0),
            held_len: statistics::lower(&mut self.held_lens).unwrap_or(0),
            connection: self.frames.first().map_or(0, |&(_, connection)| connection),
            frames: self.frames.into_iter().map(|(frames, _)| frames).collect(),
            first_reply: self.first_reply,
        }
    }
}
