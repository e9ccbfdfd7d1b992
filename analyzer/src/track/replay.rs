//! The second of two passes: the records of one shard are tracked, as if all captures were read at once.

use crate::capture::times::FARTHEST_NS;
use crate::track::Lengths;
use crate::track::reader::columns::Columns;
use crate::track::reader::range::{MOST_FRAMES, Placed, Range, Record, SHARDS};
use crate::track::reader::series::{Alone, Series};
use crate::track::tracked::Ended;
use crate::track::tracker::Tracker;
use std::iter::Peekable;
use thiserror::Error;

/// Records tracked at once: they fit into the cache.
const TRACKED_AT_ONCE: usize = 4096;

/// Records are not what was decoded.
#[derive(Debug, Error)]
#[error("the records are damaged")]
pub struct Damaged;

/// A shard of captures that were decoded before.
pub struct Replay {
    tracker: Tracker,
    shard: usize,
    /// In order: where their frames stand, and how many there are.
    captures: Vec<(Placed, u64)>,
    /// The current capture, and the number in it that its next frame has at least, from 0.
    current: Option<usize>,
    next_frame: u64,
    range: Range,
}

impl Replay {
    /// `captures` come in order.
    pub fn new(captures: Vec<Alone>, shard: usize, lengths: Lengths, exchanges: bool) -> Self {
        let mut series = Series::default();
        let place = |capture: Alone| {
            let frames = capture.frames();
            (series.append(capture), frames)
        };
        Self {
            captures: captures.into_iter().map(place).collect(),
            tracker: Tracker::new(lengths, exchanges),
            shard,
            current: None,
            next_frame: 0,
            range: Range::new(SHARDS),
        }
    }

    /// Takes the next records of a capture. Captures come in order.
    ///
    /// # Errors
    /// They are not those of this shard of this capture, in order.
    pub fn take(&mut self, capture: usize, columns: &Columns) -> Result<(), Damaged> {
        let is_in_order = self.current.is_none_or(|current| current <= capture);
        if !is_in_order || capture >= self.captures.len() || !columns.are_even() {
            return Err(Damaged);
        }
        self.go_to(capture);
        let mut records = columns.records().peekable();
        while let Some(first) = records.peek().map(|record| record.frame) {
            self.take_some(self.captures[capture], first, &mut records)?;
        }
        Ok(())
    }

    /// Goes on to a capture. Of those between them nothing was seen here.
    fn go_to(&mut self, capture: usize) {
        let next = self.current.map_or(0, |current| current + 1);
        for (placed, _) in &self.captures[next.min(capture + 1)..=capture] {
            self.next_frame = 0;
            if placed.parts {
                self.range.reset();
                self.range.placed = *placed;
                self.tracker.take(&self.range, self.shard);
            }
        }
        self.current = Some(capture);
    }

    /// Takes as many records as are tracked at once.
    fn take_some(
        &mut self,
        (placed, frames): (Placed, u64),
        first: u64,
        records: &mut Peekable<impl Iterator<Item = Record>>,
    ) -> Result<(), Damaged> {
        let is_near = |record: &Record| {
            let after = record.frame.checked_sub(first);
            after.is_some_and(|after| after < u64::from(MOST_FRAMES))
        };
        self.range.reset();
        for _ in 0..TRACKED_AT_ONCE {
            let Some(record) = records.next_if(is_near) else { break };
            let is_in_time = (0..=FARTHEST_NS).contains(&record.time_ns);
            let is_next = (self.next_frame..frames).contains(&record.frame);
            self.next_frame = record.frame.saturating_add(1);
            let near = Record { frame: record.frame - first, ..record };
            if !is_in_time || !is_next || self.range.push_record(&near) != self.shard {
                return Err(Damaged);
            }
        }
        let frames_before = placed.frames_before + first;
        self.range.placed = Placed { frames_before, parts: false, ..placed };
        self.tracker.take(&self.range, self.shard);
        Ok(())
    }

