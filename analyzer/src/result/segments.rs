//! The captures read again, segment by segment: each with its connection, as the scan numbered it.

use crate::capture::error::ScanError;
use crate::capture::progress::Progress;
use crate::decode::Header;
use crate::track::reader;
use crate::track::reader::batch::Batch;
use crate::track::tracker::Tracker;
use crate::track::{Connection, Lengths, Mark, Share, Side};
use std::sync::Arc;

/// A segment of one connection.
#[derive(Debug, Clone, Copy)]
pub struct TrackedSegment {
    pub mark: Mark,
    pub by: Side,
    pub header: Header,
    /// Stream offset of the first payload byte.
    pub rel_seq: u64,
    /// The window it advertises in bytes, where the scale is known.
    pub window: Option<u32>,
}

/// Reads the captures again for the segments of one connection.
///
/// # Errors
/// As of a scan.
pub fn segments(
    paths: &[String],
    filter: Option<&str>,
    connection: u32,
    progress: &Arc<Progress>,
) -> Result<Vec<TrackedSegment>, ScanError> {
    let mut found = Vec::new();
    let mut tracker = Tracker::new(Share::WHOLE, Lengths::NONE, false);
    let mut keep = |at: &Connection, by: Side, header: &Header, mark: Mark| {
        if at.id == connection {
            let rel_seq = at.rel_seq(by, header);
            let window = at.half(by).window_of(header);
            found.push(TrackedSegment { mark, by, header: *header, rel_seq, window });
        }
    };
    reader::read_all(paths, filter, progress, [|batch: &Batch| tracker.take(batch, &mut keep)])?;
    Ok(found)
}

/// Reads the captures again and shows the connection of each segment, and where it was captured.
///
/// # Errors
/// As of a scan.
pub fn each_segment(
    paths: &[String],
    filter: Option<&str>,
    mut see: impl FnMut(u32, Mark) + Send,
) -> Result<(), ScanError> {
    let mut tracker = Tracker::new(Share::WHOLE, Lengths::NONE, false);
    let mut tell = |at: &Connection, _: Side, _: &Header, mark: Mark| see(at.id, mark);
    let unseen = Arc::new(Progress::default());
    reader::read_all(paths, filter, &unseen, [|batch: &Batch| tracker.take(batch, &mut tell)])?;
    Ok(())
}
