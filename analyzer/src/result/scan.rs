//! A scan: one pass over the captures, and everything it found.

use crate::capture::error::ScanError;
use crate::capture::progress::Progress;
use crate::judge::findings::Findings;
use crate::judge::relays::PassedOn;
use crate::result::blocks::judge_all;
use crate::result::connections::JudgedConnections;
use crate::result::findings::AllFindings;
use crate::result::server_exchanges::{ServerExchanges, without_stalls};
use crate::result::totals::Totals;
use crate::track::CaptureSummary;
use crate::track::clock::Clocks;
use crate::track::reader;
use crate::track::reader::batch::Batch;
use crate::track::tracker::{Tracked, Tracker};
use crate::track::{Exchange, Lengths, Share};
use std::array;
use std::sync::Arc;

/// Two: with more than a block of connections, the reader's thread can help with one share while the other
/// thread works on the other. So both cores of a small machine are busy, whether reading or tracking takes
/// longer.
const TRACKERS: usize = 2;

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
    pub connection_count: u64,
    /// In the order of their numbers. Those of a port scan, refused or never answered, are left out.
    pub connections: JudgedConnections,
    /// The findings of each connection.
    pub findings: AllFindings,
    pub exchanges: Option<Vec<Exchange>>,
    pub servers: Vec<ServerExchanges>,
    pub totals: Totals,
    /// Directions that pass on what arrives on another connection, in the order of their connections.
    pub passed_on: Vec<PassedOn>,
    /// Waits beyond what is listed: count and sum in ns.
    pub unlisted_waits: u64,
    pub unlisted_wait_ns: i64,
}

impl Scan {
    fn new(captures: Vec<CaptureSummary>, tracked: Tracked, min_wait_ns: i64) -> Self {
        let clocks = Clocks::of(&captures);
        let Tracked { connections, blocks, servers, exchanges, .. } = tracked;
        let judged = judge_all(blocks, servers.len(), &clocks, min_wait_ns);
        Self {
            captures,
            anonymized: None,
            connection_count: connections,
            connections: judged.connections,
            findings: judged.findings,
            exchanges,
            servers: without_stalls(servers, judged.servers),
            totals: judged.totals,
            passed_on: judged.passed_on,
            unlisted_waits: tracked.unlisted_waits,
            unlisted_wait_ns: tracked.unlisted_wait_ns,
        }
    }

    /// How many connections of a port scan are not listed.
    pub fn connections_not_listed(&self) -> u64 {
        self.connection_count - self.connections.len() as u64
    }

    pub fn tcp_packets(&self) -> u64 {
        self.captures.iter().map(|capture| capture.tcp_packets).sum()
    }

    /// How many of the first `findings` findings are stalls.
    pub fn stalls_before(&self, findings: usize) -> usize {
        let (whole, rest) = self.findings.split(findings);
        let of_whole = self.connections.iter().take(whole).map(|judged| judged.stalls as usize);
        of_whole.sum::<usize>() + rest.iter().filter(|row| row.cause.is_stall()).count()
    }

    /// Indices of the connections with a stall.
    pub fn affected(&self) -> impl Iterator<Item = usize> {
        // What has no finding, as most of very many have none, is not looked at.
        let found =
            (0..self.connections.len()).filter(|&index| !self.findings_of(index).is_empty());
        found.filter(|&index| self.connections[index].stalls > 0)
    }

    /// The findings of the connection with this index.
    #[inline]
    pub fn findings_of(&self, connection: usize) -> Findings<'_> {
        self.findings.of(connection)
    }
}

/// Scans `paths` as one logical capture, in the order of their first frames.
///
/// # Errors
/// An input cannot be read at all, or the filter cannot be compiled. Damage further on is no
/// error: what came before it is analysed, and the capture's summary says so.
pub fn scan(
    paths: &[String],
    options: &Options,
    progress: &Arc<Progress>,
) -> Result<Scan, ScanError> {
    let mut trackers: [Tracker; TRACKERS] = array::from_fn(|tracker| {
        let share = Share { tracker, of: TRACKERS };
        Tracker::new(share, Lengths::listing(options.min_wait_ns), options.exchanges)
    });
    let takes = trackers
        .each_mut()
        .map(|tracker| |batch: &Batch| tracker.take(batch, &mut |_, _, _, _| {}));
    let captures = reader::read_all(paths, options.filter.as_deref(), progress, takes)?;
    Ok(Scan::new(captures, Tracked::by(trackers), options.min_wait_ns))
}
