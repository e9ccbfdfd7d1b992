//! How a sender splits its messages: what its stalls have in common.

use crate::judge::finding::judged::JudgedConnection;
use crate::judge::statistics;
use crate::track::wait::{Wait, fact};

/// How many frames are worth reading again.
const FRAMES: usize = 3;

/// Lengths of fewer stalls alternate by chance in one of 35 cases or more.
const ENOUGH: usize = 4;

/// So few lengths may be exceptions: a path puts segments together, or loses one.
const OUTSIDE_ONE_OF: usize = 10;

/// Typical lengths in bytes, and frames to look at.
#[derive(Debug, Clone, Default)]
pub struct Pieces {
    pub unacked_len: u32,
    pub held_len: u32,
    /// Is most of what was unacknowledged full-sized? Then the held segment may be its tail.
    pub unacked_full_sized: bool,
    /// Do a shorter and a longer segment alternate, as the pieces of a message do?
    pub alternate: bool,
    /// Frames of the first unacknowledged segments, each with that of the held one.
    pub frames: Vec<(u32, u32)>,
    /// The connection of the first of them.
    pub connection: u64,
    /// The frame that ended a server's first reply, which may show protocol and program.
    pub first_reply: Option<u32>,
}

/// The pieces while the stalls come in.
pub struct PieceCounter {
    unacked_lens: Vec<u32>,
    held_lens: Vec<u32>,
    full_sized: usize,
    /// With their connection.
    frames: Vec<((u32, u32), u64)>,
    first_reply: Option<u32>,
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
        let [unacked_len, held_len] = [&mut self.unacked_lens, &mut self.held_lens]
            .map(|lens| statistics::lower(lens).unwrap_or(0));
        let middle = unacked_len.midpoint(held_len);
        Pieces {
            unacked_full_sized: 2 * self.full_sized > self.held_lens.len(),
            alternate: alternate(&self.unacked_lens, &self.held_lens, middle),
            unacked_len,
            held_len,
            connection: self.frames.first().map_or(0, |&(_, connection)| connection),
            frames: self.frames.into_iter().map(|(frames, _)| frames).collect(),
            first_reply: self.first_reply,
        }
    }
}

/// Do nearly all unacknowledged and held lengths lie on different sides of `middle`?
fn alternate(unacked_lens: &[u32], held_lens: &[u32], middle: u32) -> bool {
    let (all, few) = (held_lens.len(), held_lens.len() / OUTSIDE_ONE_OF);
    let longer = |lens: &[u32]| lens.iter().filter(|&&len| len > middle).count();
    let (unacked, held) = (longer(unacked_lens), longer(held_lens));
    let differ = |short: usize, long: usize| short <= few && all - long <= few;
    all >= ENOUGH && (differ(unacked, held) || differ(held, unacked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_and_its_body_alternate_and_messages_of_any_length_do_not() {
        let heads_and_bodies = ([70, 77, 75, 71], [100, 140, 120, 180]);
        for (one, other) in [heads_and_bodies, (heads_and_bodies.1, heads_and_bodies.0)] {
            assert!(alternate(&one, &other, 97));
            assert!(!alternate(&one[..3], &other[..3], 97));
        }
        assert!(!alternate(&[12; 4], &[12; 4], 12));
        assert!(!alternate(&[12, 90, 33, 47], &[61, 12, 88, 20], 33));
    }

    #[test]
    fn a_path_may_put_one_in_ten_together() {
        let (mut heads, bodies) = ([70; 10], [100; 10]);
        heads[3] = 170;
        assert!(alternate(&heads, &bodies, 85));
        heads[4] = 170;
        assert!(!alternate(&heads, &bodies, 85));
    }
}
