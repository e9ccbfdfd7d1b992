//! What captures that follow one another say of each other: numbers of frames, clocks, which belong
//! together. Reading goes through here range by range, and what was read before capture by capture.

use crate::capture::InputEnd;
use crate::capture::error::ScanError;
use crate::track::clock_step::{ClockStep, FINE_NS};
use crate::track::reader::capture_summary::CaptureSummary;
use crate::track::reader::range::{Found, Placed};
use serde::{Deserialize, Serialize};
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

/// What is to be known of a capture that was read by itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Alone {
    Read {
        summary: Box<CaptureSummary>,
        /// Step of its clock, as its first frames show it.
        first_clock: ClockStep,
    },
    NoHeader(NoHeader),
}

/// A file without a capture header: a cut-off part of a rotated set; by itself, not a capture.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NoHeader {
    pub path: String,
    pub reason: Cow<'static, str>,
}

/// The first frames of a capture.
struct First {
    time_ns: i64,
    clock: ClockStep,
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

    /// Adds the next range of the current capture.
    pub fn add(&mut self, found: &Found) -> Placed {
        let is_new = self.captures.last().is_some_and(|capture| capture.link_type.is_none());
        let first = found.first.filter(|_| is_new);
        let first = first.map(|(_, time_ns)| First { time_ns, clock: found.first_clock });
        let placed = self.place(found.frames.into(), found.clock, first);
        self.current().into_iter().for_each(|capture| capture.add(found));
        placed
    }

    /// Adds a capture that was read by itself.
    pub fn append(&mut self, capture: Alone) -> Placed {
        match capture {
            Alone::NoHeader(capture) => {
                self.add_without_header(capture);
                Placed::default()
            }
            Alone::Read { mut summary, first_clock } => {
                summary.first_frame = self.frames + 1;
                let (frames, clock) = (summary.packets, summary.clock);
                let first = summary.link_type;
                let first = first.map(|_| First { time_ns: summary.first_ns, clock: first_clock });
                self.captures.push(*summary);
                self.place(frames, clock, first)
            }
        }
    }

    /// Numbers the next `frames` of the current capture. Are they its first ones?
    fn place(&mut self, frames: u64, clock: ClockStep, first: Option<First>) -> Placed {
        let frames_before = self.frames;
        self.frames += frames;
        self.clock = self.clock.and(clock);
        let mut parts = false;
        if let (Some(first), [earlier @ .., _]) = (first, self.captures.as_slice()) {
            parts = earlier.last().is_some_and(|before| before.overlaps(first.time_ns));
            let own_ns = first.clock.shown_ns(frames);
            let common_ns = || self.clock.shown_ns(self.frames);
            self.clock_ns = own_ns.or_else(common_ns).unwrap_or(FINE_NS);
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

impl Alone {
    /// How many frames it has.
    pub fn frames(&self) -> u64 {
        match self {
            Self::Read { summary, .. } => summary.packets,
            Self::NoHeader(_) => 0,
        }
    }

    /// Time of its first frame, if it has one.
    pub fn first_ns(&self) -> Option<i64> {
        match self {
            Self::Read { summary, .. } => summary.link_type.map(|_| summary.first_ns),
            Self::NoHeader(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Frame;
    use crate::track::reader::range::Range;

    const MS: i64 = 1_000_000;

    /// A range with frames of these times.
    fn found(times_ns: &[i64]) -> Found {
        let mut found = Range::new(1).found;
        for &time_ns in times_ns {
            found.count(&Frame { time_ns, wire_len: 60, link_type: 1, data: &[] });
        }
        found.first_clock = found.clock;
        found
    }

    /// Adds a capture of these ranges; where its first frames stand.
    fn read(series: &mut Series, number: usize, ranges: &[Vec<i64>]) -> Placed {
        series.open(&format!("capture {number}"));
        let placed: Vec<_> = ranges.iter().map(|times| series.add(&found(times))).collect();
        let begins = ranges.iter().position(|times| !times.is_empty());
        placed[begins.unwrap_or_default()]
    }

    /// The same capture, read by itself.
    fn alone(number: usize, ranges: &[Vec<i64>]) -> Alone {
        let mut series = Series::default();
        read(&mut series, number, ranges);
        let first = ranges.iter().find(|times| !times.is_empty());
        Alone::Read {
            summary: Box::new(series.current().unwrap().clone()),
            first_clock: first.map_or(ClockStep::UNKNOWN, |times| found(times).clock),
        }
    }

    /// Frames of a clock with this step.
    fn ticks(begin_ns: i64, step_ns: i64, count: i64) -> Vec<i64> {
        (0..count).map(|at| begin_ns + (at * at % 7 + at) * step_ns).collect()
    }

    #[test]
    fn captures_read_by_themselves_follow_one_another_as_if_read_at_once() {
        let fine = |begin_ns, count| ticks(begin_ns, 1_001, count);
        let captures = [
            vec![ticks(1000 * MS, 10 * MS, 40), ticks(1500 * MS, 10 * MS, 9)],
            // Too short to show its clock.
            vec![ticks(2000 * MS, 4 * MS, 3)],
            vec![vec![]],
            // Overlaps with one that has no frames, so with nothing.
            vec![fine(1000 * MS, 20), fine(1001 * MS, 20)],
            vec![fine(900 * MS, 2)],
            vec![ticks(3000 * MS, 4 * MS, 20)],
        ];
        let (mut at_once, mut one_by_one) = (Series::default(), Series::default());
        let mut parts = 0;
        for (number, ranges) in captures.iter().enumerate() {
            let expected = read(&mut at_once, number, ranges);
            let placed = one_by_one.append(alone(number, ranges));
            assert_eq!(format!("{placed:?}"), format!("{expected:?}"), "{number}");
            parts += u32::from(placed.parts);
        }
        assert_eq!(parts, 1, "one overlaps with its predecessor");
        let no_header = || NoHeader { path: "empty".to_owned(), reason: "it is empty".into() };
        at_once.add_without_header(no_header());
        one_by_one.append(Alone::NoHeader(no_header()));
        let [at_once, one_by_one] = [at_once, one_by_one].map(Series::into_summaries);
        let [at_once, one_by_one] =
            [at_once, one_by_one].map(|summaries| format!("{:?}", summaries.unwrap()));
        assert_eq!(one_by_one, at_once);
    }
}
