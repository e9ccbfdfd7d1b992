//! Where frames are in a file, so that a few can be read again without all before them.

use crate::capture::{Format, Position};

/// Places in a capture that was read in ranges: where each began but the first.
#[derive(Debug, Clone, Default)]
pub struct FrameIndex {
    /// Format at all these places; a place where it differs (an interface described late) is left out.
    format: Option<Format>,
    /// Frames before a place, those of earlier captures too, and its byte; in ascending order.
    places: Vec<(u64, u64)>,
    file_len: u64,
}

impl FrameIndex {
    /// May `now` be in the same file? It may have grown; a shorter one is another.
    pub fn fits(&self, now: &Position) -> bool {
        self.file_len <= now.file_len
    }

    /// Notes that `frames_before` frames come before `place`.
    pub fn add(&mut self, frames_before: u64, place: &Position) {
        self.file_len = place.file_len;
        if self.format.get_or_insert_with(|| place.format.clone()) == &place.format {
            self.places.push((frames_before, place.at));
        }
    }

    /// Frames of its capture follow after so many others.
    pub fn move_frames(&mut self, more: u64) {
        self.places.iter_mut().for_each(|(before, _)| *before += more);
    }

    /// The last place before a frame, if it is behind the first `read` frames, and the frames before it.
    pub fn before(&self, frame: u64, read: u64) -> Option<(u64, Position)> {
        let after = self.places.partition_point(|&(before, _)| before < frame);
        let (before, at) = *self.places.get(after.checked_sub(1)?)?;
        let format = self.format.clone().filter(|_| before > read)?;
        Some((before, Position { at, format, file_len: self.file_len }))
    }
}
