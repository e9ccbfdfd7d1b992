//! Where in the capture something was seen.

use crate::track::thresholds::LATE_STAMP_NS;

/// A frame and its time, in 12 bytes: connections and waits consist of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C, packed(4))]
pub struct Mark {
    /// Nanoseconds since the epoch.
    pub time_ns: i64,
    /// Wireshark's `frame.number`, from 1, in as many bits as there; 0 is 'none'.
    pub frame: u32,
}

impl Mark {
    pub const NONE: Self = Self { time_ns: 0, frame: 0 };

    pub fn is_set(self) -> bool {
        self.frame != 0
    }

    /// The mark in a capture whose frames follow after so many others.
    pub fn moved(self, frames_before: u32) -> Self {
        let frame = if self.is_set() { self.frame.saturating_add(frames_before) } else { 0 };
        Self { frame, ..self }
    }

    /// Came after `other`: by the stamps, where these are close, else by the frames, as clocks are set.
    pub fn after(self, other: Mark) -> bool {
        let later_ns = self.time_ns.wrapping_sub(other.time_ns);
        let is_close = later_ns != 0 && (-LATE_STAMP_NS..=LATE_STAMP_NS).contains(&later_ns);
        if is_close { later_ns > 0 } else { self.frame > other.frame }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_stamps_order_and_else_frames_do() {
        let mark = |time_ns, frame| Mark { time_ns, frame };
        assert!(mark(1_000_001, 8).after(mark(1_000_000, 10)));
        assert!(!mark(1_000_000, 8).after(mark(1_000_000, 10)));
        // The clock was set back by a second between them.
        assert!(mark(1_000_000, 8).after(mark(1_001_000_000, 7)));
        assert!(mark(1_000_000, 1).after(Mark::NONE) && !Mark::NONE.after(mark(1_000_000, 1)));
    }
}
