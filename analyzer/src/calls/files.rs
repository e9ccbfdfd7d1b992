//! The files of a trace, line by line: those of several threads in the order of their times.

use super::line::{Line, TraceClock};
use crate::capture::input::Input;
use crate::capture::progress::Progress;
use crate::capture::times::DAY_NS;
use crate::capture::{self, error::ScanError};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use texts::paste::{Paste, decoded};
use texts::utf16::{self, Utf16};

/// Lines that tell how truss counts its times.
const LOOKED_AT: usize = 64;
/// A longer line is not strace's.
const LONGEST_LINE: u64 = 1 << 20;

/// All files.
pub struct Files {
    all: Vec<File>,
    /// When the next line of each was written: the earliest comes first, one without a time at
    /// once.
    next: BinaryHeap<Reverse<(i64, usize)>>,
    current: Option<usize>,
}

impl Files {
    /// # Errors
    /// One cannot be opened.
    pub fn open(paths: &[String], progress: &Arc<Progress>) -> Result<Self, ScanError> {
        let open = |path: &String| File::open(path, paths.len() > 1, progress);
        let mut all = paths.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let mut next = BinaryHeap::new();
        for (at, file) in all.iter_mut().enumerate() {
            if file.advance() {
                next.push(Reverse((file.due_ns, at)));
            }
        }
        Ok(Self { all, next, current: None })
    }

    /// Goes on to the next line of all: its file, and which one that is.
    pub fn next(&mut self) -> Option<(&mut File, u16)> {
        if let Some(at) = self.current
            && self.all[at].advance()
        {
            self.next.push(Reverse((self.all[at].due_ns, at)));
        }
        let Reverse((_, at)) = self.next.pop()?;
        self.current = Some(at);
        Some((&mut self.all[at], at as u16))
    }

    /// # Errors
    /// One could not be read to its end.
    pub fn failure(&mut self) -> Result<(), ScanError> {
        self.all.iter_mut().find_map(|file| file.error.take()).map_or(Ok(()), Err)
    }

    /// The clock that all have. Of several files each counts from its own begin with `-r`.
    pub fn clock(&self) -> Option<TraceClock> {
        let mut clocks = self.all.iter().filter_map(|file| file.clock);
        let first = clocks.next()?;
        let is_one = clocks.all(|clock| clock == first && clock != TraceClock::Relative);
        is_one.then_some(first)
    }
}

/// One file, line by line.
pub struct File {
    path: String,
    reader: Box<dyn BufRead>,
    /// Without what pasting added.
    pub line: String,
    /// Lines behind it that were read with it, or had to be looked at, each with its number.
    ahead: VecDeque<(u32, String)>,
    /// The lines that were read, as they stand in the file, and the last one.
    read: u32,
    raw: Vec<u8>,
    paste: Paste,
    /// Is it one of several, with lines that are merged by these times?
    is_one_of_several: bool,
    due_ns: i64,
    pub number: u32,
    /// By `-ff` the name of the file ends with the thread.
    pub pid: Option<u32>,
    clock: Option<TraceClock>,
    time_ns: i64,
    error: Option<ScanError>,
}

impl File {
    pub fn open(
        path: &str,
        is_one_of_several: bool,
        progress: &Arc<Progress>,
    ) -> Result<Self, ScanError> {
        let suffix = Path::new(path).extension().and_then(|suffix| suffix.to_str());
        let input = capture::decompressed(Box::new(Input::open(path, progress)?), path)?;
        let mut reader = BufReader::with_capacity(1 << 16, input);
        let start = reader.fill_buf().map_err(|error| ScanError::unreadable(path, &error))?;
        let reader: Box<dyn BufRead> = match utf16::order(start) {
            Some(order) => Box::new(BufReader::new(Utf16::new(reader, order))),
            None => Box::new(reader),
        };
        Ok(Self {
            path: path.to_owned(),
            reader,
            line: String::new(),
            ahead: VecDeque::new(),
            read: 0,
            raw: Vec::new(),
            paste: Paste::default(),
            is_one_of_several,
            due_ns: 0,
            number: 0,
            pid: suffix.and_then(|suffix| suffix.parse().ok()),
            clock: None,
            time_ns: 0,
            error: None,
        })
    }

