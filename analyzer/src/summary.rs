//! A scan in a few rows: what the terminal report says.

use crate::capture::End as CaptureEnd;
use crate::causes::Cause;
use crate::decode::Skip;
use crate::flow::{SHORTEST_DELAYED_ACK_NS, Side};
use crate::hold::is_freed;
use crate::judge::{Confidence, Finding, Nagle, Verdict};
use crate::pieces::{PieceCounter, Pieces};
use crate::reader::CaptureSummary;
use crate::scan::Scan;
use crate::timers::Timer;
use crate::variant::Variant;
use crate::wait::fact;
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use serde::Serialize;
use std::net::IpAddr;

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

/// Totals of a scan.
#[derive(Debug, Clone)]
pub struct Summary {
    pub connections: u64,
    pub tcp_packets: u64,
    pub affected_connections: u64,
    pub stalls: u64,
    pub stalled_ns: i64,
    pub outcome: Outcome,
    pub exchanges: u64,
    /// Exchanges of the affected connections, the sum of their latencies, and what stalls took of it.
    pub affected_exchanges: u64,
    pub affected_latency_ns: i64,
    pub affected_stalled_ns: i64,
    /// By [`Confidence`].
    pub stalls_by_confidence: [u64; 3],
    /// Connections of which only one direction was captured.
    pub one_sided: u64,
    /// Connections without a stall where round trips vary so much that holds may be hidden.
    pub blurred: u64,
    /// Connections with data whose handshake was not captured.
    pub without_handshake: u64,
    pub unlisted_waits: u64,
    pub unlisted_wait_ns: i64,
}

impl Summary {
    pub fn of(scan: &Scan) -> Self {
        let mut summary = Self {
            connections: scan.verdicts.len() as u64,
            tcp_packets: scan.captures.iter().map(|capture| capture.tcp_packets).sum(),
            affected_connections: 0,
            stalls: 0,
            stalled_ns: 0,
            outcome: Outcome::Inconclusive,
            exchanges: 0,
            affected_exchanges: 0,
            affected_latency_ns: 0,
            affected_stalled_ns: 0,
            stalls_by_confidence: by_confidence(scan),
            one_sided: 0,
            blurred: (0..scan.verdicts.len()).filter(|&index| is_blurred(scan, index)).count()
                as u64,
            without_handshake: 0,
            unlisted_waits: scan.unlisted_waits,
            unlisted_wait_ns: scan.unlisted_wait_ns,
        };
        scan.verdicts.iter().for_each(|verdict| summary.add(verdict));
        if summary.stalls > 0 {
            summary.outcome = Outcome::Stalls;
        }
        summary
    }

    fn add(&mut self, verdict: &Verdict) {
        let has_data = verdict.ends.iter().any(|end| end.bytes > 0);
        self.affected_connections += u64::from(verdict.stalls > 0);
        self.stalls += u64::from(verdict.stalls);
        self.stalled_ns += verdict.stalled_ns;
        if verdict.stalls > 0 {
            self.affected_exchanges += u64::from(verdict.exchanges);
            self.affected_latency_ns = self.affected_latency_ns.saturating_add(verdict.latency_ns);
            self.affected_stalled_ns += verdict.exchanges_stalled_ns;
        }
        self.exchanges += u64::from(verdict.exchanges);
        self.one_sided += u64::from(verdict.is_one_sided());
        self.without_handshake += u64::from(!verdict.handshake && has_data);
        if verdict.is_conclusive() {
            self.outcome = Outcome::Clean;
        }
    }
}

/// May jitter hide holds in the connection with this index? Its small segments follow late ACKs
/// by about a round trip, but not as evenly as a kernel answers on a steady path.
fn is_blurred(scan: &Scan, index: usize) -> bool {
    /// Fewer are chance.
    const LEAST: usize = 3;
    /// On shorter paths a program's own pauses look like that too.
    const SHORTEST_RTT_NS: i64 = 4_000_000;
    let verdict = &scan.verdicts[index];
    let hides = |side: Side| {
        let end = verdict.end(side);
        let rtt_ns = end.lock.center_ns;
        let late = |finding: &&Finding| {
            let small = is_freed(&finding.wait) && finding.wait.is(fact::SMALL);
            small && finding.wait.by == side && finding.ack_delay_ns >= SHORTEST_DELAYED_ACK_NS
        };
        let waits = || scan.findings_of(index).iter().filter(late).map(|finding| &finding.wait);
        let about = (rtt_ns / 2)..=(rtt_ns * 2);
        let near = waits().filter(|wait| about.contains(&wait.release_ns())).count();
        let open = end.nagle == Nagle::Unknown && rtt_ns >= SHORTEST_RTT_NS;
        open && near >= LEAST && 2 * near > waits().count()
    };
    verdict.stalls == 0 && Side::BOTH.into_iter().any(hides)
}

