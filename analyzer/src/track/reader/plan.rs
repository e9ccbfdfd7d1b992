//! What is to be done next: reading a range, or giving a range to a shard. Ranges are read in any
//! order, come in order, and each shard takes them in this order.

use crate::capture::error::ScanError;
use crate::capture::ranges::RangedFile;
use crate::capture::unpack::Unpacker;
use crate::capture::{Capture, Position};
use crate::track::reader::decoder::{Decoded, Part};
use crate::track::reader::job::{Job, Opened};
use crate::track::reader::order::Order;
use crate::track::reader::range::Range;
use std::collections::VecDeque;
use std::sync::Arc;

/// Where the next range comes from.
enum Source {
    /// The next file.
    Next,
    /// What a thread is at work with; others may unpack it.
    Busy(Option<Arc<Unpacker>>),
    /// A file, from here on, as far as that is known.
    Ranged {
        file: Arc<RangedFile>,
        next: Position,
    },
    Stream(Box<Capture>),
}

/// A range on its way.
struct PendingRange<'a> {
    /// Counts the captures.
    capture: usize,
    /// Of the first range of a capture, its path.
    opens: Option<&'a str>,
    part: Option<Part>,
    state: RangeState,
}

enum RangeState {
    Reading,
    Read(Decoded),
    /// It began elsewhere: it is to be read again.
    Misread(Box<Range>),
    Ready(Arc<Range>),
}

/// How far a shard is.
#[derive(Clone, Copy, Default)]
struct Shard {
    /// The number of the next range that it takes.
    next: u64,
    is_running: bool,
}

/// All that is on its way. Ranges are numbered from 0.
pub struct Plan<'a> {
    paths: std::vec::IntoIter<&'a str>,
    source: Source,
    /// How many captures were opened, and the path of the last one until its first range is read.
    captures: usize,
    opens: Option<&'a str>,
    range_len: u64,
    /// No more ranges than this are on their way.
    most: usize,
    slots: VecDeque<PendingRange<'a>>,
    /// The number of the first slot.
    oldest: u64,
    /// The number of the first range that is not ready.
    ready: u64,
    shards: Vec<Shard>,
    spare: Vec<Range>,
    panicked: bool,
    /// Threads without work.
    pub waiting: usize,
    pub order: Order,
}

impl<'a> Plan<'a> {
    /// Reads `paths` for so many `shards`, in ranges of so many bytes, of which `most` are on their way.
    pub fn new(
        paths: Vec<&'a str>,
        shards: usize,
        range_len: u64,
        most: usize,
        order: Order,
    ) -> Self {
        Self {
            paths: paths.into_iter(),
            source: Source::Next,
            captures: 0,
            opens: None,
            range_len,
            most,
            slots: VecDeque::with_capacity(most),
            oldest: 0,
            ready: 0,
            shards: vec![Shard::default(); shards],
            spare: Vec::new(),
            panicked: false,
            waiting: 0,
            order,
        }
    }

