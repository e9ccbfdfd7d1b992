//! One pass over captures: frames to connections to verdicts.

use crate::decode::Segment;
use crate::error::ScanError;
use crate::flow::{Exchange, Found, Mark, Side, Sinks, Table};
use crate::judge::{Finding, Verdict, judge};
use crate::reader::{self, Batch, CaptureSummary, Captured};
use crate::wait::Waits;

/// What to read and how.
#[derive(Debug, Clone)]
pub struct Options {
    pub filter: Option<String>,
    pub min_wait_ns: i64,
    /// Keep each exchange (they grow with the packets), not only their sums.
    pub exchanges: bool,
}

/// Everything a scan found. `findings` are grouped by connection, in the order of `verdicts`.
pub struct Scan {
    pub captures: Vec<CaptureSummary>,
    pub verdicts: Vec<Verdict>,
    pub findings: Vec<Finding>,
    /// Where each connection's findings begin; one entry more than `verdicts`.
    pub first_finding: Vec<usize>,
    pub exchanges: Option<Vec<Exchange>>,
    /// Waits beyond what is listed: count and sum in ns.
    pub unlisted_waits: u64,
    pub unlisted_wait_ns: i64,
}

impl Scan {
    /// The findings of the connection with this index.
    pub fn findings_of(&self, connection: usize) -> &[Finding] {
        &self.findings[self.first_finding[connection]..self.first_finding[connection + 1]]
    }
}

/// Scans `paths` as one logical capture, in the order of their first frames.
///
/// # Errors
/// An input cannot be read at all, or the filter cannot be compiled. Damage further on is no
/// error: what came before it is analysed, and the capture's summary tells.
pub fn scan(paths: &[String], options: &Options) -> Result<Scan, ScanError> {
    let mut tracker = Tracker::new(options.min_wait_ns, options.exchanges);
    let filter = options.filter.as_deref();
    let captures = reader::read_all(paths, filter, |batch| tracker.take(batch, &mut |_| {}))?;
    Ok(tracker.finish(captures))
}

/// A segment of one connection, as read again for a timeline.
#[derive(Debug, Clone, Copy)]
pub struct TrackedSegment {
    pub connection: u32,
    pub by: Side,
    pub mark: Mark,
    /// Stream offset of the first payload byte.
    pub rel_seq: u64,
    pub segment: Segment,
}

/// Reads the captures again for the segments of one connection.
///
/// # Errors
/// As [`scan`].
pub fn segments(
    paths: &[String],
    filter: Option<&str>,
    connection: u32,
) -> Result<Vec<TrackedSegment>, ScanError> {
    let mut found = Vec::new();
    let mut tracker = Tracker::new(i64::MAX, false);
    let mut keep = |tracked: TrackedSegment| {
        if tracked.connection == connection {
            found.push(tracked);
        }
    };
    reader::read_all(paths, filter, |batch| tracker.take(batch, &mut keep))?;
    Ok(found)
}

/// Segments whose connections are looked up together, so that the misses of the cache overlap.
const LOOKUPS: usize = 32;

/// The connections so far.
struct Tracker {
    table: Table,
    waits: Waits,
    exchanges: Option<Vec<Exchange>>,
    min_wait_ns: i64,
}

impl Tracker {
    fn new(min_wait_ns: i64, exchanges: bool) -> Self {
        Self {
            table: Table::default(),
            waits: Waits::default(),
            exchanges: exchanges.then(Vec::new),
            min_wait_ns,
        }
    }

    /// Takes the next segments and shows each to `seen`.
    fn take(&mut self, batch: &Batch, seen: &mut impl FnMut(TrackedSegment)) {
        if batch.starts_over {
            self.table.forget();
        }
        for segments in batch.segments.chunks(LOOKUPS) {
            self.take_together(segments, seen);
        }
    }

    fn take_together(&mut self, segments: &[Captured], seen: &mut impl FnMut(TrackedSegment)) {
        let mut found = [Found::default(); LOOKUPS];
        let mut taken = 0;
        for (index, captured) in segments.iter().enumerate() {
            if captured.segment.is_opening() {
                // Whether the ports are used again depends on all that came before.
                self.track(&segments[taken..index], &found[taken..index], seen);
                taken = index;
            }
            found[index] = self.table.find(&captured.segment);
        }
        self.track(&segments[taken..], &found[taken..segments.len()], seen);
    }

    fn track(
        &mut self,
        segments: &[Captured],
        found: &[Found],
        seen: &mut impl FnMut(TrackedSegment),
    ) {
        self.table.warm(found);
        let mut sinks = Sinks {
            waits: &mut self.waits,
            exchanges: &mut self.exchanges,
            min_wait_ns: self.min_wait_ns,
        };
        for (&Captured { segment, mark }, &at) in segments.iter().zip(found) {
            let (connection, by) = self.table.get(at);
            let rel_seq = connection.rel_seq(by, &segment);
            connection.take(by, &segment, mark, &mut sinks);
            seen(TrackedSegment { connection: connection.id, by, mark, rel_seq, segment });
        }
    }

    fn finish(mut self, captures: Vec<CaptureSummary>) -> Scan {
        let mut sinks = Sinks {
            waits: &mut self.waits,
            exchanges: &mut self.exchanges,
            min_wait_ns: self.min_wait_ns,
        };
        for connection in &mut self.table.connections {
            connection.finish(&mut sinks);
        }
        let mut waits = std::mem::take(&mut self.waits.kept);
        // Stable: within a connection the waits stay in the order of their ends.
        waits.sort_by_key(|wait| wait.connection);
        let clock_ns = captures.iter().map(|capture| capture.clock_ns).max().unwrap_or(1);
        let mut findings = Vec::with_capacity(waits.len());
        let mut first_finding = vec![0];
        let mut verdicts = Vec::with_capacity(self.table.connections.len());
        let mut rest = waits.as_slice();
        for connection in &self.table.connections {
            let own = rest.partition_point(|wait| wait.connection == connection.id);
            verdicts.push(judge(connection, &rest[..own], clock_ns, &mut findings));
            first_finding.push(findings.len());
            rest = &rest[own..];
        }
        Scan {
            captures,
            verdicts,
            findings,
            first_finding,
            exchanges: self.exchanges,
            unlisted_waits: self.waits.unlisted,
            unlisted_wait_ns: self.waits.unlisted_ns,
        }
    }
}