fn by_confidence(scan: &Scan) -> [u64; 3] {
    let mut counts = [0; 3];
    for finding in scan.findings.iter().filter(|finding| finding.cause.is_stall()) {
        counts[finding.confidence as usize] += 1;
    }
    counts
}

/// Stalls of one kind between the same two parties: one sentence of the verdict.
#[derive(Debug, Clone)]
pub struct Group {
    pub cause: Cause,
    pub sender: Side,
    pub sender_addr: IpAddr,
    pub receiver_addr: IpAddr,
    pub server_port: u16,
    pub stalls: u64,
    pub connections: u64,
    /// All exchanges of these connections, stalled or not.
    pub exchanges: u64,
    pub stalled_ns: i64,
    /// Best confidence among them.
    pub confidence: Confidence,
    /// Is Nagle's algorithm shown to be on in all these connections?
    pub nagle: Nagle,
    pub ack_delays: Option<Timer>,
    pub pieces: Pieces,
}

type Parties = (Cause, bool, IpAddr, IpAddr, u16);

/// All stalls, grouped, the costliest first.
pub fn groups(scan: &Scan) -> Vec<Group> {
    let mut members: HashMap<Parties, Members, RandomState> = HashMap::default();
    for (index, verdict) in scan.verdicts.iter().enumerate().filter(|(_, row)| row.stalls > 0) {
        let findings = scan.findings_of(index);
        // A connection's stalls are mostly alike: look their group up once for a run of them.
        let alike = |a: &Finding, b: &Finding| a.cause == b.cause && a.wait.by == b.wait.by;
        for run in findings.chunk_by(alike).filter(|run| run[0].cause.is_stall()) {
            members
                .entry(parties(verdict, &run[0]))
                .or_insert_with(|| Members::new(verdict, &run[0]))
                .add(verdict, run);
        }
    }
    let mut groups: Vec<Group> = members.into_values().map(Members::group).collect();
    groups.sort_by_key(|group| {
        let parties = (group.sender_addr, group.receiver_addr, group.server_port);
        (-group.stalled_ns, parties, group.sender as u8, group.cause as u8)
    });
    groups
}

fn parties(verdict: &Verdict, finding: &Finding) -> Parties {
    let sender = finding.wait.by;
    (
        finding.cause,
        sender == Side::Server,
        verdict.end(sender).endpoint.addr,
        verdict.end(sender.other()).endpoint.addr,
        verdict.end(Side::Server).endpoint.port,
    )
}

/// A group while its stalls come in.
struct Members {
    group: Group,
    last_connection: Option<u32>,
    ack_delays_ns: Vec<i64>,
    pieces: PieceCounter,
}

impl Members {
    fn new(verdict: &Verdict, first: &Finding) -> Self {
        let sender = first.wait.by;
        let group = Group {
            cause: first.cause,
            sender,
            sender_addr: verdict.end(sender).endpoint.addr,
            receiver_addr: verdict.end(sender.other()).endpoint.addr,
            server_port: verdict.end(Side::Server).endpoint.port,
            stalls: 0,
            connections: 0,
            stalled_ns: 0,
            confidence: Confidence::Possible,
            nagle: Nagle::On,
            ack_delays: None,
            exchanges: 0,
            pieces: Pieces::default(),
        };
        Self {
            group,
            last_connection: None,
            ack_delays_ns: Vec::new(),
            pieces: PieceCounter::new(verdict, sender),
        }
    }

    fn add(&mut self, verdict: &Verdict, stalls: &[Finding]) {
        let group = &mut self.group;
        group.stalls += stalls.len() as u64;
        group.connections += u64::from(self.last_connection != Some(verdict.id));
        if self.last_connection != Some(verdict.id) {
            group.exchanges += u64::from(verdict.exchanges);
        }
        self.last_connection = Some(verdict.id);
        if verdict.end(group.sender).nagle != Nagle::On {
            group.nagle = Nagle::Unknown;
        }
        for stall in stalls {
            group.stalled_ns += stall.wait.wait_ns();
            group.confidence = group.confidence.max(stall.confidence);
            self.ack_delays_ns.push(stall.ack_delay_ns);
            self.pieces.add(&stall.wait);
        }
    }

