//! What the connections of a scan add up to.

use crate::judge::findings::Findings;
use crate::judge::judged::JudgedConnection;
use serde::Serialize;
use std::ops::AddAssign;

/// The answer in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Stalls,
    Clean,
    /// No connection could be judged: no data, or one direction only.
    Inconclusive,
}

impl Verdict {
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Stalls => "stalls",
            Verdict::Clean => "clean",
            Verdict::Inconclusive => "inconclusive",
        }
    }
}

/// Sums over connections.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    pub affected_connections: u64,
    pub stalls: u64,
    pub stalled_ns: i64,
    pub exchanges: u64,
    /// Exchanges of the affected connections, the sum of their latencies, and what stalls took of it.
    pub affected_exchanges: u64,
    pub affected_latency_ns: i64,
    pub affected_stalled_ns: i64,
    /// By [`Confidence`](crate::judge::confidence::Confidence).
    pub stalls_by_confidence: [u64; 3],
    /// Connections where a stall can be told from its absence.
    pub conclusive: u64,
    /// Connections of which only one direction was captured.
    pub one_sided: u64,
    /// Connections without a stall where round trips vary so much that holds may be hidden.
    pub blurred: u64,
    /// Connections with data whose handshake was not captured.
    pub without_handshake: u64,
}

impl Totals {
    /// Of one connection with its findings.
    pub fn of(judged: &JudgedConnection, findings: Findings<'_>) -> Self {
        let is_affected = judged.stalls > 0;
        let has_data = judged.halves.iter().any(|end| end.bytes > 0);
        let mut stalls_by_confidence = [0; 3];
        for finding in findings.stalls() {
            stalls_by_confidence[finding.confidence() as usize] += 1;
        }
        Self {
            affected_connections: is_affected.into(),
            stalls: judged.stalls.into(),
            stalled_ns: judged.stalled_ns,
            exchanges: judged.exchanges.into(),
            affected_exchanges: u64::from(is_affected) * u64::from(judged.exchanges),
            affected_latency_ns: i64::from(is_affected) * judged.latency_ns,
            affected_stalled_ns: i64::from(is_affected) * judged.exchanges_stalled_ns,
            stalls_by_confidence,
            conclusive: judged.is_conclusive().into(),
            one_sided: judged.is_one_sided().into(),
            blurred: judged.blurred.into(),
            without_handshake: (!judged.handshake && has_data).into(),
        }
    }

    pub fn verdict(&self) -> Verdict {
        match (self.stalls, self.conclusive) {
            (1.., _) => Verdict::Stalls,
            (0, 1..) => Verdict::Clean,
            (0, 0) => Verdict::Inconclusive,
        }
    }
}

impl AddAssign for Totals {
    fn add_assign(&mut self, more: Self) {
        self.affected_connections += more.affected_connections;
        self.stalls += more.stalls;
        self.stalled_ns += more.stalled_ns;
        self.exchanges += more.exchanges;
        self.affected_exchanges += more.affected_exchanges;
        self.affected_latency_ns =
            self.affected_latency_ns.saturating_add(more.affected_latency_ns);
        self.affected_stalled_ns += more.affected_stalled_ns;
        for (sum, more) in self.stalls_by_confidence.iter_mut().zip(more.stalls_by_confidence) {
            *sum += more;
        }
        self.conclusive += more.conclusive;
        self.one_sided += more.one_sided;
        self.blurred += more.blurred;
        self.without_handshake += more.without_handshake;
    }
}
