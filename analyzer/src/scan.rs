//! One pass over captures: frames to connections to verdicts.

use crate::capture::{Capture, End, Frame};
use crate::decode::{self, Segment, Skip};
use crate::error::ScanError;
use crate::filter::Filter;
use crate::flow::{Exchange, Mark, Side, Sinks, Table};
use crate::judge::{Finding, Verdict, judge};
use crate::wait::Waits;

/// What to read and how.
#[derive(Debug, Clone)]
pub struct Options {
    pub filter: Option<String>,
    pub min_wait_ns: i64,
    /// Keep each exchange (they grow with the packets), not only their sums.
    pub exchanges: bool,
}

/// One input file. Times are ns since the epoch.
#[derive(Debug, Clone)]
pub struct CaptureSummary {
    pub path: String,
    pub packets: u64,
    /// Bytes on the wire.
    pub bytes: u64,
    pub tcp_packets: u64,
    /// `None` where no frame was read.
    pub link_type: Option<u32>,
    pub mixed_links: bool,
    pub first_ns: i64,
    pub last_ns: i64,
    /// Number of its first frame: frames are numbered through all inputs, from 1.
    pub first_frame: u64,
    pub end: End,
    /// Step of the capture's clock in ns: the coarsest power of ten that divides all times.
    pub clock_ns: i64,
    /// Frames that were not used, by [`Skip`].
    pub skipped: [u64; Skip::ALL.len()],
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
    let captures = tracker.read_all(paths, options.filter.as_deref(), |_| {})?;
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
    Tracker::new(i64::MAX, false).read_all(paths, filter, |tracked| {
        if tracked.connection == connection {
            found.push(*tracked);
        }
    })?;
    Ok(found)
}

/// The connections so far.
struct Tracker {
    table: Table,
    waits: Waits,
    exchanges: Option<Vec<Exchange>>,
    min_wait_ns: i64,
    frames: u64,
}

impl Tracker {
    fn new(min_wait_ns: i64, exchanges: bool) -> Self {
        Self {
            table: Table::default(),
            waits: Waits::default(),
            exchanges: exchanges.then(Vec::new),
            min_wait_ns,
            frames: 0,
        }
    }

    fn read_all(
        &mut self,
        paths: &[String],
        filter: Option<&str>,
        mut seen: impl FnMut(&TrackedSegment),
    ) -> Result<Vec<CaptureSummary>, ScanError> {
        let mut filter = filter.map(Filter::new).transpose()?;
        let mut summaries: Vec<CaptureSummary> = Vec::with_capacity(paths.len());
        for path in in_order(paths) {
            let summary = self.read(path, &mut filter, summaries.last(), &mut seen)?;
            summaries.push(summary);
        }
        Ok(summaries)
    }

    fn read(
        &mut self,
        path: &str,
        filter: &mut Option<Filter>,
        previous: Option<&CaptureSummary>,
        seen: &mut impl FnMut(&TrackedSegment),
    ) -> Result<CaptureSummary, ScanError> {
        let mut capture = Capture::open(path)?;
        let mut summary = CaptureSummary::new(path, self.frames + 1);
        while let Some(frame) = capture.next_frame() {
            self.frames += 1;
            if summary.count(&frame) && previous.is_some_and(|last| last.overlaps(frame.time_ns)) {
                self.table.forget();
            }
            let mark = Mark { time_ns: frame.time_ns, frame: self.frames };
            match decoded(&frame, filter)? {
                Ok(segment) => seen(&self.take(&segment, mark)),
                Err(skip) => summary.skipped[skip as usize] += 1,
            }
        }
        summary.end = capture.end().cloned().unwrap_or(End::Complete);
        summary.tcp_packets = summary.packets - summary.skipped.iter().sum::<u64>();
        Ok(summary)
    }

    #[inline]
    fn take(&mut self, segment: &Segment, mark: Mark) -> TrackedSegment {
        let (connection, by) = self.table.find(segment);
        let mut sinks = Sinks {
            waits: &mut self.waits,
            exchanges: &mut self.exchanges,
            min_wait_ns: self.min_wait_ns,
        };
        let rel_seq = connection.rel_seq(by, segment);
        connection.take(by, segment, mark, &mut sinks);
        TrackedSegment { connection: connection.id, by, mark, rel_seq, segment: *segment }
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

/// Rotated files (`tcpdump -C`, `-G`) in the order of their first frames, whatever order the shell
/// gave them. Standard input can be read only once, so with it the order stays.
fn in_order(paths: &[String]) -> Vec<&str> {
    let mut ordered: Vec<&str> = paths.iter().map(String::as_str).collect();
    if ordered.len() > 1 && !ordered.contains(&"-") {
        ordered.sort_by_cached_key(|path| Capture::first_time_ns(path));
    }
    ordered
}

#[inline]
fn decoded(
    frame: &Frame<'_>,
    filter: &mut Option<Filter>,
) -> Result<Result<Segment, Skip>, ScanError> {
    if let Some(filter) = filter
        && !filter.matches(frame)?
    {
        return Ok(Err(Skip::Filtered));
    }
    Ok(decode::segment(frame.link_type, frame.data, frame.wire_len))
}

/// Clocks that tick more slowly than this are not looked for (captures with 10 ms steps exist).
const COARSEST_CLOCK_NS: i64 = 100_000_000;
/// Clocks as fine as this need no allowance.
const FINE_CLOCK_NS: i64 = 1_000;

impl CaptureSummary {
    fn new(path: &str, first_frame: u64) -> Self {
        Self {
            path: path.to_owned(),
            packets: 0,
            bytes: 0,
            tcp_packets: 0,
            link_type: None,
            mixed_links: false,
            first_ns: 0,
            last_ns: 0,
            first_frame,
            end: End::Complete,
            clock_ns: COARSEST_CLOCK_NS,
            skipped: [0; Skip::ALL.len()],
        }
    }

    /// Counts a frame; tells whether it is the first.
    #[inline]
    fn count(&mut self, frame: &Frame<'_>) -> bool {
        let first = self.packets == 0;
        if first {
            self.link_type = Some(frame.link_type);
            self.first_ns = frame.time_ns;
            self.last_ns = frame.time_ns;
        }
        while self.clock_ns > FINE_CLOCK_NS && frame.time_ns % self.clock_ns != 0 {
            self.clock_ns /= 10;
        }
        self.mixed_links |= self.link_type != Some(frame.link_type);
        self.packets += 1;
        self.bytes += u64::from(frame.wire_len);
        self.last_ns = self.last_ns.max(frame.time_ns);
        first
    }

    /// Does a capture that begins at `time_ns` overlap with this one? Then they are two captures
    /// of their own and no rotated set.
    fn overlaps(&self, time_ns: i64) -> bool {
        time_ns < self.last_ns
    }
}
