//! The exchanges of each server, as they were and as they would have been without the stalls.

use crate::judge::finding::judged::JudgedConnection;
use crate::judge::finding::verdict::Verdict;
use crate::judge::findings::Findings;
use crate::judge::nagle::nodelay::NagleTotals;
use crate::result::connections::JudgedConnections;
use crate::result::sums::{Sum, sums};
use crate::track::exchange::exchanged::{ServerLatency, Suspect};
use crate::track::exchange::latency::Latency;
use crate::track::wait::{Wait, fact};
use crate::track::{Endpoint, Exchange, Side};

/// The exchanges of one server, as they were and as they would have been without the stalls.
#[derive(Debug, Clone)]
pub struct ServerExchanges {
    pub server: Endpoint,
    pub totals: ServerTotals,
    /// Cost of the stalls that count.
    pub counted: ServerStalls,
    /// Latency of all its exchanges, those of copies too.
    pub latency: Latency,
    /// `None` where no stall counts.
    pub predicted: Option<Latency>,
}

/// The exchanges of one server, judged.
#[derive(Default)]
pub struct ServerJudged {
    totals: ServerTotals,
    /// By the verdict on their connections, stalls or possible. Boxed: few servers have stalls.
    moved: [Option<Box<Moved>>; 2],
}

/// Latencies of one server's exchanges with stalls, and what they would have been without.
#[derive(Default)]
struct Moved {
    from: Latency,
    to: Latency,
}

impl ServerJudged {
    /// Adds a connection with its findings; its exchanges that may have a stall are `suspects`, in
    /// the order of time, and the server has the exchanges of as many `copies` of it.
    ///
    /// What stalls took of the connection's exchanges is known here: nothing, without a reply.
    pub fn add(
        &mut self,
        judged: &mut JudgedConnection,
        suspects: &[Suspect],
        findings: Findings<'_>,
        copies: u8,
    ) {
        let round_trip_ns = judged.half(Side::Server).rtt_ns().unwrap_or(0);
        let at = usize::from(!judged.surely_stalls);
        let mut stalled_exchanges = 0;
        for (latency_ns, rest_ns) in
            rests_of(suspects, findings, judged.surely_stalls, round_trip_ns)
        {
            let moved = self.moved[at].get_or_insert_default();
            // The latencies of its copies are among those of the server.
            for _ in 0..=copies {
                moved.from.record(latency_ns as u64);
                moved.to.record(rest_ns as u64);
            }
            judged.exchanges_stalled_ns += latency_ns - rest_ns;
            stalled_exchanges += 1;
        }
        self.totals.add(judged, stalled_exchanges);
    }
}

impl Sum for ServerJudged {
    fn add_up(&mut self, more: Self) {
        self.totals.add_up(more.totals);
        for (moved, more) in self.moved.iter_mut().zip(more.moved) {
            let Some(more) = more else { continue };
            let moved = moved.get_or_insert_default();
            moved.from.add(&more.from);
            moved.to.add(&more.to);
        }
    }
}

/// The latencies of the exchanges with a stall, and what is left of them without their stalls, in
/// ns: at least one round trip. Possible stalls count only where none is surer.
fn rests_of(
    suspects: &[Suspect],
    mut findings: Findings<'_>,
    surely: bool,
    round_trip_ns: i64,
) -> impl Iterator<Item = (i64, i64)> {
    suspects.iter().filter_map(move |suspect| {
        findings = findings.skip_past(|wait| wait.to.frame < suspect.begin_frame);
        let (begin, end) = (suspect.begin_frame, suspect.end_frame);
        let (stalls, stalled_ns) = stalls_from(findings, begin, end, surely);
        let latency_ns = suspect.latency_ns;
        let rest_ns = (latency_ns - stalled_ns).max(round_trip_ns).min(latency_ns);
        (stalls > 0).then_some((latency_ns, rest_ns))
    })
}

/// The exchanges of each server, as they were and as they would have been, less those with
/// connections that are all copies of others. `possible`: stalls count that are only possible.
pub fn without_stalls(
    servers: Vec<ServerLatency>,
    judged: Vec<ServerJudged>,
    possible: bool,
) -> Vec<ServerExchanges> {
    let each = servers.into_iter().zip(judged);
    let each = each.filter(|(_, judged)| judged.totals.connections > 0);
    each.map(|(server, judged)| ServerExchanges::new(server, judged, possible)).collect()
}

impl ServerExchanges {
    /// Adds those of connections of the same server that another capture holds.
    pub fn add_up(&mut self, more: Self) {
        let predicted = match (&self.predicted, &more.predicted) {
            (None, None) => None,
            (own, their) => {
                let mut all = own.clone().unwrap_or_else(|| self.latency.clone());
                all.add(their.as_ref().unwrap_or(&more.latency));
                Some(all)
            }
        };
        self.totals.add_up(more.totals);
        self.counted.add_up(more.counted);
        self.latency.add(&more.latency);
        self.predicted = predicted;
    }

    fn new(server: ServerLatency, judged: ServerJudged, possible: bool) -> Self {
        let ServerLatency { server, latency } = server;
        let ServerJudged { totals, moved } = judged;
        let counted = totals.counted[usize::from(possible)];
        let moved = moved.into_iter().nth(usize::from(possible)).flatten();
        let predicted = moved.map(|moved| latency.moved(&moved.from, &moved.to));
        Self { server, totals, counted, latency, predicted }
    }
}

