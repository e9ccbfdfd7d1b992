//! Reads and decodes one range after the other.

use crate::capture::error::ScanError;
use crate::capture::link;
use crate::capture::progress::Progress;
use crate::capture::{Capture, Frame, InputEnd, Position};
use crate::decode::filter::Filter;
use crate::decode::{self, Skip};
use crate::track::reader::range::Range;
use crate::track::thresholds::TIMES_FOR_A_CLOCK;
use std::sync::Arc;
use texts::AboutText;

/// Frames after which progress is reported: a pipe may give few.
const TELL_AFTER: u32 = 256;

/// First frames of a capture, from which the step of its clock is inferred while it is tracked: not
/// all have times of their own.
const FRAMES_FOR_A_CLOCK: u32 = 4 * TIMES_FOR_A_CLOCK;

/// Filter and buffers that decoding needs.
pub struct Decoder {
    filter: Option<Filter>,
    progress: Arc<Progress>,
}

/// Facts about a range, besides its frames.
#[derive(Default)]
pub struct Decoded {
    /// Where it begins, if reading can go on there again.
    pub place: Option<Position>,
    /// How the capture ended in it.
    pub end: Option<InputEnd>,
    /// The text that ended in it.
    pub about_text: Option<Box<AboutText>>,
    /// Lines of text before the capture.
    pub lines_before: u32,
    pub error: Option<ScanError>,
}

impl Decoder {
    pub fn new(filter: Option<Filter>, progress: &Arc<Progress>) -> Self {
        Self { filter, progress: Arc::clone(progress) }
    }

    /// Reads the next `len` bytes of a capture, after its first `frames`, and enough of the `first`
    /// ones for its clock.
    pub fn read(
        &mut self,
        capture: &mut Capture,
        len: u64,
        first: bool,
        frames: u64,
        range: &mut Range,
    ) -> Decoded {
        let mut decoded = Decoded {
            place: capture.place(),
            lines_before: capture.lines_before,
            ..Decoded::default()
        };
        let until = capture.at() + len;
        if first {
            self.frames(capture, &mut decoded, range, u64::MAX, FRAMES_FOR_A_CLOCK);
            range.found.first_clock = range.found.stamps.step;
        }
        while capture.at() < until && decoded.end.is_none() && decoded.error.is_none() {
            let most = range.found.stamps.frames + TELL_AFTER;
            self.frames(capture, &mut decoded, range, until, most);
            self.progress.set_packets(frames + u64::from(range.found.stamps.frames));
        }
        if decoded.end.is_some() {
            decoded.about_text = capture.about_text().map(Box::new);
        }
        decoded
    }

    /// Decodes up to a position in the file, or a number of frames.
    // A function of its own, so that all it needs stays in registers.
    #[inline(never)]
    fn frames(
        &mut self,
        capture: &mut Capture,
        decoded: &mut Decoded,
        range: &mut Range,
        until: u64,
        most: u32,
    ) {
        while range.found.stamps.frames < most {
            let Some(frame) = capture.next_before(until) else { break };
            range.found.count(&frame);
            match decode::plain_segment(frame.link_type, frame.data) {
                Some(segment) if self.filter.is_none() => range.push(&segment, &frame),
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
        let is_inferred = frame.link_type & link::INFERRED != 0;
        let frame = &Frame { link_type: frame.link_type & !link::INFERRED, ..*frame };
        if let Some(filter) = &mut self.filter
            && !filter.matches(frame)?
        {
            let is_missed = filter.misses_for_tags(frame)
                && decode::segment(frame.link_type, frame.data, frame.wire_len).is_ok();
            range.found.missed_for_tags += u64::from(is_missed);
            let is_outside = !filter.times.contains(frame.time_ns);
            return Ok(Some(if is_outside { Skip::Outside } else { Skip::Filtered }));
        }
        match decode::segment(frame.link_type, frame.data, frame.wire_len) {
            Ok(mut segment) => {
                if is_inferred {
                    segment.infer();
                }
                range.push(&segment, frame);
                Ok(None)
            }
            Err(skip) => Ok(Some(skip)),
        }
    }
}
