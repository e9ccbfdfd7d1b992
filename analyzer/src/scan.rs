//! One pass over captures: frames to connections to verdicts.

use crate::batch::{Batch, Captured};
use crate::decode::Header;
use crate::error::ScanError;
use crate::findings::Findings;
use crate::flow::{Connection, Connections, Exchange, Exchanged, Mark, Side, Sinks};
use crate::judging::judge_all;
use crate::progress::Progress;
use crate::reader::{self, CaptureSummary};
use crate::servers::{ServerExchanges, without_stalls};
use crate::totals::Totals;
use crate::verdict::Finding;
use crate::verdicts::Verdicts;
use crate::wait::Waits;
use std::sync::Arc;

/// What to read and how.
#[derive(Debug, Clone)]
pub struct Options {
    pub filter: Option<String>,
    pub min_wait_ns: i64,
    /// Keep each exchange (they grow with the packets), not only their sums.
    pub exchanges: bool,
}

/// Everything a scan found.
#[derive(Clone)]
pub struct Scan {
    pub captures: Vec<CaptureSummary>,
    /// The scheme under which its addresses were replaced, if they were.
    pub anonymized: Option<&'static str>,
    /// How many connections there are.
    pub connections: u64,
    /// On each of them, in the order of their numbers; those of a port scan are left out, which were
    /// refused or never answered.
    pub verdicts: Verdicts,
    /// Of each of them.
    pub findings: Findings,
    pub exchanges: Option<Vec<Exchange>>,
    pub servers: Vec<ServerExchanges>,
    pub totals: Totals,
    /// Waits beyond what is listed: count and sum in ns.
    pub unlisted_waits: u64,
    pub unlisted_wait_ns: i64,
}

impl Scan {
    /// How many connections of a port scan are not listed.
    pub fn connections_not_listed(&self) -> u64 {
        self.connections - self.verdicts.len() as u64
    }

    pub fn tcp_packets(&self) -> u64 {
        self.captures.iter().map(|capture| capture.tcp_packets).sum()
    }

    /// How many of the first so many findings are stalls.
    pub fn stalls_before(&self, findings: usize) -> usize {
        let (whole, rest) = self.findings.split(findings);
        let of_whole = self.verdicts.iter().take(whole).map(|verdict| verdict.stalls as usize);
        of_whole.sum::<usize>() + rest.iter().filter(|row| row.cause.is_stall()).count()
    }

    /// The findings of the connection with this index.
    pub fn findings_of(&self, connection: usize) -> &[Finding] {
        self.findings.of(connection)
    }
}

/// Scans `paths` as one logical capture, in the order of their first frames.
///
/// # Errors
/// An input cannot be read at all, or the filter cannot be compiled. Damage further on is no
/// error: what came before it is analysed, and the capture's summary tells.
pub fn scan(
    paths: &[String],
    options: &Options,
    progress: &Arc<Progress>,
) -> Result<Scan, ScanError> {
    let mut tracker = Tracker::new(options.min_wait_ns, options.exchanges);
    let filter = options.filter.as_deref();
    let captures = reader::read_all(paths, filter, progress, |batch| {
        tracker.take(batch, &mut |_, _, _, _| {});
    })?;
    Ok(tracker.finish(captures))
}

/// A segment of one connection, as read again for a timeline.
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
/// As [`scan`].
pub fn segments(
    paths: &[String],
    filter: Option<&str>,
    connection: u32,
    progress: &Arc<Progress>,
) -> Result<Vec<TrackedSegment>, ScanError> {
    let mut found = Vec::new();
    let mut tracker = Tracker::new(i64::MAX, false);
    let mut keep = |at: &Connection, by: Side, header: &Header, mark: Mark| {
        if at.id == connection {
            let rel_seq = at.rel_seq(by, header);
            let window = at.half(by).window_of(header);
            found.push(TrackedSegment { mark, by, header: *header, rel_seq, window });
        }
    };
    reader::read_all(paths, filter, progress, |batch| tracker.take(batch, &mut keep))?;
    Ok(found)
}

