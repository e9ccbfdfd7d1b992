//! A segment that a connection opens with, in 24 bytes.

use crate::decode::{ACK, Header, Options, SYN};
use crate::track::{Mark, Opening, Side};

/// Kept so small because there are millions.
#[derive(Debug, Clone, Copy)]
pub struct Packed {
    /// Time and frame since some other segment: see [`since`].
    when: u64,
    seq: u32,
    window: u16,
    ip_id: u16,
    options: Options,
    /// The bits below.
    facts: u8,
}

const _: () = assert!(size_of::<Packed>() == 24, "millions of them are kept");

const BY_SERVER: u8 = 1 << 0;
const IS_SYN: u8 = 1 << 1;
const IS_ACK: u8 = 1 << 2;
/// No further one of its connection follows.
const IS_LAST: u8 = 1 << 3;

/// Frames take so many bits, times what is left: nine minutes before and after.
const FRAME_BITS: u32 = 24;
const MIDDLE_NS: i64 = 1 << (63 - FRAME_BITS);

impl Packed {
    /// `None` where it is too far away from `base`.
    pub fn new(opening: &Opening, base: Mark) -> Option<Self> {
        let Opening { by, mark, header } = opening;
        let set = |condition, bit: u8| if condition { bit } else { 0 };
        Some(Self {
            when: since(base, *mark)?,
            seq: header.seq,
            window: header.window,
            ip_id: header.ip_id,
            options: header.options,
            facts: set(*by == Side::Server, BY_SERVER)
                | set(header.has(SYN), IS_SYN)
                | set(header.has(ACK), IS_ACK),
        })
    }

    pub fn last(self) -> Self {
        Self { facts: self.facts | IS_LAST, ..self }
    }

    pub fn is_last(&self) -> bool {
        self.is(IS_LAST)
    }

    fn is(&self, fact: u8) -> bool {
        self.facts & fact != 0
    }

    /// The segment, but for what it acknowledges.
    pub fn opening(&self, base: Mark) -> Opening {
        let flag = |fact, flag: u8| if self.is(fact) { flag } else { 0 };
        let header = Header {
            seq: self.seq,
            ack: 0,
            len: 0,
            window: self.window,
            ip_id: self.ip_id,
            options: self.options,
            flags: flag(IS_SYN, SYN) | flag(IS_ACK, ACK),
        };
        let by = if self.is(BY_SERVER) { Side::Server } else { Side::Client };
        Opening { by, mark: after(base, self.when), header }
    }
}

/// How far `mark` is from `base`, time and frame in one number.
fn since(base: Mark, mark: Mark) -> Option<u64> {
    let time_ns = mark.time_ns.checked_sub(base.time_ns)?.checked_add(MIDDLE_NS)?;
    let frame = mark.frame.checked_sub(base.frame)?;
    let fits = (0..2 * MIDDLE_NS).contains(&time_ns) && frame >> FRAME_BITS == 0;
    fits.then_some((time_ns as u64) << FRAME_BITS | frame)
}

fn after(base: Mark, when: u64) -> Mark {
    Mark {
        time_ns: base.time_ns + (when >> FRAME_BITS) as i64 - MIDDLE_NS,
        frame: base.frame + (when & ((1 << FRAME_BITS) - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_far_away_is_not_packed() {
        let base = Mark { time_ns: 5_000_000_000, frame: 70 };
        let at = |time_ns, frame| Mark { time_ns: base.time_ns + time_ns, frame };
        let near = [at(0, 70), at(-MIDDLE_NS, 71), at(MIDDLE_NS - 1, 69 + (1 << FRAME_BITS))];
        for mark in near {
            assert_eq!(since(base, mark).map(|when| after(base, when)), Some(mark));
        }
        let far = [at(0, 69), at(0, 70 + (1 << FRAME_BITS)), at(MIDDLE_NS, 70)];
        for mark in far.into_iter().chain([at(-MIDDLE_NS - 1, 70)]) {
            assert_eq!(since(base, mark), None);
        }
        assert_eq!(since(base, Mark { time_ns: i64::MIN, frame: 70 }), None);
    }
}
