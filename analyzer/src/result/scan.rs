//! A scan: one pass over the captures, and everything it found.

use crate::calls::trace::Trace;
use crate::calls::written::Written;
use crate::capture::error::ScanError;
use crate::capture::progress::Progress;
use crate::cores;
use crate::judge::doubts::Hidden;
use crate::judge::finding::verdict::Verdict;
use crate::judge::findings::{Finding, Findings};
use crate::judge::pooled::relays::PassedOn;
use crate::result::blocks::judge_all;
use crate::result::calls::StallCalls;
use crate::result::cause_totals::CauseTotals;
use crate::result::connections::JudgedConnections;
use crate::result::joined::{BothEnds, Far, Part};
use crate::result::names::Names;
use crate::result::server_exchanges::{ServerExchanges, without_stalls};
use crate::result::totals::Totals;
use crate::track::Exchange;
use crate::track::Side;
use crate::track::clock::Clocks;
use crate::track::connection::{Lengths, Split};
use crate::track::exchange::exchanged::Stale;
use crate::track::exchange::hours::Hour;
use crate::track::exchange::slowest::Slowest;
use crate::track::reader::capture_summary::{self, CaptureSummary};
use crate::track::reader::labels::Labels;
use crate::track::reader::range::Range;
use crate::track::reader::{self, Reading};
use crate::track::table::key::SHARDS;
use crate::track::tracked::{Ended, Tracked};
use crate::track::tracker::Tracker;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

/// How addresses are replaced, as outputs say it: see `anonymize`.
const SCHEME: &str = "ipcrypt-pfx";

/// The captures to read, and how.
#[derive(Debug, Clone)]
pub struct ScanOptions {
    /// Names that outputs print for the captures.
    pub labels: Labels,
    pub filter: Option<String>,
    pub min_wait_ns: i64,
    /// Keep each exchange (they grow with the packets), not only their sums.
    pub exchanges: bool,
    /// Count exchanges by hour and latency.
    pub hourly: bool,
    /// The user's names for addresses.
    pub names: Names,
    /// System calls of a program of the capture.
    pub calls: Option<Arc<Trace>>,
    pub reading: Reading,
    /// Results depend on it: always the same but in tests.
    pub shards: usize,
}

impl ScanOptions {
    /// All connections, with waits of 10 ms and more.
    pub fn usual(reading: Reading) -> Self {
        Self {
            labels: Labels::default(),
            filter: None,
            min_wait_ns: 10_000_000,
            exchanges: false,
            hourly: false,
            names: Names::default(),
            calls: None,
            reading,
            shards: SHARDS,
        }
    }
}

/// Everything a scan found.
#[derive(Clone)]
pub struct Scan {
    pub captures: Vec<CaptureSummary>,
    /// Were its addresses replaced?
    pub is_anonymized: bool,
    /// Names that outputs print for its addresses.
    pub names: Names,
    /// How many connections there are.
    pub connection_count: u64,
    /// In the order of their numbers. Those that did not open, as of a port scan, are thinned out.
    pub connections: JudgedConnections,
    /// How many threads may work on it.
    pub threads: usize,
    pub exchanges: Option<Vec<Exchange>>,
    pub slowest: Slowest,
    /// Exchanges by place of the server, hour and latency, in this order.
    pub hours: Vec<(Hour, u64)>,
    pub servers: Vec<ServerExchanges>,
    /// Requests into connections that were closed.
    pub stale: Stale,
    /// The first messages in two pieces.
    pub splits: Vec<Split>,
    /// Messages that were no part of an exchange.
    pub unasked: u64,
    pub totals: Totals,
    pub causes: CauseTotals,
    /// A program's system calls at the stalls.
    pub calls: Option<Arc<StallCalls>>,
    /// Directions that pass on what arrives elsewhere, in the order of their connections.
    pub passed_on: Vec<PassedOn>,
    /// Captures at both ends of the same connections.
    pub ends: Option<BothEnds>,
    /// Waits beyond what is listed: count and sum in ns.
    pub unlisted_waits: u64,
    pub unlisted_wait_ns: i64,
}

