//! Payload bytes that the capture lacks.

use crate::decode::{Header, seq};
use crate::track::half::{Half, state};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unseen {
    /// Payload bytes that were acknowledged or jumped over, and those of them that never came.
    jumped: u64,
    bytes: u64,
    /// Last frame before or in which bytes went missing.
    frame: u32,
    /// Where the bytes that went missing last begin and end.
    hole: (u32, u32),
}

impl Unseen {
    pub const NONE: Self = Self { jumped: 0, bytes: 0, frame: 0, hole: (0, 0) };

    fn add(&mut self, hole: (u32, u32), bytes: u64, frame: u32) {
        self.jumped += bytes;
        self.bytes += bytes;
        (self.frame, self.hole) = (frame, hole);
    }

    /// How many of `len` bytes from `seq` on are of those that went missing last?
    fn missing(&self, seq: u32, len: u32) -> u64 {
        let (begin, end) = self.hole;
        let skipped = seq::distance(seq, begin).max(0);
        let behind = seq::distance(end, seq.wrapping_add(len)).max(0);
        let inside = i64::from(len) - i64::from(skipped) - i64::from(behind);
        self.bytes.min(inside.max(0) as u64)
    }
}

impl Half {
    /// Bytes up to `seq` were never captured.
    pub fn jump_to(&mut self, seq: u32, frame: u32) {
        let from = self.sequence.nxt;
        let missing = seq::distance(from, seq).max(0) as u64;
        self.offset += missing;
        self.state.set(state::FROZEN_COUNTS);
        self.frozen_mut().unseen.add((from, seq), missing, frame);
        self.sequence.nxt = seq;
        self.stop_timing();
    }

    /// Payload bytes captured, each once.
    #[inline]
    pub fn bytes(&self) -> u64 {
        if self.state.is(state::FROZEN_COUNTS) {
            self.offset - self.frozen().unseen.jumped
        } else {
            self.offset
        }
    }

    /// Payload bytes that were never captured, and the last frame at which some went missing.
    pub fn unseen(&self) -> (u64, u32) {
        if self.state.is(state::FROZEN_COUNTS) {
            (self.frozen().unseen.bytes, self.frozen().unseen.frame)
        } else {
            (0, 0)
        }
    }

    /// How many of this segment's bytes went missing last, and have not come since?
    pub fn missing(&self, segment: &Header) -> u64 {
        self.frozen().unseen.missing(segment.seq, segment.len)
    }

    /// Some of the unseen bytes arrived after all.
    pub fn fill(&mut self, bytes: u64) {
        self.frozen_mut().unseen.bytes -= bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bytes_in_the_last_hole_are_missing() {
        let mut unseen = Unseen::NONE;
        unseen.add((100, 130), 30, 4);
        let missing = |seq, len| unseen.missing(seq, len);
        assert_eq!([missing(100, 30), missing(90, 20), missing(120, 50)], [30, 10, 10]);
        assert_eq!([missing(80, 20), missing(130, 20), missing(90, 90)], [0, 0, 30]);
    }
}
