//! Stalls in groups: the sentences of the verdict.

use crate::judge::causes::Cause;
use crate::judge::confidence::Confidence;
use crate::judge::findings::{Finding, Findings};
use crate::judge::judged::JudgedConnection;
use crate::judge::nodelay::Nagle;
use crate::judge::timers::Timer;
use crate::result::pieces::{PieceCounter, Pieces};
use crate::result::scan::Scan;
use crate::track::Side;
use crate::track::wait::fact;
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::net::IpAddr;

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
    /// Shown to be on, or later off, in all these connections; else unknown.
    pub nagle: Nagle,
    pub ack_delays: Option<Timer>,
    pub pieces: Pieces,
}

type Parties = (Cause, bool, IpAddr, IpAddr, u16);

/// All stalls, grouped, the costliest first.
pub fn groups(scan: &Scan) -> Vec<Group> {
    let mut members: HashMap<Parties, Members, RandomState> = HashMap::default();
    for index in scan.affected() {
        let (judged, findings) = (&scan.connections[index], scan.findings_of(index));
        // A connection's stalls are mostly alike: look their group up once for a run of them.
        for run in findings.runs(|row| (row.cause, row.wait.by)) {
            let Some(first) = run.stalls().next() else { continue };
            members
                .entry(parties(judged, first))
                .or_insert_with(|| Members::new(judged, first))
                .add(judged, run);
        }
    }
    let mut groups: Vec<Group> = members.into_values().map(Members::group).collect();
    groups.sort_by_key(|group| {
        let parties = (group.sender_addr, group.receiver_addr, group.server_port);
        (-group.stalled_ns, parties, group.sender as u8, group.cause as u8)
    });
    groups
}

fn parties(judged: &JudgedConnection, finding: Finding<'_>) -> Parties {
    let sender = finding.wait.by;
    (
        finding.cause,
        sender == Side::Server,
        judged.half(sender).endpoint.addr,
        judged.half(sender.other()).endpoint.addr,
        judged.half(Side::Server).endpoint.port,
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
    fn new(judged: &JudgedConnection, first: Finding<'_>) -> Self {
        let sender = first.wait.by;
        let group = Group {
            cause: first.cause,
            sender,
            sender_addr: judged.half(sender).endpoint.addr,
            receiver_addr: judged.half(sender.other()).endpoint.addr,
            server_port: judged.half(Side::Server).endpoint.port,
            stalls: 0,
            connections: 0,
            stalled_ns: 0,
            confidence: Confidence::Possible,
            nagle: judged.half(sender).nagle,
            ack_delays: None,
            exchanges: 0,
            pieces: Pieces::default(),
        };
        Self {
            group,
            last_connection: None,
            ack_delays_ns: Vec::new(),
            pieces: PieceCounter::new(judged, sender),
        }
    }

    fn add(&mut self, judged: &JudgedConnection, stalls: Findings<'_>) {
        let group = &mut self.group;
        group.stalls += stalls.len() as u64;
        group.connections += u64::from(self.last_connection != Some(judged.id));
        if self.last_connection != Some(judged.id) {
            group.exchanges += u64::from(judged.exchanges);
        }
        self.last_connection = Some(judged.id);
        if judged.half(group.sender).nagle != group.nagle {
            group.nagle = Nagle::Unknown;
        }
        for stall in stalls.iter() {
            group.stalled_ns += stall.wait.wait_ns();
            group.confidence = group.confidence.max(stall.confidence());
            // A retransmission cuts the delay short.
            if !stall.wait.is(fact::RESENT) {
                self.ack_delays_ns.push(judged.ack_delay_ns(stall.wait));
            }
            self.pieces.add(stall.wait);
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
