//! Reads and decodes one range after the other, in any thread.

use crate::capture::error::ScanError;
use crate::capture::progress::Progress;
use crate::capture::ranges::RangedFile;
use crate::capture::text::AboutText;
use crate::capture::{Capture, Frame, InputEnd, Position};
use crate::decode::filter::Filter;
use crate::decode::{self, Skip};
use crate::track::reader::range::{MOST_FRAMES, Range};
use crate::track::thresholds::TIMES_FOR_A_CLOCK;
use std::sync::Arc;

/// Frames of a stream after which its progress is reported.
const TELL_AFTER: u32 = 256;

/// First frames of a capture, from which the step of its clock is inferred while it is tracked: not all have times
/// of their own.
fn frames_for_a_clock() -> u32 {
    4 * TIMES_FOR_A_CLOCK
}

/// What a thread needs to decode.
pub struct Decoder {
    filter: Option<Filter>,
    progress: Arc<Progress>,
    /// Its buffer is used for range after range.
    capture: Option<Capture>,
}

/// A range of a file, in bytes.
#[derive(Clone)]
pub struct Part {
    pub file: Arc<RangedFile>,
    pub begin: Position,
    pub until: u64,
}

/// A range after it was read.
pub struct Decoded {
    pub range: Box<Range>,
    /// Of a part of a file: where its first record begins, or seems to begin, if that can be told, and
    /// where the next record begins.
    pub places: Option<(Position, Position)>,
    /// How the capture ended in it.
    pub end: Option<InputEnd>,
    /// Of a text that ended in it.
    pub about_text: Option<Box<AboutText>>,
    /// Lines of text before the capture.
    pub lines_before: u32,
    pub error: Option<ScanError>,
}

impl Decoder {
    pub fn new(filter: Option<Filter>, progress: &Arc<Progress>) -> Self {
        Self { filter, progress: Arc::clone(progress), capture: None }
    }

    /// Reads the records that begin in a part of a file. Does one begin where it does?
    pub fn part(&mut self, part: &Part, known: bool, first: bool, range: Box<Range>) -> Decoded {
        let Part { file, begin, until } = part;
        let before = self.capture.take();
        let mut capture = Capture::reopened(before, file, begin.clone(), *until, &self.progress);
        let begin = if known { Some(begin.clone()) } else { capture.find_record(file) };
        let mut decoded = Decoded::new(range);
        if let Some(begin) = begin {
            self.decode(&mut capture, &mut decoded, *until, first);
            decoded.places = Some((begin, capture.place()));
        }
        self.capture = Some(capture);
        decoded
    }

    /// Reads on in what can be read only from its beginning; `frames` came before.
    pub fn stream(
        &mut self,
        capture: &mut Capture,
        len: u64,
        first: bool,
        frames: u64,
        range: Box<Range>,
    ) -> Decoded {
        let mut decoded = Decoded::new(range);
        let until = capture.at() + len;
        let mut most = frames_for_a_clock();
        if first {
            self.decode(capture, &mut decoded, 0, first);
        }
        while capture.at() < until && decoded.end.is_none() && decoded.error.is_none() {
            most += TELL_AFTER;
            self.frames(capture, &mut decoded, until, most);
            self.progress.set_packets(frames + u64::from(decoded.range.found.frames));
        }
        decoded.about_text = decoded.end.as_ref().and_then(|_| capture.about_text()).map(Box::new);
        decoded.lines_before = capture.lines_before;
        decoded
    }

    /// Decodes the frames up to `until`, and enough of the `first` ones of a capture.
    fn decode(&mut self, capture: &mut Capture, decoded: &mut Decoded, until: u64, first: bool) {
        if first {
            self.frames(capture, decoded, u64::MAX, frames_for_a_clock());
            let found = &mut decoded.range.found;
            found.first_clock = found.clock;
        }
        self.frames(capture, decoded, until, MOST_FRAMES);
    }

    /// Decodes up to a position in the file, or a number of frames.
    // A function of its own, so that all it needs stays in registers.
    #[inline(never)]
    fn frames(&mut self, capture: &mut Capture, decoded: &mut Decoded, until: u64, most: u32) {
        let range = &mut *decoded.range;
        while range.found.frames < most {
            let Some(frame) = capture.next_before(until) else { break };
            range.found.count(&frame);
            match decode::plain_segment(frame.link_type, frame.data) {
                Some(segment) if self.filter.is_none() => range.push(&segment, frame.time_ns),
                _ => {
                    // A copy, so that the fields of other frames stay in registers.
                    match self.take_any(&Frame { ..frame }, range) {
                        Ok(None) => {}
                        Ok(Some(skip)) => range.found.skipped[skip as usize] += 1,
                        Err(error) => {
                            decoded.error = Some(error);
                            break;
                        }
                    }
                }
            }
        }
        decoded.end = capture.end().cloned();
    }

    /// Takes a frame with any headers, unless the filter drops it; tells why it was skipped.
    #[inline(never)]
    fn take_any(
        &mut self,
        frame: &Frame<'_>,
        range: &mut Range,
    ) -> Result<Option<Skip>, ScanError> {
        if let Some(filter) = &mut self.filter
            && !filter.matches(frame)?
        {
            let is_missed = filter.misses_for_tags(frame)
                && decode::segment(frame.link_type, frame.data, frame.wire_len).is_ok();
            range.found.missed_for_tags += u64::from(is_missed);
            return Ok(Some(Skip::Filtered));
        }
        match decode::segment(frame.link_type, frame.data, frame.wire_len) {
            Ok(segment) => {
                range.push(&segment, frame.time_ns);
                Ok(None)
            }
            Err(skip) => Ok(Some(skip)),
        }
    }
}

impl Decoded {
    fn new(range: Box<Range>) -> Self {
        Self { range, places: None, end: None, about_text: None, lines_before: 0, error: None }
    }

    /// Nothing but an error.
    pub fn failed(range: Box<Range>, error: ScanError) -> Self {
        Self { error: Some(error), ..Self::new(range) }
    }
}