/// Reads the captures again and shows the connection of each segment, and where it was captured.
///
/// # Errors
/// As [`scan`].
pub fn each_segment(
    paths: &[String],
    filter: Option<&str>,
    mut see: impl FnMut(u32, Mark),
) -> Result<(), ScanError> {
    let mut tracker = Tracker::new(i64::MAX, false);
    let mut tell = |at: &Connection, _: Side, _: &Header, mark: Mark| see(at.id, mark);
    let unseen = Arc::new(Progress::default());
    reader::read_all(paths, filter, &unseen, |batch| tracker.take(batch, &mut tell))?;
    Ok(())
}

/// What a segment needs is fetched twice so many segments before it is taken, and so many before it
/// what is found there: that hides the way to memory, and fits into the first-level cache.
const CHUNK: usize = 16;

/// The connections so far.
struct Tracker {
    connections: Connections,
    waits: Waits,
    exchanged: Exchanged,
    min_wait_ns: i64,
}

impl Tracker {
    fn new(min_wait_ns: i64, exchanges: bool) -> Self {
        Self {
            connections: Connections::default(),
            waits: Waits::default(),
            exchanged: Exchanged::new(exchanges),
            min_wait_ns,
        }
    }

    /// Takes the next segments; shows each to `see`, before it is taken.
    fn take(&mut self, batch: &Batch, see: &mut impl FnMut(&Connection, Side, &Header, Mark)) {
        for &ends in &batch.opened {
            self.connections.open(ends);
        }
        let mostly = |at: &Connection, next: &Captured| at.fetch(next.by(), next.header.len > 0);
        let seldom = |at: &Connection, next: &Captured| at.half(next.by()).fetch_rare();
        let mut chunks = batch.segments.chunks(CHUNK);
        let (mut now, mut next) = (chunks.next(), chunks.next());
        self.fetch(now, mostly);
        self.fetch(next, mostly);
        self.fetch(now, seldom);
        while let Some(segments) = now {
            let after = chunks.next();
            self.fetch(after, mostly);
            self.fetch(next, seldom);
            self.take_some(segments, see);
            (now, next) = (next, after);
        }
    }

    /// Has what the segments will need fetched.
    fn fetch(&self, segments: Option<&[Captured]>, what: impl Fn(&Connection, &Captured)) {
        for captured in segments.unwrap_or_default() {
            if let Some(connection) = self.connections.get_whole(captured.connection()) {
                what(connection, captured);
            }
        }
    }

    fn take_some(
        &mut self,
        segments: &[Captured],
        see: &mut impl FnMut(&Connection, Side, &Header, Mark),
    ) {
        let mut sinks = Sinks {
            waits: &mut self.waits,
            exchanged: &mut self.exchanged,
            min_wait_ns: self.min_wait_ns,
        };
        for captured in segments {
            let by = captured.by();
            let Some(connection) = self.connections.get_mut(captured.connection()) else {
                continue;
            };
            see(connection, by, &captured.header, captured.mark);
            connection.take(by, &captured.header, captured.mark, &mut sinks);
        }
    }

    fn finish(mut self, captures: Vec<CaptureSummary>) -> Scan {
        let mut sinks = Sinks {
            waits: &mut self.waits,
            exchanged: &mut self.exchanged,
            min_wait_ns: self.min_wait_ns,
        };
        for connection in self.connections.iter_mut() {
            connection.finish(&mut sinks);
        }
        let clock_ns = reader::clock_ns(&captures);
        let connections = self.connections.len() as u64;
        let Exchanged { all, servers, suspects, .. } = self.exchanged;
        let judged =
            judge_all(self.connections, self.waits.kept, suspects, servers.len(), clock_ns);
        Scan {
            captures,
            anonymized: None,
            connections,
            verdicts: judged.verdicts,
            findings: judged.findings,
            exchanges: all.map(|all| all.rows),
            servers: without_stalls(servers, judged.servers),
            totals: judged.totals,
            unlisted_waits: self.waits.unlisted,
            unlisted_wait_ns: self.waits.unlisted_ns,
        }
    }
}
