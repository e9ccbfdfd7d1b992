//! What captures that follow one another say of each other: numbers of frames, clocks, which belong
//! together.

use crate::capture::error::ScanError;
use crate::capture::{InputEnd, Position};
use crate::track::clock_step::{ClockStep, FINE_NS};
use crate::track::reader::capture_summary::CaptureSummary;
use crate::track::reader::range::{Found, Placed};
use std::borrow::Cow;

/// The captures so far.
pub struct Series {
    captures: Vec<CaptureSummary>,
    without_header: Vec<NoHeader>,
    frames: u64,
    /// What all times so far show of the clocks, and the step of the current capture's.
    clock: ClockStep,
    clock_ns: i64,
}

/// A file without a capture header: a cut-off part of a rotated set; by itself, not a capture.
pub struct NoHeader {
    pub path: String,
    pub reason: Cow<'static, str>,
}

impl Default for Series {
    fn default() -> Self {
        Self {
            captures: Vec::new(),
            without_header: Vec::new(),
            frames: 0,
            clock: ClockStep::UNKNOWN,
            clock_ns: 0,
        }
    }
}

impl Series {
    /// Frames so far.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// The next ranges are of another capture.
    pub fn open(&mut self, path: &str) {
        self.captures.push(CaptureSummary::new(path, self.frames + 1));
    }

    /// The current capture.
    pub fn current(&mut self) -> Option<&mut CaptureSummary> {
        self.captures.last_mut()
    }

    /// The next capture has no header.
    pub fn add_without_header(&mut self, capture: NoHeader) {
        self.without_header.push(capture);
    }

    /// The next range of the current capture, a file of so many bytes, begins there.
    pub fn begin_range(&mut self, place: &Position, file_len: u64) {
        if let Some(capture) = self.captures.last_mut().filter(|capture| capture.packets > 0) {
            capture.index.add(self.frames, place, file_len);
        }
    }

    /// Adds the next range of the current capture.
    pub fn add(&mut self, found: &Found) -> Placed {
        let frames_before = self.frames;
        self.frames += u64::from(found.frames);
        self.clock = self.clock.and(found.clock);
        let mut parts = false;
        if let [earlier @ .., capture] = self.captures.as_mut_slice() {
            if let (None, Some((_, first_ns))) = (capture.link_type, found.first) {
                parts = earlier.last().is_some_and(|before| before.overlaps(first_ns));
                let own_ns = found.first_clock.shown_ns(found.frames.into());
                let common_ns = || self.clock.shown_ns(self.frames);
                self.clock_ns = own_ns.or_else(common_ns).unwrap_or(FINE_NS);
            }
            capture.add(found);
        }
        Placed { frames_before, parts, clock_ns: self.clock_ns }
    }

    /// All captures. Those without a header come last.
    ///
    /// # Errors
    /// None has a header.
    pub fn into_summaries(mut self) -> Result<Vec<CaptureSummary>, ScanError> {
        for NoHeader { path, reason } in self.without_header {
            if self.captures.is_empty() {
                return Err(ScanError::NoHeader { path, reason });
            }
            let nothing = CaptureSummary::new(&path, self.frames + 1);
            self.captures.push(CaptureSummary { end: InputEnd::Cut, ..nothing });
        }
        Ok(self.captures)
    }
}

/// Rotated files (`tcpdump -C`, `-G`) come in the order of their first frames; those without one come last.
pub fn rank(first_ns: Option<i64>) -> impl Ord {
    (first_ns.is_none(), first_ns)
}