impl Scan {
    /// Judges what was tracked, and `written` when.
    pub fn new(
        captures: Vec<CaptureSummary>,
        tracked: Tracked,
        options: &ScanOptions,
        written: Option<&Written>,
    ) -> Self {
        Self::of_part((captures, tracked), options, written, Part::Whole).0
    }

    /// Like `new`, where another capture holds a `part` of the connections, too. Also returns those
    /// that count there, by their numbers.
    pub fn of_part(
        (mut captures, tracked): (Vec<CaptureSummary>, Tracked),
        options: &ScanOptions,
        written: Option<&Written>,
        part: Part<'_>,
    ) -> (Self, Vec<(u32, Far)>) {
        for capture in &mut captures {
            capture.filter.clone_from(&options.filter);
        }
        let texts = captures.iter().filter_map(|capture| capture.about_text.as_deref());
        let names = options.names.with_printed(texts.map(|text| &text.hosts));
        let clocks = capture_summary::clocks(&captures);
        let threads = options.reading.threads;
        let Tracked {
            connections, blocks, first_blocks, servers, exchanges, slowest, hours, ..
        } = tracked;
        let how = (options.min_wait_ns, threads);
        let judged = judge_all(blocks, &servers, &clocks, written, how, part);
        let mut scan = Self {
            captures,
            is_anonymized: false,
            names,
            connection_count: connections.len() as u64,
            connections: JudgedConnections::new(judged.blocks, &first_blocks, connections),
            threads,
            exchanges,
            slowest,
            hours,
            stale: tracked.stale,
            splits: tracked.splits,
            unasked: tracked.unasked,
            servers: without_stalls(servers, judged.servers, judged.totals.counts_possible()),
            totals: judged.totals,
            causes: judged.causes,
            calls: None,
            passed_on: judged.passed_on,
            ends: None,
            unlisted_waits: tracked.unlisted_waits,
            unlisted_wait_ns: tracked.unlisted_wait_ns,
        };
        scan.calls = written.map(|written| Arc::new(StallCalls::of(&scan.connections, written)));
        (scan, judged.far)
    }

    /// The scheme under which its addresses were replaced, if they were.
    pub fn anonymized(&self) -> Option<&'static str> {
        self.is_anonymized.then_some(SCHEME)
    }

    /// How many connections were thinned out and are not listed.
    pub fn connections_not_listed(&self) -> u64 {
        self.connection_count - self.connections.len() as u64
    }

    /// Connections, each once, however often the capture holds it.
    pub fn connections_once(&self) -> u64 {
        self.connection_count - self.totals.hidden[Hidden::Copied as usize]
    }

    pub fn tcp_packets(&self) -> u64 {
        self.captures.iter().map(|capture| capture.tcp_packets).sum()
    }

    /// Does this stall count? See [`Totals::counts_possible`].
    pub fn counts(&self, finding: &Finding<'_>) -> bool {
        finding.is_sure() || finding.is_stall() && self.totals.counts_possible()
    }

    /// Indices of the connections with a stall, be it only possible.
    pub fn affected(&self) -> impl Iterator<Item = usize> {
        self.connections.with_findings().filter(|&index| self.connections[index].stalls > 0)
    }

    /// For each side, the first message in two pieces on a clean connection, unless `TCP_NODELAY` was in
    /// effect.
    pub fn first_splits(&self) -> impl Iterator<Item = Split> {
        let may_stall = |split: &&Split| {
            let index = self.connections.index_of(split.connection);
            let judged = index.map(|index| &self.connections[index]);
            judged.is_some_and(|judged| {
                judged.verdict() == Verdict::Clean && !judged.half(split.by).nagle.is_off()
            })
        };
        Side::BOTH.into_iter().filter_map(move |side| {
            let of_side = self.splits.iter().filter(|split| split.by == side);
            of_side.filter(may_stall).min_by_key(|split| split.frames).copied()
        })
    }

    /// The findings of the connection with this index.
    #[inline]
    pub fn findings_of(&self, connection: usize) -> Findings<'_> {
        self.connections.findings_of(connection)
    }
}