    fn group(mut self) -> Group {
        Group {
            ack_delays: Timer::of(&mut self.ack_delays_ns),
            pieces: self.pieces.total(),
            ..self.group
        }
    }
}

/// What the wire shows of Nagle's algorithm for the sockets of one party: a server's, or those of a
/// client host to one server port. Counts are connections with data from that side.
#[derive(Debug, Clone, Default)]
pub struct NagleCount {
    pub on: u64,
    pub off: u64,
    pub unknown: u64,
    /// One connection and two frames that prove `on`, and `off`.
    pub on_proof: Option<(u32, u64, u64)>,
    pub off_proof: Option<(u32, u64, u64)>,
    /// Which of Nagle's algorithms one of these connections shows, with its proof.
    pub variant: Option<(Variant, u32, u64, u64)>,
}

/// The parties that sent data, the one with most connections first.
pub fn nagle_counts(scan: &Scan, limit: usize) -> Vec<((Side, IpAddr, u16), NagleCount)> {
    let mut counts: HashMap<(bool, IpAddr, u16), NagleCount, RandomState> = HashMap::default();
    for verdict in &scan.verdicts {
        for side in Side::BOTH.into_iter().filter(|side| verdict.end(*side).bytes > 0) {
            let server_port = verdict.end(Side::Server).endpoint.port;
            let addr = verdict.end(side).endpoint.addr;
            counts.entry((side == Side::Client, addr, server_port)).or_default().add(verdict, side);
        }
    }
    let mut counts: Vec<_> = counts
        .into_iter()
        .map(|((client, addr, port), count)| {
            ((if client { Side::Client } else { Side::Server }, addr, port), count)
        })
        .collect();
    counts.sort_by_key(|((side, addr, port), count)| {
        let known = count.on + count.off > 0;
        let connections = count.on + count.off + count.unknown;
        (!known, std::cmp::Reverse(connections), *side as u8, *port, *addr)
    });
    counts.truncate(limit);
    counts
}

impl NagleCount {
    fn add(&mut self, verdict: &Verdict, side: Side) {
        let end = verdict.end(side);
        let proof = (verdict.id, end.proof.0, end.proof.1);
        match end.nagle {
            Nagle::On => {
                self.on += 1;
                self.on_proof.get_or_insert(proof);
                if end.variant != Variant::Unknown {
                    let (full, small) = end.variant_proof;
                    self.variant.get_or_insert((end.variant, verdict.id, full, small));
                }
            }
            Nagle::Off => {
                self.off += 1;
                self.off_proof.get_or_insert(proof);
            }
            Nagle::Unknown => self.unknown += 1,
        }
    }
}

/// Indices of the affected connections, the worst first, at most `limit`.
pub fn affected(scan: &Scan, limit: usize) -> Vec<usize> {
    let mut affected: Vec<usize> =
        (0..scan.verdicts.len()).filter(|&index| scan.verdicts[index].stalls > 0).collect();
    affected.sort_by_key(|&index| (-scan.verdicts[index].stalled_ns, index));
    affected.truncate(limit);
    affected
}

/// The stall to show: of the cause and the side that cost most, the surest, and among those the
/// one released closest to its ACK.
pub fn clearest(scan: &Scan) -> Option<(&Verdict, &Finding)> {
    let main = costliest(&scan.findings);
    let all = scan.verdicts.iter().enumerate().flat_map(|(index, verdict)| {
        scan.findings_of(index).iter().map(move |finding| (verdict, finding))
    });
    all.filter(|(_, finding)| finding.cause.is_stall())
        .min_by_key(|(verdict, finding)| (kind(finding) != main, clearness(verdict, finding)))
}

/// The stalls of one connection, those of the costliest cause and side first, then the clearest.
pub fn clearest_of(scan: &Scan, connection: usize, limit: usize) -> Vec<&Finding> {
    let verdict = &scan.verdicts[connection];
    let findings = scan.findings_of(connection).iter();
    let mut stalls: Vec<_> = findings.filter(|finding| finding.cause.is_stall()).collect();
    let main = costliest(scan.findings_of(connection));
    stalls.sort_by_key(|finding| (kind(finding) != main, clearness(verdict, finding)));
    stalls.truncate(limit);
    stalls
}

type Kind = (Cause, Side);

fn kind(finding: &Finding) -> Kind {
    (finding.cause, finding.wait.by)
}

