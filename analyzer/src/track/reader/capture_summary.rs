//! One input file, summarised.

use crate::capture::InputEnd;
use crate::capture::printed::AboutText;
use crate::decode::Skip;
use crate::track::clock_jumps::ClockJumps;
use crate::track::clock_step::ClockStep;
use crate::track::reader::index::FrameIndex;
use crate::track::reader::range::Found;

/// Several queues and interfaces write their frames slightly out of order, so a rotated file may begin before the
/// last frame of its predecessor.
const OUT_OF_ORDER_NS: i64 = 10_000_000;

/// One input file. Times are ns since the epoch.
#[derive(Debug, Clone, Default)]
pub struct CaptureSummary {
    pub path: String,
    pub packets: u64,
    /// Bytes on the wire.
    pub bytes: u64,
    pub tcp_packets: u64,
    /// `None` where no frame was read.
    pub link_type: Option<u32>,
    pub first_ns: i64,
    pub last_ns: i64,
    /// Number of its first frame: frames are numbered through all inputs, from 1.
    pub first_frame: u64,
    pub end: InputEnd,
    /// The text of tcpdump, if the file was one.
    pub about_text: Option<Box<AboutText>>,
    /// Lines of text before it, which were skipped.
    pub lines_before: u32,
    /// How coarse its clock is.
    pub clock: ClockStep,
    /// Where it jumps.
    pub jumps: ClockJumps,
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

    /// Number of its last frame.
    pub fn last_frame(&self) -> u64 {
        self.first_frame + self.packets - 1
    }

    /// Adds what the next range holds.
    pub(super) fn add(&mut self, found: &Found) {
        if let (None, Some((link_type, first_ns))) = (self.link_type, found.first) {
            self.link_type = Some(link_type);
            self.first_ns = first_ns;
        }
        if let Some((_, first_ns)) = found.first {
            self.jumps.follow(&found.jumps, first_ns, self.packets);
            self.last_ns = self.jumps.latest_ns();
        }
        let skipped: u64 = found.skipped.iter().sum();
        self.packets += u64::from(found.frames);
        self.tcp_packets += u64::from(found.frames) - skipped;
        self.bytes += found.bytes;
        self.clock = self.clock.and(found.clock);
        self.missed_for_tags += found.missed_for_tags;
        self.skipped.iter_mut().zip(found.skipped).for_each(|(sum, more)| *sum += more);
    }

    /// Does a capture that begins at `time_ns` overlap with this one? Then they are two captures
    /// of their own and no rotated set.
    pub fn overlaps(&self, time_ns: i64) -> bool {
        time_ns < self.last_ns - OUT_OF_ORDER_NS
    }
}