sums! {
    /// Cost of stalls to the exchanges of a server's connections: how many connections, how many
    /// exchanges, and how much of their latency.
    #[derive(Copy)]
    pub struct ServerStalls {
        pub connections: u64,
        pub exchanges: u64,
        pub latency_ns: i64,
    }
}

sums! {
    /// Sums over the connections of one server with exchanges, without copies.
    pub struct ServerTotals {
        pub connections: u64,
        pub exchanges: u64,
        pub stalls: u64,
        pub stalled_ns: i64,
        pub latency_ns: i64,
        /// Cost of its stalls, by the verdict on their connections, stalls or possible.
        counted: [ServerStalls; 2],
        pub client_nagle: NagleTotals,
        pub server_nagle: NagleTotals,
        /// How many connections have each [`Verdict`].
        verdicts: [u64; Verdict::NAMES.len()],
    }
}

impl ServerTotals {
    /// The verdict by the rule for a whole scan: a server is clean if most connections are.
    pub fn verdict(&self) -> Verdict {
        match self.verdicts {
            [0, 0, clean, inconclusive] if clean > inconclusive => Verdict::Clean,
            [0, 0, ..] => Verdict::Inconclusive,
            [0, ..] => Verdict::Possible,
            _ => Verdict::Stalls,
        }
    }

    fn add(&mut self, judged: &JudgedConnection, stalled_exchanges: u64) {
        if judged.is_copy() {
            return;
        }
        self.connections += 1;
        self.exchanges += u64::from(judged.exchanges);
        self.latency_ns = self.latency_ns.saturating_add(judged.latency_ns);
        self.client_nagle.add(judged.half(Side::Client).nagle);
        self.server_nagle.add(judged.half(Side::Server).nagle);
        self.verdicts[judged.verdict() as usize] += 1;
        if judged.stalls > 0 {
            self.stalls += u64::from(judged.stalls);
            self.stalled_ns = self.stalled_ns.saturating_add(judged.stalled_ns);
            self.counted[usize::from(!judged.surely_stalls)].add_up(ServerStalls {
                connections: 1,
                exchanges: stalled_exchanges,
                latency_ns: judged.exchanges_stalled_ns,
            });
        }
    }
}

/// How many findings of its connection, which come in the order of time, end before each exchange.
pub fn first_findings(connections: &JudgedConnections, exchanges: &[Exchange]) -> Vec<u32> {
    // How many findings of each connection lie before its next exchange. To search for the first
    // one instead takes three times as long: they lie apart in memory.
    let mut past = vec![0; connections.len()];
    let first = |row: &Exchange| {
        let Some(index) = connections.index_of(row.connection) else { return 0 };
        let findings = connections.findings_of(index);
        let rest = findings.slice(past[index]..findings.len());
        let rest = rest.skip_past(|wait| wait.to.frame < row.begin.frame);
        past[index] = findings.len() - rest.len();
        past[index] as u32
    };
    exchanges.iter().map(first).collect()
}

/// Number and total wait of the stalls with their held segment within an exchange from frame
/// `begin` to frame `end`, of those that are likely or better if only `sure` ones count; the first
/// of `findings` does not end before it.
pub fn stalls_from(findings: Findings<'_>, begin: u32, end: u32, sure: bool) -> (u64, i64) {
    findings
        .iter()
        .take_while(|row| row.wait.to.frame <= end)
        .filter(|row| row.is_stall() && (row.is_sure() || !sure) && is_within(row.wait, begin))
        .fold((0, 0), |(count, sum), row| (count + 1, row.lost_ns().saturating_add(sum)))
}

/// Did it begin in the exchange of frame `begin`, or its sender's turn?
fn is_within(wait: &Wait, begin: u32) -> bool {
    let is_turn = wait.since_ns() > wait.from.time_ns;
    let turn = is_turn && wait.is(fact::IN_EXCHANGE) && wait.to.frame > begin;
    turn || wait.from.frame >= begin
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::causes::Cause;
    use crate::judge::findings::Ruling;
    use crate::judge::model::Held;
    use crate::track::Mark;

    const MS: i64 = 1_000_000;

    fn at(ms: i64) -> Mark {
        Mark { time_ns: ms * MS, frame: ms as u32 }
    }

    fn hold(from_ms: i64, to_ms: i64) -> Wait {
        let wait = Wait::between(0, Side::Client, at(from_ms), at(to_ms));
        Wait { facts: fact::IN_EXCHANGE, ..wait }
    }

    /// An exchange of 50 ms with a hold of 40 ms, after one in a message that nothing answered.
    #[test]
    fn no_exchange_gets_faster_than_its_round_trip() {
        let exchange = Exchange::between(0, at(100), at(150));
        let ruling = Ruling::of(Cause::NagleDelack, Held::NOT);
        let (waits, rulings) = ([hold(50, 90), hold(105, 145)], [ruling; 2]);
        let rests = |round_trip_ms: i64| {
            let findings = Findings::new(&waits, &rulings);
            let suspects = [Suspect::new(&exchange)];
            rests_of(&suspects, findings, false, round_trip_ms * MS).collect::<Vec<(i64, i64)>>()
        };
        assert_eq!(rests(1), [(50 * MS, 10 * MS)]);
        assert_eq!(rests(18), [(50 * MS, 18 * MS)]);
        assert_eq!(rests(60), [(50 * MS, 50 * MS)]);
    }
}
