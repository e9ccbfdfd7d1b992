//! The part that slow connecting has in the time until the first reply.

use crate::judge::finding::judged::JudgedConnection;
use crate::judge::statistics;
use crate::result::scan::Scan;

/// Sums over the connections that took long to come about and had a reply; in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectingSums {
    pub connections: u64,
    /// From the first SYN until the connection came about, and until the end of the first reply.
    pub connect_ns: i64,
    pub first_reply_ns: i64,
    /// Median part that the former takes of the latter, in millionths.
    median_ppm: i64,
}

impl ConnectingSums {
    fn of<'a>(connections: impl Iterator<Item = &'a JudgedConnection>) -> Option<Self> {
        let (mut connect_ns, mut first_reply_ns) = (0_i64, 0_i64);
        let mut parts = Vec::new();
        for (connect, first_reply) in connections.filter_map(JudgedConnection::connecting_ns) {
            connect_ns = connect_ns.saturating_add(connect);
            first_reply_ns = first_reply_ns.saturating_add(first_reply);
            parts.push((connect as f64 / first_reply as f64 * 1e6).round() as i64);
        }
        let connections = parts.len() as u64;
        let median_ppm = statistics::lower(&mut parts)?;
        Some(Self { connections, connect_ns, first_reply_ns, median_ppm })
    }

    /// Between 0 and 1.
    pub fn median_share(&self) -> f64 {
        self.median_ppm as f64 / 1e6
    }
}

/// `None` where no connection is like that.
pub fn connecting(scan: &Scan) -> Option<ConnectingSums> {
    ConnectingSums::of(scan.connections.with_findings().map(|index| &scan.connections[index]))
}