/// Scans `paths` as one logical capture, in the order of their first frames.
///
/// # Errors
/// An input cannot be read at all, or the filter cannot be compiled. Damage further on is no
/// error: what came before it is analysed, and the capture's summary says so.
pub fn scan(
    paths: &[String],
    options: &ScanOptions,
    progress: &Arc<Progress>,
) -> Result<Scan, ScanError> {
    let (captures, tracked) = track(paths, options, progress)?;
    let pasted = pasted_trace(&captures, options, progress);
    let written = written(paths, &tracked, pasted.as_ref().unwrap_or(options), progress)?;
    Ok(Scan::new(captures, tracked, options, written.as_ref()))
}

/// The options with the trace that the texts hold beside their packets, if none is given.
fn pasted_trace(
    captures: &[CaptureSummary],
    options: &ScanOptions,
    progress: &Arc<Progress>,
) -> Option<ScanOptions> {
    let has_calls = |capture: &&CaptureSummary| {
        let is_file = || std::fs::metadata(&capture.path).is_ok_and(|about| about.is_file());
        capture.about_text.as_ref().is_some_and(|text| text.calls > 0) && is_file()
    };
    let texts: Vec<String> =
        captures.iter().filter(has_calls).map(|capture| capture.path.clone()).collect();
    (options.calls.is_none() && !texts.is_empty()).then_some(())?;
    // A program may print lines that only look like calls.
    let trace = Trace::read(&texts, progress).ok()?;
    Some(ScanOptions { calls: Some(Arc::new(trace)), ..options.clone() })
}

/// When the bytes of the connections were written, where the calls of a program tell.
///
/// # Errors
/// As [`scan`].
pub fn written(
    paths: &[String],
    tracked: &Tracked,
    options: &ScanOptions,
    progress: &Arc<Progress>,
) -> Result<Option<Written>, ScanError> {
    let Some(trace) = &options.calls else { return Ok(None) };
    let captures = (paths, options.filter.as_deref(), options.reading);
    Written::of(trace, &tracked.blocks, captures, progress).map(Some)
}

/// Reads `paths` and tracks their connections.
///
/// # Errors
/// As [`scan`].
pub fn track(
    paths: &[String],
    options: &ScanOptions,
    progress: &Arc<Progress>,
) -> Result<(Vec<CaptureSummary>, Tracked), ScanError> {
    let lengths = Lengths::listing(options.min_wait_ns);
    let mut trackers: Vec<Tracker> = (0..options.shards)
        .map(|_| Tracker::new(lengths, options.exchanges, options.hourly))
        .collect();
    let takes = trackers.iter_mut().map(|tracker| {
        |range: &Range, shard: usize| progress.add_connections(tracker.take(range, shard))
    });
    let filter = options.filter.as_deref();
    let captures = reader::read_all(
        paths,
        &options.labels,
        filter,
        options.reading,
        progress,
        takes.collect(),
    )?;
    let shards = ended(trackers, &capture_summary::clocks(&captures), options.reading.threads);
    Ok((captures, Tracked::by(shards)))
}

/// Lets all shards end.
fn ended(trackers: Vec<Tracker>, clocks: &Clocks, threads: usize) -> Vec<Ended> {
    let trackers: Vec<_> = trackers.into_iter().map(Some).map(Mutex::new).collect();
    let end = |shard: usize| {
        let mut tracker = trackers[shard].lock().unwrap_or_else(PoisonError::into_inner);
        mem::take(&mut *tracker).map(|tracker| tracker.end(clocks))
    };
    cores::all(threads, trackers.len(), end).into_iter().flatten().collect()
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// With stalls and other waits.
    pub fn example() -> Scan {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/jdk-httpserver.pcap");
        let options =
            ScanOptions { exchanges: true, hourly: true, ..ScanOptions::usual(Reading::by(2)) };
        scan(&[path.to_owned()], &options, &Arc::default()).unwrap()
    }
}
