//! The captures read again for the segments of some connections, as the scan numbered them.

use crate::capture::error::ScanError;
use crate::capture::progress::Progress;
use crate::track::follower::Follower;
use crate::track::reader::labels::Labels;
use crate::track::reader::range::Range;
use crate::track::reader::{self, Reading};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

pub use crate::track::follower::TrackedSegment;

/// A part of a connection's segments.
#[derive(Debug, Clone, Copy)]
pub struct SegmentExcerpt {
    /// The maximum number of segments.
    pub limit: usize,
    /// The frame in their middle.
    pub center: u64,
}

/// Reads the captures again for segments by connection: all, or those of an excerpt.
///
/// # Errors
/// The errors of a scan.
pub fn segments(
    paths: &[String],
    filter: Option<&str>,
    connections: &[u32],
    excerpts: &HashMap<u32, SegmentExcerpt>,
    reading: Reading,
    progress: &Arc<Progress>,
) -> Result<Vec<Vec<TrackedSegment>>, ScanError> {
    let mut found = vec![VecDeque::new(); connections.len()];
    each_segment(paths, filter, connections, reading, progress, |number, segment| {
        let rows = connections.iter().zip(&mut found).filter(|(wanted, _)| **wanted == number);
        rows.for_each(|(_, rows)| match excerpts.get(&number) {
            Some(excerpt) => excerpt.add(rows, segment.mark.frame.into(), segment),
            None => rows.push_back(segment),
        });
    })?;
    Ok(found.into_iter().map(Vec::from).collect())
}

impl SegmentExcerpt {
    /// Adds the next row, if it belongs to the excerpt. Half of it comes after the frame.
    fn add<T>(&self, rows: &mut VecDeque<T>, frame: u64, row: T) {
        if frame > self.center {
            if rows.len() < self.limit {
                rows.push_back(row);
            }
            return;
        }
        rows.push_back(row);
        if rows.len() > self.limit.div_ceil(2) {
            rows.pop_front();
        }
    }
}

/// Reads the captures again and shows each segment of some connections, with their numbers.
///
/// # Errors
/// The errors of a scan.
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
    reader::read_all(paths, &Labels::default(), filter, reading, progress, vec![take])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt(limit: usize, center: u64) -> Vec<u64> {
        let mut rows = VecDeque::new();
        (1..=9).for_each(|frame| SegmentExcerpt { limit, center }.add(&mut rows, frame, frame));
        rows.into()
    }

    #[test]
    fn an_excerpt_has_the_frame_in_its_middle() {
        assert_eq!(excerpt(4, 5), [4, 5, 6, 7]);
        assert_eq!(excerpt(4, 1), [1, 2, 3, 4]);
        assert_eq!(excerpt(4, 0), [1, 2, 3, 4]);
        assert_eq!(excerpt(4, 9), [8, 9]);
        assert_eq!(excerpt(20, 5), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert!(excerpt(0, 5).is_empty());
    }
}
