//! The first of two passes: one capture is decoded into records for each shard, to be tracked later.

use crate::capture::Capture;
use crate::capture::error::ScanError;
use crate::capture::progress::Progress;
use crate::decode::filter::Filter;
use crate::track::clock_step::ClockStep;
use crate::track::reader::RANGE_LEN;
use crate::track::reader::columns::Columns;
use crate::track::reader::decoder::Decoder;
use crate::track::reader::range::{Range, SHARDS};
use crate::track::reader::series::{Alone, NoHeader, Series};
use std::mem;
use std::sync::Arc;

/// Records of a shard that are given out at once: enough to be packed well, few enough that those of all
/// shards take some 75 MB.
const BATCH: usize = 1 << 15;

/// A capture that is being decoded.
pub struct Records {
    decoder: Decoder,
    state: Stage,
    series: Series,
    /// Of the first range.
    first_clock: Option<ClockStep>,
    spare: Option<Box<Range>>,
    /// Those that were not given out.
    shards: Vec<Columns>,
}

enum Stage {
    Reading(Box<Capture>),
    Ended,
    NoHeader(NoHeader),
}

impl Records {
    /// Opens the capture `path`, which is called `label`.
    ///
    /// # Errors
    /// It cannot be read at all, or the filter cannot be compiled.
    pub fn open(
        path: &str,
        label: &str,
        filter: Option<&str>,
        progress: &Arc<Progress>,
    ) -> Result<Self, ScanError> {
        let filter = filter.map(Filter::new).transpose()?;
        let mut series = Series::default();
        let opened = Capture::open(path, progress).map_err(|error| error.called(label));
        let state = match opened {
            Ok(capture) => Stage::Reading(Box::new(capture)),
            Err(ScanError::NoHeader { path, reason }) => Stage::NoHeader(NoHeader { path, reason }),
            Err(error) => return Err(error),
        };
        series.open(label);
        Ok(Self {
            decoder: Decoder::new(filter, progress),
            state,
            series,
            first_clock: None,
            spare: None,
            shards: vec![Columns::default(); SHARDS],
        })
    }

    /// The next records, with their shard; those of a shard come in the order of their frames. `None` when
    /// all were given out.
    ///
    /// # Errors
    /// The filter failed.
    pub fn next_batch(&mut self) -> Result<Option<(usize, Columns)>, ScanError> {
        loop {
            let is_reading = matches!(self.state, Stage::Reading(_));
            let least = if is_reading { BATCH } else { 1 };
            if let Some(shard) = self.shards.iter().position(|records| records.len() >= least) {
                return Ok(Some((shard, mem::take(&mut self.shards[shard]))));
            }
            if !is_reading {
                return Ok(None);
            }
            self.read()?;
        }
    }

    /// Reads the next range.
    fn read(&mut self) -> Result<(), ScanError> {
        let Stage::Reading(capture) = &mut self.state else { return Ok(()) };
        let range = self.spare.take().unwrap_or_else(|| Box::new(Range::new(SHARDS)));
        let (is_first, frames) = (self.first_clock.is_none(), self.series.frames());
        let decoded = self.decoder.stream(capture, RANGE_LEN, is_first, frames, range);
        if let Some(error) = decoded.error {
            return Err(error);
        }
        let mut range = decoded.range;
        self.first_clock.get_or_insert(range.found.first_clock);
        self.series.add(&range.found);
        for (shard, records) in self.shards.iter_mut().enumerate() {
            for row in range.of(shard).flatten() {
                let mut record = range.record(row);
                record.frame += frames;
                records.push(&record);
            }
        }
        range.reset();
        self.spare = Some(range);
        if let (Some(end), Some(summary)) = (decoded.end, self.series.current()) {
            summary.end = end;
            summary.about_text = decoded.about_text;
            summary.lines_before = decoded.lines_before;
            self.state = Stage::Ended;
        }
        Ok(())
    }

    /// What there is to say of the capture, once all records were given out.
    pub fn capture(&mut self) -> Option<Alone> {
        match &self.state {
            Stage::Reading(_) => None,
            Stage::NoHeader(capture) => Some(Alone::NoHeader(capture.clone())),
            Stage::Ended => Some(Alone::Read {
                summary: Box::new(self.series.current()?.clone()),
                first_clock: self.first_clock?,
            }),
        }
    }
}
