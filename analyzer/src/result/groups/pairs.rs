//! Stalls of one kind between the same two hosts.

use super::pieces::{PieceCounter, Pieces};
use super::sums::StallSums;
use crate::cores;
use crate::judge::causes::Cause;
use crate::judge::finding::judged::JudgedConnection;
use crate::judge::findings::Finding;
use crate::judge::nagle::nodelay::Nagle;
use crate::judge::nagle::timers::Timer;
use crate::result::scan::Scan;
use crate::track::wait::fact;
use crate::track::{Endpoint, Side};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::net::IpAddr;

/// Pieces of work: many more than threads, for hosts differ.
const PIECES: usize = 64;

/// Stalls of one cause that one of two hosts held, on connections to one port.
#[derive(Debug, Clone)]
pub struct HostPair {
    pub cause: Cause,
    pub sender: Side,
    pub sender_addr: IpAddr,
    pub receiver_addr: IpAddr,
    pub server_port: u16,
    pub sums: StallSums,
    pub connections: u64,
    /// All exchanges of these connections, stalled or not.
    pub exchanges: u64,
    /// Shown to be on, or later off, in all these connections; else unknown.
    pub nagle: Nagle,
    /// Frames that prove it, on the first of them.
    pub nagle_proof: (u32, u32),
    /// How late the ACKs of the stalls that count were, if the receiver's round trip is known.
    pub ack_delays: Option<Timer>,
    /// How long after the data they came, where none was.
    pub ack_after: Option<Timer>,
    pub pieces: Pieces,
}

impl HostPair {
    pub fn server_addr(&self) -> IpAddr {
        match self.sender {
            Side::Server => self.sender_addr,
            Side::Client => self.receiver_addr,
        }
    }

    /// Does the receiver acknowledge at once while a connection is young?
    pub fn has_quick_acks(&self) -> bool {
        self.timer().is_some_and(|timer| timer.has_quick_acks())
    }

    /// The stack that delays ACKs like this; empty if none is known to.
    pub fn consistent_with(&self) -> &'static str {
        self.timer().map_or("", |timer| timer.consistent_with())
    }

    fn timer(&self) -> Option<Timer> {
        self.ack_delays.filter(|_| self.cause == Cause::NagleDelack)
    }
}

/// The connections of one client's host to one server.
type OfHosts = HashMap<(IpAddr, Endpoint), Vec<usize>, RandomState>;

/// All stalls by pair, those that lose most first by the stalls that count.
pub fn pairs(scan: &Scan) -> Vec<HostPair> {
    let mut hosts = OfHosts::default();
    for index in scan.affected() {
        let [client, server] = scan.connections[index].halves.each_ref().map(|half| half.endpoint);
        hosts.entry((client.addr, server)).or_default().push(index);
    }
    let hosts: Vec<Vec<usize>> = hosts.into_values().collect();
    let pairs = cores::of_pieces(scan.threads, &hosts, hosts.len().div_ceil(PIECES), |hosts| {
        hosts.iter().flat_map(|connections| of_hosts(scan, connections)).collect::<Vec<HostPair>>()
    });
    let mut pairs: Vec<HostPair> = pairs.into_iter().flatten().collect();
    pairs.sort_by_key(|pair| {
        let parties = (pair.sender_addr, pair.receiver_addr, pair.server_port);
        (pair.sums.by_confidence.order(), parties, pair.sender as u8, pair.cause as u8)
    });
    pairs
}

/// Holds of two hosts on their `connections`: of each cause, either host's.
pub fn of_hosts(scan: &Scan, connections: &[usize]) -> impl Iterator<Item = HostPair> {
    let sides = Cause::STALLS.map(|cause| Side::BOTH.map(|by| (cause, by)));
    let mut kinds = sides.as_flattened().iter().map(|&kind| (kind, None)).collect::<Vec<_>>();
    for &index in connections {
        let (judged, findings) = (&scan.connections[index], scan.findings_of(index));
        for (kind, sums) in &mut kinds {
            let stalls = findings.stalls().filter(|stall| (stall.cause, stall.wait.by) == *kind);
            if let Some(first) = stalls.clone().next() {
                sums.get_or_insert_with(|| PairSums::new(judged, first)).add(judged, stalls);
            }
        }
    }
    kinds.into_iter().filter_map(|(_, sums)| sums.map(PairSums::pair))
}

/// A pair while its stalls come in.
struct PairSums {
    pair: HostPair,
    /// Delays of possible stalls, then of others; with an unknown round trip, and a measured one.
    ack_delays_ns: [[Vec<i64>; 2]; 2],
    pieces: PieceCounter,
}

impl PairSums {
    fn new(judged: &JudgedConnection, first: Finding<'_>) -> Self {
        let sender = first.wait.by;
        let pair = HostPair {
            cause: first.cause,
            sender,
            sender_addr: judged.half(sender).endpoint.addr,
            receiver_addr: judged.half(sender.other()).endpoint.addr,
            server_port: judged.half(Side::Server).endpoint.port,
            sums: StallSums::default(),
            connections: 0,
            nagle: judged.half(sender).nagle,
            nagle_proof: judged.half(sender).proof,
            ack_delays: None,
            ack_after: None,
            exchanges: 0,
            pieces: Pieces::default(),
        };
        Self { pair, ack_delays_ns: Default::default(), pieces: PieceCounter::new(judged) }
    }

    /// Adds all its `stalls` on a connection.
    fn add<'a>(&mut self, judged: &JudgedConnection, stalls: impl Iterator<Item = Finding<'a>>) {
        let pair = &mut self.pair;
        pair.connections += 1;
        pair.exchanges += u64::from(judged.exchanges);
        let is_measured = judged.half(pair.sender.other()).rtt_ns().is_some();
        if judged.half(pair.sender).nagle != pair.nagle {
            pair.nagle = Nagle::Unknown;
        }
        for stall in stalls {
            pair.sums.add(judged, &stall);
            // A retransmission cuts the delay short.
            if !stall.wait.is(fact::RESENT) {
                let delays_ns = &mut self.ack_delays_ns[usize::from(stall.is_sure())];
                delays_ns[usize::from(is_measured)].push(judged.ack_delay_ns(stall.wait));
            }
            self.pieces.add(stall.wait);
        }
    }

    fn pair(mut self) -> HostPair {
        let is_sure = usize::from(self.pair.sums.are_sure());
        let [unmeasured_ns, measured_ns] = &mut self.ack_delays_ns[is_sure];
        let ack_delays = Timer::of(measured_ns);
        HostPair {
            ack_delays,
            ack_after: if ack_delays.is_none() { Timer::of(unmeasured_ns) } else { None },
            pieces: self.pieces.total(),
            ..self.pair
        }
    }
}
