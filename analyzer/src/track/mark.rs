//! Where in the capture something was seen.

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

    /// Came after `other` in the capture.
    pub fn after(self, other: Mark) -> bool {
        self.frame > other.frame
    }
}
