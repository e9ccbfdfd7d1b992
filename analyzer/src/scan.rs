//! One pass over captures: frames to connections to verdicts.

use crate::error::ScanError;
use crate::flow::{Connection, Exchange, Sinks};
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
    let captures = reader::read_all(paths, filter, |batch| tracker.take(batch, &mut |_, _| {}))?;
    Ok(tracker.finish(captures))
}

/// A segment of one connection, as read again for a timeline.
#[derive(Debug, Clone, Copy)]
pub struct TrackedSegment {
    pub captured: Captured,
    /// Stream offset of the first payload byte.
    pub rel_seq: u64,
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
    let mut keep = |at: &Connection, captured: &Captured| {
        if at.id == connection {
            let rel_seq = at.rel_seq(captured.by, &captured.header);
            found.push(TrackedSegment { captured: *captured, rel_seq });
        }
    };
    reader::read_all(paths, filter, |batch| tracker.take(batch, &mut keep))?;
    Ok(found)
}

/// The connections so far.
struct Tracker {
    connections: Vec<Connection>,
    waits: Waits,
    exchanges: Option<Vec<Exchange>>,
    min_wait_ns: i64,
}

impl Tracker {
    fn new(min_wait_ns: i64, exchanges: bool) -> Self {
        Self {
            connections: Vec::new(),
            waits: Waits::default(),
            exchanges: exchanges.then(Vec::new),
            min_wait_ns,
        }
    }

    /// Takes the next segments; shows each to `see`, before it is taken.
    fn take(&mut self, batch: &Batch, see: &mut impl FnMut(&Connection, &Captured)) {
        for ends in &batch.opened {
            self.connections.push(Connection::new(self.connections.len() as u32, *ends));
        }
        let mut sinks = Sinks {
            waits: &mut self.waits,
            exchanges: &mut self.exchanges,
            min_wait_ns: self.min_wait_ns,
        };
        for captured in &batch.segments {
            let connection = &mut self.connections[captured.connection as usize];
            see(connection, captured);
            connection.take(captured.by, &captured.header, captured.mark, &mut sinks);
        }
    }

    fn finish(mut self, captures: Vec<CaptureSummary>) -> Scan {
        let mut sinks = Sinks {
            waits: &mut self.waits,
            exchanges: &mut self.exchanges,
            min_wait_ns: self.min_wait_ns,
        };
        for connection in &mut self.connections {
            connection.finish(&mut sinks);
        }
        let mut waits = std::mem::take(&mut self.waits.kept);
        // Stable: within a connection the waits stay in the order of their ends.
        waits.sort_by_key(|wait| wait.connection);
        let clock_ns = captures.iter().map(|capture| capture.clock_ns).max().unwrap_or(1);
        let mut findings = Vec::with_capacity(waits.len());
        let mut first_finding = vec![0];
        let mut verdicts = Vec::with_capacity(self.connections.len());
        let mut rest = waits.as_slice();
        for connection in &self.connections {
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
