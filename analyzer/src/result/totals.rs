//! What the connections of a scan add up to.

use crate::judge::verdict::{Finding, Nagle, Verdict};
use crate::track::wait::fact;
use crate::track::{SHORTEST_DELAYED_ACK_NS, Side};
use serde::Serialize;
use std::ops::AddAssign;

/// The answer in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Stalls,
    Clean,
    /// No connection could be judged: no data, or one direction only.
    Inconclusive,
}

impl Outcome {
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Stalls => "stalls",
            Outcome::Clean => "clean",
            Outcome::Inconclusive => "inconclusive",
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
    /// By [`Confidence`](crate::judge::verdict::Confidence).
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
    pub fn of(verdict: &Verdict, findings: &[Finding]) -> Self {
        let is_affected = verdict.stalls > 0;
        let has_data = verdict.ends.iter().any(|end| end.bytes > 0);
        let mut stalls_by_confidence = [0; 3];
        for finding in findings.iter().filter(|finding| finding.cause.is_stall()) {
            stalls_by_confidence[finding.confidence as usize] += 1;
        }
        Self {
            affected_connections: is_affected.into(),
            stalls: verdict.stalls.into(),
            stalled_ns: verdict.stalled_ns,
            exchanges: verdict.exchanges.into(),
            affected_exchanges: u64::from(is_affected) * u64::from(verdict.exchanges),
            affected_latency_ns: i64::from(is_affected) * verdict.latency_ns,
            affected_stalled_ns: i64::from(is_affected) * verdict.exchanges_stalled_ns,
            stalls_by_confidence,
            conclusive: verdict.is_conclusive().into(),
            one_sided: verdict.is_one_sided().into(),
            blurred: is_blurred(verdict, findings).into(),
            without_handshake: (!verdict.handshake && has_data).into(),
        }
    }

    pub fn outcome(&self) -> Outcome {
        match (self.stalls, self.conclusive) {
            (1.., _) => Outcome::Stalls,
            (0, 1..) => Outcome::Clean,
            (0, 0) => Outcome::Inconclusive,
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

/// May jitter hide holds in a connection? Its small segments follow late ACKs by about a round trip,
/// but not as evenly as a kernel answers on a steady path.
fn is_blurred(verdict: &Verdict, findings: &[Finding]) -> bool {
    /// Fewer are chance.
    const LEAST: usize = 3;
    /// On shorter paths a program's own pauses look like that too.
    const SHORTEST_RTT_NS: i64 = 4_000_000;
    let hides = |side: Side| {
        let end = verdict.end(side);
        let rtt_ns = end.detail().lock.center_ns;
        let late = |finding: &&Finding| {
            let wait = &finding.wait;
            let small = wait.has_pure_ack() && wait.is(fact::SMALL) && !wait.is(fact::LONGEST);
            let late = verdict.ack_delay_ns(wait) >= SHORTEST_DELAYED_ACK_NS;
            small && wait.by == side && late
        };
        let waits = || findings.iter().filter(late).map(|finding| &finding.wait);
        let about = (rtt_ns / 2)..=(rtt_ns * 2);
        let near = waits().filter(|wait| about.contains(&wait.release_ns())).count();
        let open = end.nagle == Nagle::Unknown && rtt_ns >= SHORTEST_RTT_NS;
        open && near >= LEAST && 2 * near > waits().count()
    };
    verdict.stalls == 0 && Side::BOTH.into_iter().any(hides)
}
