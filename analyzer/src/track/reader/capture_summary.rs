//! One input file, summarised.

use crate::capture::InputEnd;
use crate::decode::Skip;
use crate::track::clock::Clocks;
use crate::track::clock::stamps::Stamps;
use crate::track::reader::index::FrameIndex;
use crate::track::reader::range::Found;
use texts::AboutText;

/// One input file.
#[derive(Debug, Clone, Default)]
pub struct CaptureSummary {
    pub path: String,
    pub stamps: Stamps,
    /// Bytes on the wire.
    pub bytes: u64,
    pub tcp_packets: u64,
    /// `None` where no frame was read.
    pub link_type: Option<u32>,
    /// Number of its first frame: frames are numbered through all inputs, from 1.
    pub first_frame: u64,
    pub end: InputEnd,
    /// The text of tcpdump, if the file was one.
    pub about_text: Option<Box<AboutText>>,
    /// Lines of text before it, which were skipped.
    pub lines_before: u32,
    /// Frames that were not used, by [`Skip`].
    pub skipped: [u64; Skip::MEMBERS.len()],
    /// Segments among them that the filter left out only because of their VLAN tags.
    pub missed_for_tags: u64,
    /// The filter, where it may be told.
    pub filter: Option<String>,
    pub index: FrameIndex,
}

impl CaptureSummary {
    pub(super) fn new(path: &str, first_frame: u64) -> Self {
        Self { path: path.to_owned(), first_frame, ..Self::default() }
    }

    /// The one of `captures` that has this frame, and the number of the frame there.
    pub fn with(captures: &[Self], frame: u32) -> Option<(&Self, u64)> {
        let frame = u64::from(frame);
        let begun = captures.partition_point(|capture| capture.first_frame <= frame);
        let capture = captures[..begun].last().filter(|_| frame > 0)?;
        Some((capture, frame - capture.first_frame + 1))
    }

    /// Number of its last frame.
    pub fn last_frame(&self) -> u64 {
        self.first_frame + u64::from(self.stamps.frames) - 1
    }

    /// Adds what the next range holds.
    pub(super) fn add(&mut self, found: &Found) {
        self.link_type = self.link_type.or(found.link_type);
        self.stamps.add(&found.stamps);
        let skipped: u64 = found.skipped.iter().sum();
        self.tcp_packets += u64::from(found.stamps.frames) - skipped;
        self.bytes += found.bytes;
        self.missed_for_tags += found.missed_for_tags;
        self.skipped.iter_mut().zip(found.skipped).for_each(|(sum, more)| *sum += more);
    }
}

/// The clocks of captures, in the order of their frames.
pub fn clocks(captures: &[CaptureSummary]) -> Clocks {
    let stamps: Vec<&Stamps> = captures.iter().map(|capture| &capture.stamps).collect();
    let mut texts = captures.iter().filter_map(|capture| capture.about_text.as_ref());
    Clocks::of(&stamps, texts.any(|text| text.elisions > 0))
}
