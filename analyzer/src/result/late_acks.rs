//! Late ACKs of each side: how many of how many, by how much, and since when.

use crate::judge::finding::judged::JudgedConnection;
use crate::judge::nagle::timers::LateAcks;
use crate::judge::statistics;
use crate::result::scan::Scan;
use crate::track::Side;

/// The late ACKs of all clients, or of all servers, that their paths do not explain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LateAckSums {
    pub by: Side,
    pub connections: u64,
    pub late: u64,
    /// `None` where a connection has more than are counted.
    pub prompt: Option<u64>,
    /// The median of the late ACKs of a connection, at the median of the late ACKs.
    pub median_ns: i64,
    pub first_frame: u32,
}

impl LateAckSums {
    fn of<'a>(by: Side, connections: impl Iterator<Item = &'a JudgedConnection>) -> Option<Self> {
        let found: Vec<LateAcks> =
            connections.filter_map(|judged| judged.half(by).detail().late_acks).collect();
        let prompt = |acks: &LateAcks| (acks.prompt < u16::MAX).then_some(u64::from(acks.prompt));
        let mut medians: Vec<(i64, u64)> =
            found.iter().map(|acks| (acks.timer.median_ns, acks.timer.count)).collect();
        Some(Self {
            by,
            connections: found.len() as u64,
            late: found.iter().map(|acks| acks.timer.count).sum(),
            prompt: found.iter().map(prompt).sum(),
            median_ns: statistics::weighted(&mut medians)?,
            first_frame: found.iter().map(|acks| acks.first_frame).min()?,
        })
    }
}

/// A row for each side that has any.
pub fn late_acks(scan: &Scan) -> Vec<LateAckSums> {
    let connections = || scan.connections.with_findings().map(|index| &scan.connections[index]);
    Side::BOTH.into_iter().filter_map(|by| LateAckSums::of(by, connections())).collect()
}