    /// Goes on to the next line; `false` at the end. Among several files the earliest line comes
    /// next: what `accept` gives is there when the thread goes on.
    pub fn advance(&mut self) -> bool {
        self.read_lines(1);
        let Some((number, line)) = self.ahead.pop_front() else { return false };
        if self.is_one_of_several {
            self.due_ns = self.due_ns(&line).unwrap_or(self.due_ns);
            if line.contains("accept(") || line.contains("accept4") {
                self.read_lines(1);
                let next_ns = self.ahead.front().and_then(|(_, next)| self.due_ns(next));
                self.due_ns = next_ns.unwrap_or(self.due_ns);
            }
        }
        (self.number, self.line) = (number, line);
        true
    }

    fn due_ns(&self, line: &str) -> Option<i64> {
        let (clock, ns) = Line::of(line).time?;
        Some(self.on(clock, ns))
    }

    /// Reads on until so many lines are there, or the file ends.
    fn read_lines(&mut self, wanted: usize) {
        let mut is_end = false;
        while self.ahead.len() < wanted && !is_end {
            is_end = !self.read_line();
            let whole = match is_end {
                true => self.paste.end().map(Cow::Owned),
                false => self.paste.whole(&self.raw),
            };
            let Some(whole) = whole else { continue };
            let text = decoded(&whole);
            let text = text.trim_end();
            let mut add = |line: &str| self.ahead.push_back((self.read, line.to_owned()));
            if text.contains('\n') || text.contains('\r') {
                text.split(['\n', '\r']).for_each(add);
            } else {
                add(text);
            }
        }
    }

    /// Reads the next line as it stands there, empty if it is too long; `false` at the end.
    fn read_line(&mut self) -> bool {
        self.raw.clear();
        let read = self.reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut self.raw);
        let is_cut = self.raw.len() as u64 == LONGEST_LINE && !self.raw.ends_with(b"\n");
        let mut rest = || if is_cut { self.reader.skip_until(b'\n') } else { Ok(0) };
        match read.and_then(|read| Ok((read, rest()?))) {
            Ok((0, _)) => return false,
            Ok(_) if is_cut => self.raw.clear(),
            Ok(_) => {}
            Err(error) => {
                self.error = Some(ScanError::unreadable(&self.path, &error));
                return false;
            }
        }
        self.read = self.read.saturating_add(1);
        true
    }

    /// When a line was written, by the file's own clock.
    pub fn stamp(&mut self, stamp: Option<(TraceClock, i64)>) -> Option<i64> {
        let (clock, ns) = stamp?;
        if self.clock.is_none() {
            self.clock = Some(if self.goes_back(ns) { TraceClock::Relative } else { clock });
        }
        let is_elapsed = clock == TraceClock::Elapsed;
        let clock = self.clock.filter(|&own| own == clock || is_elapsed)?;
        self.time_ns = self.on(clock, ns);
        Some(self.time_ns)
    }

    /// Do truss's times go back in the lines that follow? Then each counts from the one before (`-D`).
    fn goes_back(&mut self, mut last_ns: i64) -> bool {
        self.read_lines(LOOKED_AT);
        let times = self.ahead.iter().filter_map(|(_, line)| Line::of(line).time);
        let elapsed = times.filter(|(clock, _)| *clock == TraceClock::Elapsed);
        elapsed.into_iter().any(|(_, ns)| std::mem::replace(&mut last_ns, ns) > ns)
    }

    fn on(&self, clock: TraceClock, ns: i64) -> i64 {
        match clock {
            TraceClock::Unix | TraceClock::Elapsed => ns,
            TraceClock::Relative => self.time_ns.saturating_add(ns),
            TraceClock::Day => {
                let midnight_ns = self.time_ns - self.time_ns.rem_euclid(DAY_NS);
                let today_ns = midnight_ns.saturating_add(ns);
                // A clock that goes back by half a day has passed midnight.
                let has_passed = self.time_ns.saturating_sub(today_ns) > DAY_NS / 2;
                today_ns.saturating_add(if has_passed { DAY_NS } else { 0 })
            }
        }
    }
}