/// The kind of stall that costs most; of two, that which a headline names first.
fn costliest(findings: &[Finding]) -> Kind {
    const KINDS: [Kind; 4] = [
        (Cause::NagleDelack, Side::Client),
        (Cause::NagleDelack, Side::Server),
        (Cause::NagleRtt, Side::Client),
        (Cause::NagleRtt, Side::Server),
    ];
    let mut lost_ns = [0_i64; KINDS.len()];
    for finding in findings.iter().filter(|finding| finding.cause.is_stall()) {
        let index = 2 * usize::from(finding.cause == Cause::NagleRtt) + finding.wait.by as usize;
        lost_ns[index] = lost_ns[index].saturating_add(finding.wait.wait_ns());
    }
    let most = (0..KINDS.len()).min_by_key(|&index| -lost_ns[index]).unwrap_or(0);
    KINDS[most]
}

fn clearness(verdict: &Verdict, finding: &Finding) -> (std::cmp::Reverse<Confidence>, i64, u64) {
    let lock = &verdict.end(finding.wait.by).lock;
    let off_ns = (finding.wait.release_ns() - lock.center_ns).abs();
    (std::cmp::Reverse(finding.confidence), off_ns, finding.wait.to.frame)
}

/// Waits of one cause and side: how many, how long in all, and the longest; in ns.
#[derive(Debug, Clone, Copy)]
pub struct CauseTotal {
    pub cause: Cause,
    pub by: Side,
    pub waits: u64,
    pub total_ns: i64,
    pub longest_ns: i64,
}

/// All listed waits by cause and by who ended them, in the order of the causes.
pub fn causes(scan: &Scan) -> Vec<CauseTotal> {
    let mut totals: Vec<CauseTotal> = Vec::new();
    for finding in &scan.findings {
        let (cause, by, wait_ns) = (finding.cause, finding.wait.by, finding.wait.wait_ns());
        let known = totals.iter_mut().find(|total| (total.cause, total.by) == (cause, by));
        match known {
            Some(total) => {
                total.waits += 1;
                total.total_ns = total.total_ns.saturating_add(wait_ns);
                total.longest_ns = total.longest_ns.max(wait_ns);
            }
            None => totals.push(CauseTotal {
                cause,
                by,
                waits: 1,
                total_ns: wait_ns,
                longest_ns: wait_ns,
            }),
        }
    }
    totals.sort_by_key(|total| (total.cause as u8, total.by as u8));
    totals
}

/// The longest waits that are no stalls: servers' first, since an idle client is no problem.
pub fn longest_waits(scan: &Scan, limit: usize) -> Vec<(&Verdict, &Finding)> {
    let mut waits: Vec<_> = scan
        .verdicts
        .iter()
        .enumerate()
        .flat_map(|(index, verdict)| {
            scan.findings_of(index).iter().map(move |finding| (verdict, finding))
        })
        .filter(|(_, finding)| !finding.cause.is_stall())
        .collect();
    let order = |(_, finding): &(&Verdict, &Finding)| {
        let idle_client = finding.wait.by == Side::Client && finding.cause == Cause::SenderApp;
        (idle_client, -finding.wait.wait_ns(), finding.wait.to.frame, finding.wait.by as u8)
    };
    if limit < waits.len() {
        waits.select_nth_unstable_by_key(limit, order);
        waits.truncate(limit);
    }
    waits.sort_by_key(order);
    waits
}

impl CaptureSummary {
    pub fn is_complete(&self) -> bool {
        self.end == CaptureEnd::Complete
    }
}

/// What a reader of the report must know of a capture: how it ended, and the frames not used.
pub fn warnings(capture: &CaptureSummary) -> Vec<String> {
    let read = capture.packets;
    let mut warnings = match &capture.end {
        CaptureEnd::Complete if read == 0 => vec!["the capture holds no packets".to_owned()],
        CaptureEnd::Complete => Vec::new(),
        CaptureEnd::Cut => vec![format!(
            "the capture is cut off in the middle of a record after frame {read}; everything before it was analysed"
        )],
        CaptureEnd::Damaged(what) => vec![format!(
            "the capture is damaged after frame {read}: {what}; everything before it was analysed"
        )],
        CaptureEnd::Failed(error) => vec![format!(
            "reading failed after frame {read}: {error}; everything before it was analysed"
        )],
        CaptureEnd::Stopped(stopped) => {
            let packets = capture.first_frame - 1 + read;
            vec![format!(
                "interrupted after {packets} packets, {stopped}; the rest was not analysed"
            )]
        }
    };
    let skipped = Skip::ALL.iter().filter(|skip| capture.skipped[**skip as usize] > 0);
    warnings.extend(skipped.map(|skip| {
        format!("{} of {read} frames not used: {}", capture.skipped[*skip as usize], skip.reason())
    }));
    warnings
}
