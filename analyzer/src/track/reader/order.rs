//! The step in which ranges come in order, whoever read them: it checks where they begin, and
//! numbers frames and sums up captures with [`Series`].

use crate::capture::error::ScanError;
use crate::capture::progress::{Progress, Stopped};
use crate::capture::{InputEnd, Position};
use crate::track::reader::capture_summary::CaptureSummary;
use crate::track::reader::decoder::{Decoded, Part};
use crate::track::reader::range::Range;
use crate::track::reader::series::{NoHeader, Series};
use std::sync::Arc;

/// What came so far.
pub struct Order {
    progress: Arc<Progress>,
    series: Series,
    /// Where the next range of the current capture begins.
    pub next: Option<Position>,
    /// The current capture has ended.
    pub ended: bool,
    /// The user stopped it: nothing else is read.
    pub stopped: bool,
    pub error: Option<ScanError>,
}

impl Order {
    pub fn new(progress: &Arc<Progress>) -> Self {
        Self {
            progress: Arc::clone(progress),
            series: Series::default(),
            next: None,
            ended: true,
            stopped: false,
            error: None,
        }
    }

    /// Frames so far.
    pub fn frames(&self) -> u64 {
        self.series.frames()
    }

    /// Takes the next range, which may open a capture and may be a part of a file; gives it back if it
    /// must be read again, from `next` on. What lies behind the end of its capture counts as empty.
    pub fn take(
        &mut self,
        opens: Option<&str>,
        part: Option<&Part>,
        decoded: Decoded,
    ) -> Result<Box<Range>, Box<Range>> {
        let Decoded { mut range, places, end, about_text, lines_before, mut error } = decoded;
        if let Some(path) = opens.filter(|_| !self.stopped) {
            match error.take() {
                Some(error) => self.fail(error),
                None => self.open(path, part.map(|part| part.begin.clone())),
            }
        }
        if self.ended || self.error.is_some() {
            range.reset();
            return Ok(range);
        }
        if let Some(part) = part {
            let Some((begin, next)) = places.filter(|(begin, _)| Some(begin) == self.next.as_ref())
            else {
                range.reset();
                return Err(range);
            };
            self.series.begin_range(&begin, part.file.len());
            self.go_on(next);
        }
        self.error = error;
        self.add(&mut range);
        if let Some(end) = end {
            self.end(end);
        }
        if let Some(summary) = self.series.current() {
            summary.lines_before = summary.lines_before.max(lines_before);
            summary.about_text = about_text.or(summary.about_text.take());
        }
        Ok(range)
    }

    /// The next ranges are of another capture; if it is read in parts, its first record is at `begin`.
    fn open(&mut self, path: &str, begin: Option<Position>) {
        self.series.open(path);
        self.next = None;
        if let Some(begin) = begin {
            self.go_on(begin);
        }
        self.ended = false;
    }

    fn go_on(&mut self, next: Position) {
        let before = self.next.as_ref().map_or(0, |place| place.at);
        self.progress.add_read_bytes((next.at - before) as usize);
        self.next = Some(next);
    }

    /// The next capture cannot be opened.
    fn fail(&mut self, error: ScanError) {
        match (error, self.series.current()) {
            (ScanError::NoHeader { path, reason }, _) => {
                self.series.add_without_header(NoHeader { path, reason });
            }
            (ScanError::Stopped { .. }, Some(_)) => {
                self.end(InputEnd::Stopped(Stopped::at(&self.progress)));
            }
            (error, _) => self.error = Some(error),
        }
    }

    fn end(&mut self, end: InputEnd) {
        self.ended = true;
        self.stopped = matches!(end, InputEnd::Stopped(_));
        if let Some(summary) = self.series.current() {
            summary.end = match end {
                InputEnd::Stopped(_) => InputEnd::Stopped(Stopped::at(&self.progress)),
                end => end,
            };
        }
    }

    /// Numbers the frames of a range and sums them up.
    fn add(&mut self, range: &mut Range) {
        range.placed = self.series.add(&range.found);
        self.progress.set_packets(self.frames());
    }

    /// All captures. Adds those without a header: of a rotated set they are cut off, alone they are no
    /// capture.
    ///
    /// # Errors
    /// What kept a capture from being read.
    pub fn into_summaries(self) -> Result<Vec<CaptureSummary>, ScanError> {
        match self.error {
            Some(error) => Err(error),
            None => self.series.into_summaries(),
        }
    }
}
