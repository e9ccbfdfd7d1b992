//! The captures read again for the segments of some connections, as the scan numbered them.

use crate::capture::error::ScanError;
use crate::capture::progress::Progress;
use crate::track::Follower;
use crate::track::reader::range::Range;
use crate::track::reader::{self, Reading};
use std::sync::Arc;

pub use crate::track::TrackedSegment;

/// Reads the captures again for the segments of each of some connections.
///
/// # Errors
/// As of a scan.
pub fn segments(
    paths: &[String],
    filter: Option<&str>,
    connections: &[u32],
    reading: Reading,
    progress: &Arc<Progress>,
) -> Result<Vec<Vec<TrackedSegment>>, ScanError> {
    let mut found = vec![Vec::new(); connections.len()];
    each_segment(paths, filter, connections, reading, progress, |number, segment| {
        for (_, rows) in connections.iter().zip(&mut found).filter(|(wanted, _)| **wanted == number)
        {
            rows.push(segment);
        }
    })?;
    Ok(found)
}

/// Reads the captures again and shows each segment of some connections, with the number of its
/// connection.
///
/// # Errors
/// As of a scan.
pub fn each_segment(
    paths: &[String],
    filter: Option<&str>,
    connections: &[u32],
    reading: Reading,
    progress: &Arc<Progress>,
    see: impl FnMut(u32, TrackedSegment) + Send,
) -> Result<(), ScanError> {
    let mut follower = Follower::new(connections, see);
    let take = |range: &Range, shard: usize| follower.take(range, shard);
    reader::read_all(paths, filter, reading, progress, vec![take])?;
    Ok(())
}
