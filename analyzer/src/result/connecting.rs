//! The part that slow connecting has in the time until the first reply.

use crate::judge::finding::judged::JudgedConnection;
use crate::judge::statistics;
use crate::result::in_ms::in_ms;
use crate::result::scan::Scan;
use serde::Serialize;

/// Connections that took long to come about and had a reply, from the first SYN; `null` for none.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ConnectingSums {
    pub connections: u64,
    #[serde(rename = "connect_ms", serialize_with = "in_ms")]
    pub connect_ns: i64,
    #[serde(rename = "first_reply_ms", serialize_with = "in_ms")]
    pub first_reply_ns: i64,
    pub median_share: f64,
}

impl ConnectingSums {
    fn of<'a>(connections: impl Iterator<Item = &'a JudgedConnection>) -> Option<Self> {
        let (mut connect_ns, mut first_reply_ns) = (0_i64, 0_i64);
        let mut parts_ppm = Vec::new();
        for (connect, first_reply) in connections.filter_map(JudgedConnection::connecting_ns) {
            connect_ns = connect_ns.saturating_add(connect);
            first_reply_ns = first_reply_ns.saturating_add(first_reply);
            parts_ppm.push((connect as f64 / first_reply as f64 * 1e6).round() as i64);
        }
        let connections = parts_ppm.len() as u64;
        let median_share = statistics::lower(&mut parts_ppm)? as f64 / 1e6;
        Some(Self { connections, connect_ns, first_reply_ns, median_share })
    }
}

/// `None` where no connection is like that.
pub fn connecting(scan: &Scan) -> Option<ConnectingSums> {
    ConnectingSums::of(scan.connections.with_findings().map(|index| &scan.connections[index]))
}