    /// All captures were given.
    pub fn end(mut self) -> Ended {
        if let Some(last) = self.captures.len().checked_sub(1) {
            self.go_to(last);
        }
        self.tracker.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::allocations::write_capture;
    use crate::track::reader::labels::Labels;
    use crate::track::reader::records::Records;
    use crate::track::reader::{Reading, read_all};
    use std::sync::Arc;

    const LENGTHS: Lengths = Lengths { listed_ns: 100, seen_ns: 100 };

    /// A capture, and its records of one shard.
    fn recorded(rounds: u32) -> (Alone, usize, Columns) {
        let path = write_capture(rounds, 1);
        let name = path.to_str().unwrap();
        let mut records = Records::open(name, "a", None, &Arc::default()).unwrap();
        let (shard, columns) = records.next_batch().unwrap().unwrap();
        assert!(records.next_batch().unwrap().is_none());
        std::fs::remove_file(path).unwrap();
        (records.capture().unwrap(), shard, columns)
    }

    fn bytes(ended: &Ended) -> Vec<u8> {
        postcard::to_stdvec(ended).unwrap()
    }

    /// However many are tracked at once, and taken at once.
    #[test]
    fn what_is_replayed_is_what_was_read() {
        let rounds = 3 * TRACKED_AT_ONCE as u32;
        let path = write_capture(rounds, 1);
        let (capture, shard, columns) = recorded(rounds);
        let mut trackers: Vec<_> = (0..SHARDS).map(|_| Tracker::new(LENGTHS, true)).collect();
        let take = |tracker: &mut Tracker, range: &Range, shard| tracker.take(range, shard);
        let takes = trackers
            .iter_mut()
            .map(|tracker| move |range: &Range, shard: usize| take(tracker, range, shard));
        let (paths, labels) = ([path.to_str().unwrap().to_owned()], Labels::default());
        let (reading, progress) = (Reading::by(1), Arc::default());
        read_all(&paths, &labels, None, reading, &progress, takes.collect()).unwrap();
        std::fs::remove_file(path).unwrap();
        let expected = bytes(&trackers.swap_remove(shard).end());
        let mut replay = Replay::new(vec![capture], shard, LENGTHS, true);
        replay.take(0, &columns).unwrap();
        assert!(bytes(&replay.end()) == expected);
    }

    /// Frames of a range are counted in 30 bits.
    #[test]
    fn records_far_apart_keep_the_numbers_of_their_frames() {
        let (mut capture, shard, mut columns) = recorded(3);
        let Alone::Read { summary, .. } = &mut capture else { panic!("it has a header") };
        summary.packets = 1 << 40;
        columns.frame[4..].iter_mut().for_each(|frame| *frame += 1 << 39);
        let mut replay = Replay::new(vec![capture], shard, LENGTHS, true);
        replay.take(0, &columns).unwrap();
        let exchanges = replay.end().exchanges.unwrap();
        let ends = exchanges.iter().map(|exchange| exchange.end.frame);
        assert!(ends.eq([2, 4, 6 + (1 << 39)]));
    }

    #[test]
    fn what_no_capture_says_is_refused() {
        let (capture, shard, columns) = recorded(3);
        let captures = vec![capture.clone(), capture];
        let replay = || Replay::new(captures.clone(), shard, LENGTHS, true);
        let changed = |change: &dyn Fn(&mut Columns)| {
            let mut columns = columns.clone();
            change(&mut columns);
            columns
        };
        assert!(replay().take(1, &columns).is_ok());
        assert!(replay().take(2, &columns).is_err());
        let wrong: [&dyn Fn(&mut Columns); 7] = [
            &|columns| columns.frame[5] = 6,
            &|columns| columns.frame[5] = u64::MAX,
            &|columns| columns.frame[3] = 2,
            &|columns| columns.frame[3] = 1,
            &|columns| columns.time_ns[3] = -1,
            &|columns| columns.time_ns[3] = i64::MAX,
            &|columns| columns.low_port[3] ^= 1,
        ];
        for (at, change) in wrong.into_iter().enumerate() {
            assert!(replay().take(0, &changed(change)).is_err(), "{at}");
        }
        let mut twice = replay();
        twice.take(0, &columns).unwrap();
        assert!(twice.take(0, &columns).is_err());
        let mut back = replay();
        back.take(1, &columns).unwrap();
        assert!(back.take(0, &columns).is_err());
    }
}
