//! The step in which ranges come in order, whoever read them: it checks where they begin, numbers
//! frames, and sums up captures.

use crate::capture::error::ScanError;
use crate::capture::progress::{Progress, Stopped};
use crate::capture::{InputEnd, Place};
use crate::track::clock_step::{ClockStep, FINE_NS};
use crate::track::reader::capture_summary::CaptureSummary;
use crate::track::reader::decoder::{Decoded, Part};
use crate::track::reader::range::Range;
use std::sync::Arc;

/// What came so far.
pub struct Order<'a> {
    progress: Arc<Progress>,
    summaries: Vec<CaptureSummary>,
    without_header: Vec<(&'a str, ScanError)>,
    frames: u64,
    /// Where the next range of the current capture begins.
    pub next: Option<Place>,
    /// What all times so far show of the clocks, and the step of the current capture's.
    clock: ClockStep,
    clock_ns: i64,
    /// The current capture has ended.
    pub ended: bool,
    /// The user stopped it: nothing else is read.
    pub stopped: bool,
    pub error: Option<ScanError>,
}

impl<'a> Order<'a> {
    pub fn new(progress: &Arc<Progress>) -> Self {
        Self {
            progress: Arc::clone(progress),
            summaries: Vec::new(),
            without_header: Vec::new(),
            frames: 0,
            next: None,
            clock: ClockStep::UNKNOWN,
            clock_ns: 0,
            ended: true,
            stopped: false,
            error: None,
        }
    }

    /// Frames so far.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Takes the next range, which may open a capture and may be a part of a file; gives it back if it
    /// must be read again, from `next` on. What lies behind the end of its capture counts as empty.
    pub fn take(
        &mut self,
        opens: Option<&'a str>,
        part: Option<&Part>,
        decoded: Decoded,
    ) -> Result<Box<Range>, Box<Range>> {
        let Decoded { mut range, places, end, about_text, mut error } = decoded;
        if let Some(path) = opens.filter(|_| !self.stopped) {
            match error.take() {
                Some(error) => self.fail(path, error),
                None => self.open(path, part.map(|part| part.begin.clone())),
            }
        }
        if self.ended || self.error.is_some() {
            range.reset();
            return Ok(range);
        }
        if part.is_some() {
            let Some((_, next)) = places.filter(|(begin, _)| Some(begin) == self.next.as_ref())
            else {
                range.reset();
                return Err(range);
            };
            self.go_on(next);
        }
        self.error = error;
        self.add(&mut range);
        if let Some(end) = end {
            self.end(end);
        }
        if let (Some(_), Some(summary)) = (&about_text, self.summaries.last_mut()) {
            summary.about_text = about_text;
        }
        Ok(range)
    }

    /// The next ranges are of another capture; if it is read in parts, its first record is at `begin`.
    fn open(&mut self, path: &str, begin: Option<Place>) {
        self.summaries.push(CaptureSummary::new(path, self.frames + 1));
        self.next = None;
        if let Some(begin) = begin {
            self.go_on(begin);
        }
        self.ended = false;
    }

    fn go_on(&mut self, next: Place) {
        let before = self.next.as_ref().map_or(0, |place| place.at);
        self.progress.add_read_bytes((next.at - before) as usize);
        self.next = Some(next);
    }

    /// The next capture cannot be opened.
    fn fail(&mut self, path: &'a str, error: ScanError) {
        match (error, self.summaries.last_mut()) {
            (error @ ScanError::NoHeader { .. }, _) => self.without_header.push((path, error)),
            (ScanError::Stopped { .. }, Some(_)) => {
                self.end(InputEnd::Stopped(Stopped::at(&self.progress)));
            }
            (error, _) => self.error = Some(error),
        }
    }

    fn end(&mut self, end: InputEnd) {
        self.ended = true;
        self.stopped = matches!(end, InputEnd::Stopped(_));
        if let Some(summary) = self.summaries.last_mut() {
            summary.end = match end {
                InputEnd::Stopped(_) => InputEnd::Stopped(Stopped::at(&self.progress)),
                end => end,
            };
        }
    }

    /// Numbers the frames of a range and sums them up.
    fn add(&mut self, range: &mut Range) {
        let [earlier @ .., summary] = self.summaries.as_mut_slice() else { return };
        let found = &range.found;
        range.frames_before = self.frames;
        self.frames += u64::from(found.frames);
        self.clock = self.clock.and(found.clock);
        if let (None, Some((_, first_ns))) = (summary.link_type, found.first) {
            range.parts = earlier.last().is_some_and(|before| before.overlaps(first_ns));
            let own_ns = found.first_clock.shown_ns(found.frames.into());
            let common_ns = || self.clock.shown_ns(self.frames);
            self.clock_ns = own_ns.or_else(common_ns).unwrap_or(FINE_NS);
        }
        range.clock_ns = self.clock_ns;
        summary.add(found);
        self.progress.set_packets(self.frames);
    }

    /// All captures. Adds those without a header: of a rotated set they are cut off, alone they are no
    /// capture.
    ///
    /// # Errors
    /// What kept a capture from being read.
    pub fn into_summaries(mut self) -> Result<Vec<CaptureSummary>, ScanError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        for (path, error) in self.without_header {
            if self.summaries.is_empty() {
                return Err(error);
            }
            let nothing = CaptureSummary::new(path, self.frames + 1);
            self.summaries.push(CaptureSummary { end: InputEnd::Cut, ..nothing });
        }
        Ok(self.summaries)
    }
}
