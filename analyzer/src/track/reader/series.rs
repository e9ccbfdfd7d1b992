//! Ranges in order, and what captures that follow one another say of each other: numbers of frames, clocks,
//! which belong together.

use crate::capture::InputEnd;
use crate::capture::error::ScanError;
use crate::capture::progress::{Progress, Stopped};
use crate::track::clock::stamps::Stamps;
use crate::track::reader::capture_summary::CaptureSummary;
use crate::track::reader::decoder::Decoded;
use crate::track::reader::range::{Found, Placed, Range};
use crate::track::thresholds::FINE_CLOCK_NS;
use std::borrow::Cow;
use std::mem;
use std::sync::Arc;

/// The captures so far.
#[derive(Default)]
pub struct CaptureSeries {
    progress: Arc<Progress>,
    captures: Vec<CaptureSummary>,
    without_header: Vec<NoHeader>,
    /// All frames so far, and the step of the current capture's clock.
    all: Stamps,
    clock_ns: i64,
    /// The next frames belong to no connection of earlier captures.
    pub parts: bool,
    /// The user stopped it, or there are no numbers for more frames.
    stopped: bool,
    error: Option<ScanError>,
}

/// A file without a capture header: a cut-off part of a rotated set; by itself, not a capture.
struct NoHeader {
    path: String,
    reason: Cow<'static, str>,
}

impl CaptureSeries {
    pub fn new(progress: &Arc<Progress>) -> Self {
        Self { progress: Arc::clone(progress), ..Self::default() }
    }

    /// Frames so far.
    pub fn frames(&self) -> u64 {
        self.all.frames.into()
    }

    /// Is nothing else to be read?
    pub fn is_over(&self) -> bool {
        self.stopped || self.error.is_some()
    }

    /// The next ranges are of another capture.
    pub fn open(&mut self, path: &str) {
        self.captures.push(CaptureSummary::new(path, self.frames() + 1));
    }

    /// The next capture cannot be opened.
    pub fn fail(&mut self, error: ScanError) {
        match error {
            ScanError::NoHeader { path, reason } => {
                self.without_header.push(NoHeader { path, reason });
            }
            ScanError::Stopped { .. } if !self.captures.is_empty() => {
                self.end(InputEnd::Stopped(Stopped::at(&self.progress)));
            }
            error => self.error = Some(error),
        }
    }

    fn end(&mut self, end: InputEnd) {
        self.stopped |= matches!(end, InputEnd::Stopped(_));
        if let Some(capture) = self.captures.last_mut() {
            capture.end = match end {
                InputEnd::Stopped(_) => InputEnd::Stopped(Stopped::at(&self.progress)),
                end => end,
            };
        }
    }

    /// Takes the next range of the current capture: numbers its frames and sums them up.
    pub fn take(&mut self, decoded: Decoded, range: &mut Range) {
        let Decoded { place, end, about_text, lines_before, error } = decoded;
        self.error = error;
        if let (Some(capture), Some(place)) = (self.captures.last_mut(), place)
            && capture.stamps.frames > 0
        {
            capture.index.add(self.all.frames.into(), &place);
        }
        let end = if let Some(placed) = self.add(&range.found) {
            range.placed = placed;
            end
        } else {
            range.reset();
            self.stopped = true;
            Some(InputEnd::Failed(format!("frames are numbered up to {}", u32::MAX)))
        };
        self.progress.set_packets(self.frames());
        if let Some(end) = end {
            self.end(end);
        }
        if let Some(capture) = self.captures.last_mut() {
            capture.lines_before = lines_before;
            capture.about_text = about_text;
        }
    }

    /// `None` if there are no numbers left for its frames.
    fn add(&mut self, found: &Found) -> Option<Placed> {
        let frames_before = self.all.frames;
        frames_before.checked_add(found.stamps.frames)?;
        self.all.add(&found.stamps);
        let mut parts = false;
        if let [earlier @ .., capture] = self.captures.as_mut_slice() {
            if capture.stamps.frames == 0 && found.stamps.frames > 0 {
                let overlaps = |before: &CaptureSummary| before.stamps.overlap(&found.stamps);
                parts = mem::take(&mut self.parts) || earlier.last().is_some_and(overlaps);
                let own_ns = found.first_clock.shown_ns(found.stamps.frames);
                self.clock_ns = own_ns.or_else(|| self.all.step_ns()).unwrap_or(FINE_CLOCK_NS);
            }
            capture.add(found);
        }
        Some(Placed { frames_before, parts, clock_ns: self.clock_ns })
    }

    /// All captures. Those without a header come last: of a rotated set they are cut off, alone they are no
    /// capture.
    ///
    /// # Errors
    /// The error that kept a capture from being read.
    pub fn into_summaries(mut self) -> Result<Vec<CaptureSummary>, ScanError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let next_frame = self.frames() + 1;
        for NoHeader { path, reason } in self.without_header {
            if self.captures.is_empty() {
                return Err(ScanError::NoHeader { path, reason });
            }
            let nothing = CaptureSummary::new(&path, next_frame);
            self.captures.push(CaptureSummary { end: InputEnd::Cut, ..nothing });
        }
        Ok(self.captures)
    }
}

/// Rotated files (`tcpdump -C`, `-G`) come in the order of their first frames; those without one come last.
pub fn rank(first_ns: Option<i64>) -> impl Ord {
    (first_ns.is_none(), first_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_with_more_frames_than_there_are_numbers_is_read_up_to_there() {
        let mut series = CaptureSeries::new(&Arc::new(Progress::default()));
        series.open("long.pcap");
        let mut take = |frames| {
            let mut range = Range::new(1);
            range.found.stamps.frames = frames;
            series.take(Decoded::default(), &mut range);
            (range.found.stamps.frames, series.is_over())
        };
        assert_eq!(take(u32::MAX - 1), (u32::MAX - 1, false));
        assert_eq!(take(2), (0, true));
        let summary = series.into_summaries().unwrap().remove(0);
        assert_eq!(summary.stamps.frames, u32::MAX - 1);
        assert!(matches!(summary.end, InputEnd::Failed(_)));
    }
}
