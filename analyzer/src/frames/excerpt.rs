//! Which frames of a connection to show: all, or those at its begin and clearest stalls.

use crate::capture::error::ScanError;
use crate::result::segments::{self, TrackedSegment};
use crate::track::Mark;
use crate::track::reader::Reading;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// First frames of a connection: the handshake, and enough to measure its round trips.
const BEGINNING: u64 = 100;
/// Frames before and after each stall.
const NEIGHBOURS: usize = 40;
/// A connection with no more frames than this is shown whole.
const FEW: usize = 500;
/// Limit per connection, however long a stall is.
const MOST: usize = 2000;

/// A connection to show.
#[derive(Debug, Clone)]
pub struct Wanted {
    pub connection: u32,
    /// First and last frame of each stall to show, in ascending order.
    pub spans: Vec<(u64, u64)>,
}

/// The frames chosen from a connection.
#[derive(Debug, Clone)]
pub struct Chosen {
    pub connection: u32,
    /// Frame number in the capture, ascending, and in the connection, from 1.
    pub frames: Vec<(u64, u64)>,
    /// Frames of the connection in all.
    pub of: u64,
}

/// Finds the frames to show, in the order of `wanted`.
///
/// # Errors
/// See [`segments::each_segment`].
pub fn choose(
    paths: &[String],
    filter: Option<&str>,
    wanted: &[Wanted],
    reading: Reading,
) -> Result<Vec<Chosen>, ScanError> {
    let mut choosers = vec![Chooser::default(); wanted.len()];
    let place: HashMap<u32, usize> =
        wanted.iter().enumerate().map(|(index, one)| (one.connection, index)).collect();
    let connections: Vec<u32> = wanted.iter().map(|one| one.connection).collect();
    let see = |connection: u32, segment: TrackedSegment| {
        let at = place[&connection];
        choosers[at].see(segment.mark, &wanted[at].spans);
    };
    segments::each_segment(paths, filter, &connections, reading, &Arc::default(), see)?;
    let connections = connections.into_iter();
    Ok(connections.zip(choosers).map(|(connection, chooser)| chooser.finish(connection)).collect())
}

#[derive(Default, Clone)]
struct Chooser {
    /// Spans already past.
    done: usize,
    seen: u64,
    /// Frames so far, while there are few.
    all: Vec<(u64, u64)>,
    near: Vec<(u64, u64)>,
    /// The latest frames, not in `near` yet.
    recent: VecDeque<(u64, u64)>,
    /// Frames still to take after the last span.
    after: usize,
}

impl Chooser {
    fn see(&mut self, mark: Mark, spans: &[(u64, u64)]) {
        let frame = u64::from(mark.frame);
        self.seen += 1;
        if self.all.len() <= FEW {
            self.all.push((frame, self.seen));
        }
        while spans.get(self.done).is_some_and(|span| span.1 < frame) {
            self.done += 1;
            self.after = NEIGHBOURS;
        }
        let inside = spans.get(self.done).is_some_and(|span| span.0 <= frame);
        if inside || self.after > 0 || self.seen <= BEGINNING {
            self.near.extend(self.recent.drain(..));
            self.near.push((frame, self.seen));
            self.after = self.after.saturating_sub(1);
            self.near.truncate(MOST);
            return;
        }
        self.recent.push_back((frame, self.seen));
        if self.recent.len() > NEIGHBOURS {
            self.recent.pop_front();
        }
    }

    fn finish(self, connection: u32) -> Chosen {
        let frames = if self.all.len() <= FEW { self.all } else { self.near };
        Chosen { connection, frames, of: self.seen }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows a connection that has every second frame of a capture.
    fn shown(frames: u64, spans: &[(u64, u64)]) -> Vec<u64> {
        let mut chooser = Chooser::default();
        for index in 1..=frames {
            chooser.see(Mark { time_ns: 0, frame: index as u32 * 2 }, spans);
        }
        let shown = chooser.finish(0);
        assert_eq!(shown.of, frames);
        assert!(shown.frames.iter().all(|(frame, place)| *frame == place * 2));
        shown.frames.into_iter().map(|(frame, _)| frame).collect()
    }

    #[test]
    fn a_short_connection_is_shown_whole() {
        let all: Vec<u64> = (1..=FEW as u64).map(|index| index * 2).collect();
        assert_eq!(shown(FEW as u64, &[]), all);
    }

    #[test]
    fn a_long_one_is_shown_from_its_beginning_and_around_its_stalls() {
        let around = |first: u64, last: u64| {
            let neighbours = NEIGHBOURS as u64 * 2;
            (first - neighbours..=last + neighbours).step_by(2)
        };
        let expected: Vec<u64> = (2..=BEGINNING * 2)
            .step_by(2)
            .chain(around(1000, 1006))
            .chain(around(4000, 4004))
            .collect();
        assert_eq!(shown(10_000, &[(1000, 1006), (4000, 4004)]), expected);
    }

    #[test]
    fn stalls_that_overlap_or_never_end_stay_bounded() {
        let frames = shown(10_000, &[(300, 400), (310, 330), (400, 20_000)]);
        assert_eq!(frames.len(), MOST);
        assert!(frames.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