    /// What a thread without work does; `None` if there is nothing now.
    pub fn next(&mut self) -> Option<Job<'a>> {
        self.unpack()
            .or_else(|| self.read_again())
            .or_else(|| self.stream())
            .or_else(|| self.give())
            .or_else(|| self.read())
    }

    /// Is all done, or can nothing be done any more?
    pub fn is_done(&self) -> bool {
        let all_taken = self.slots.is_empty() && matches!(self.source, Source::Next);
        let nothing_left = all_taken && self.paths.as_slice().is_empty();
        nothing_left || self.panicked || self.order.error.is_some()
    }

    /// A thread panicked.
    pub fn give_up(&mut self) {
        self.panicked = true;
    }

    /// Something that a thread unpacks, ahead of everything else.
    fn unpack(&self) -> Option<Job<'a>> {
        self.packed().filter(|packed| packed.claim()).map(Job::Unpack)
    }

    fn packed(&self) -> Option<Arc<Unpacker>> {
        match &self.source {
            Source::Busy(packed) => packed.clone(),
            Source::Stream(capture) => capture.unpacker.clone(),
            Source::Next | Source::Ranged { .. } => None,
        }
    }

    /// The range that is the next in order, if it was read from the wrong place.
    fn read_again(&mut self) -> Option<Job<'a>> {
        let slot = self.slots.get_mut((self.ready - self.oldest) as usize)?;
        if !matches!(slot.state, RangeState::Misread(_)) {
            return None;
        }
        let part = Part { begin: self.order.next.clone()?, ..slot.part.clone()? };
        match std::mem::replace(&mut slot.state, RangeState::Reading) {
            RangeState::Misread(range) => {
                let number = self.ready;
                Some(Job::Read { number, part, known: true, first: false, range })
            }
            _ => None,
        }
    }

    /// One thread reads what only one can read, if enough of it is unpacked.
    fn stream(&mut self) -> Option<Job<'a>> {
        let is_stream = matches!(self.source, Source::Stream(_));
        let packed = self.packed();
        let waits = packed.as_ref().is_some_and(|packed| !packed.is_full());
        if !is_stream || waits || self.slots.len() == self.most {
            return None;
        }
        match std::mem::replace(&mut self.source, Source::Busy(packed)) {
            Source::Stream(capture) => {
                let (number, first, range) = self.begin(None);
                let (len, frames) = (self.range_len, self.order.frames());
                Some(Job::Stream { number, capture, len, first, frames, range })
            }
            _ => None,
        }
    }

    /// A range for the shard that is most behind.
    fn give(&mut self) -> Option<Job<'a>> {
        let shards = self.shards.iter().enumerate();
        let behind = shards.filter(|(_, shard)| !shard.is_running && shard.next < self.ready);
        let (shard, &Shard { next, .. }) = behind.min_by_key(|(_, shard)| shard.next)?;
        let RangeState::Ready(range) = &self.slots[(next - self.oldest) as usize].state else {
            return None;
        };
        self.shards[shard].is_running = true;
        Some(Job::Take { shard, range: Arc::clone(range) })
    }

    /// The next range of a file, or the next file.
    fn read(&mut self) -> Option<Job<'a>> {
        if self.slots.len() == self.most {
            return None;
        }
        let all_ready = self.ready == self.oldest + self.slots.len() as u64;
        match &mut self.source {
            Source::Ranged { file, next } if all_ready || next.at < file.len() => {
                let first = self.opens.is_some();
                let begin = match all_ready {
                    _ if first => file.begin.clone(),
                    true => self.order.next.clone()?,
                    false => next.clone(),
                };
                let until = (begin.at / self.range_len + 1) * self.range_len;
                next.at = until;
                let part = Part { file: Arc::clone(file), begin, until };
                let (number, first, range) = self.begin(Some(part.clone()));
                Some(Job::Read { number, part, known: all_ready || first, first, range })
            }
            Source::Next => {
                let path = self.paths.next()?;
                self.source = Source::Busy(None);
                Some(Job::Open(path))
            }
            _ => None,
        }
    }

    /// A slot for the next range: its number, whether it is the first of its capture, and memory for it.
    fn begin(&mut self, part: Option<Part>) -> (u64, bool, Box<Range>) {
        let number = self.oldest + self.slots.len() as u64;
        let opens = self.opens.take();
        let first = opens.is_some();
        self.slots.push_back(PendingRange {
            capture: self.captures,
            opens,
            part,
            state: RangeState::Reading,
        });
        let shards = self.shards.len();
        (number, first, Box::new(self.spare.pop().unwrap_or_else(|| Range::new(shards))))
    }

    /// A capture was opened, or could not be.
    pub fn opened(&mut self, path: &'a str, opened: Result<Opened, ScanError>) {
        self.opens = Some(path);
        self.captures += 1;
        self.source = match opened {
            Ok(Opened::Ranged(file)) => Source::Ranged { next: file.guess.clone(), file },
            Ok(Opened::Stream(capture)) => Source::Stream(capture),
            Err(error) => {
                let (number, _, range) = self.begin(None);
                self.read_was(number, Decoded::failed(range, error));
                Source::Next
            }
        };
        if self.order.stopped {
            self.source = Source::Next;
        }
    }

    /// A range of a stream was read.
    pub fn streamed(&mut self, number: u64, capture: Box<Capture>, decoded: Decoded) {
        self.source = match decoded.end {
            None if !self.order.stopped => Source::Stream(capture),
            _ => Source::Next,
        };
        self.read_was(number, decoded);
    }

    /// The range with this number was read: it comes when all before it came.
    pub fn read_was(&mut self, number: u64, decoded: Decoded) {
        self.slots[(number - self.oldest) as usize].state = RangeState::Read(decoded);
        while let Some(slot) = self.slots.get_mut((self.ready - self.oldest) as usize)
            && matches!(slot.state, RangeState::Read(_))
        {
            let RangeState::Read(decoded) = std::mem::replace(&mut slot.state, RangeState::Reading)
            else {
                return;
            };
            match self.order.take(slot.opens, slot.part.as_ref(), decoded) {
                Ok(range) => slot.state = RangeState::Ready(Arc::new(*range)),
                Err(range) => {
                    slot.state = RangeState::Misread(range);
                    break;
                }
            }
            self.ready += 1;
            if slot.capture == self.captures
                && let (Source::Ranged { next, .. }, Some(told)) =
                    (&mut self.source, &self.order.next)
            {
                *next = Position { at: next.at, ..told.clone() };
            }
            let is_last = slot.capture == self.captures && self.order.ended;
            if (is_last || self.order.stopped) && !matches!(self.source, Source::Busy(_)) {
                self.source = Source::Next;
            }
        }
        if self.order.stopped {
            self.paths = Vec::new().into_iter();
        }
        self.retire();
    }

    /// A shard took a range, and holds it no longer.
    pub fn taken(&mut self, shard: usize) {
        self.shards[shard].next += 1;
        self.shards[shard].is_running = false;
        self.retire();
    }

    /// Shards pass ranges without a row for them; ranges that all shards passed are used again.
    fn retire(&mut self) {
        for (at, shard) in self.shards.iter_mut().enumerate().filter(|(_, shard)| !shard.is_running)
        {
            while shard.next < self.ready
                && let RangeState::Ready(range) =
                    &self.slots[(shard.next - self.oldest) as usize].state
                && !range.placed.parts
                && !range.has(at)
            {
                shard.next += 1;
            }
        }
        let oldest = self.shards.iter().map(|shard| shard.next).min().unwrap_or(self.ready);
        while self.oldest < oldest
            && let Some(slot) = self.slots.pop_front()
        {
            self.oldest += 1;
            if let RangeState::Ready(range) = slot.state
                && let Some(mut range) = Arc::into_inner(range)
            {
                range.reset();
                self.spare.push(range);
            }
        }
    }
}
