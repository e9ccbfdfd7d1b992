//! Stalls in groups as Python sees them.

use crate::judge::nagle::nodelay::Nagle;
use crate::judge::words::evidence::ms;
use crate::output::row::row;
use crate::result::groups::{self, HostPair};
use crate::result::names::Names;
use crate::track::Side;
use pyo3::prelude::*;

row! {
    /// Stalls of one cause that one of two hosts held, on connections to one port; durations in ms.
    #[pyclass(frozen, get_all)]
    #[derive(Clone)]
    HostPairRow(pair: &HostPair, names: &Names) with {
        let by_server = pair.sender == Side::Server;
        let server = if by_server { pair.sender_addr } else { pair.receiver_addr };
        let delays = pair.ack_delays.as_ref();
        let (stalls, stalled_ns) = pair.sums.by_confidence.total();
    } {
        cause: &'static str = pair.cause.name(),
        sender: &'static str = pair.sender.name(),
        sender_addr: String = names.addr(pair.sender_addr),
        receiver_addr: String = names.addr(pair.receiver_addr),
        /// The server's IP address, whatever the user calls it.
        server_ip: String = server.to_string(),
        server_port: u16 = pair.server_port,
        stalls: u64 = stalls,
        connections: u64 = pair.connections,
        /// All exchanges of these connections, stalled or not.
        exchanges: u64 = pair.exchanges,
        stalled_ms: f64 = ms(stalled_ns),
        confidence: &'static str = pair.sums.by_confidence.surest().name(),
        nagle: &'static str = pair.nagle.name(),
        /// Frames that prove that, on the first connection.
        nagle_frames: (u32, u32) = pair.nagle_proof,
        ack_delay_ms: f64 = delays.map_or(0.0, |timer| ms(timer.median_ns)),
        ack_delay_min_ms: f64 = delays.map_or(0.0, |timer| ms(timer.min_ns)),
        ack_delay_max_ms: f64 = delays.map_or(0.0, |timer| ms(timer.max_ns)),
        /// How late after the data its ACKs came, if their sender's round trip is unknown; else 0.
        ack_after_min_ms: f64 = pair.ack_after.map_or(0.0, |timer| ms(timer.min_ns)),
        ack_after_max_ms: f64 = pair.ack_after.map_or(0.0, |timer| ms(timer.max_ns)),
        consistent_with: &'static str = pair.consistent_with(),
        /// The receiver acknowledges at once while a connection is young.
        quick_acks: bool = pair.has_quick_acks(),
        /// Typical lengths in bytes.
        len_unacked: u32 = pair.pieces.unacked_len,
        len: u32 = pair.pieces.held_len,
        unacked_full_sized: bool = pair.pieces.unacked_full_sized,
        /// A short and a long segment alternate.
        alternate: bool = pair.pieces.alternate,
        /// Frames of the first unacknowledged segments, each with that of the held one.
        frames_split: Vec<(u32, u32)> = pair.pieces.frames.clone(),
        /// The connection of the first of them.
        connection: u64 = pair.pieces.connection,
        /// The frame that ended the server's first reply on one of the connections.
        frame_first_reply: Option<u32> = pair.pieces.first_reply,
    }
}

row! {
    /// Stalls of one side of one server's connections, with one cause; durations in ms.
    #[pyclass(frozen, get_all)]
    ServerGroupRow(group: &groups::ServerGroup, names: &Names) with {
        let sums = &group.sums;
        let (stalls, stalled_ns) = sums.by_confidence.total();
        let (shortest_ns, longest_ns) = sums.held_ns();
    } {
        /// The pair of hosts that loses most: its lengths and frames stand for the others.
        worst: HostPairRow = HostPairRow::new(&group.worst, names),
        stalls: u64 = stalls,
        stalled_ms: f64 = ms(stalled_ns),
        /// Stalls that are possible, likely and certain.
        stalls_by_confidence: [u64; 3] = sums.by_confidence.stalls,
        stalled_ms_by_confidence: [f64; 3] = sums.by_confidence.stalled_ns.map(ms),
        /// The shortest and the longest hold of the stalls that count.
        held_ms: (f64, f64) = (ms(shortest_ns), ms(longest_ns)),
        /// Hosts at the other end of the server.
        clients: u64 = group.clients,
        nagle: &'static str = group.nagle.name(),
        /// Connections to the server by that side's sockets: Nagle on, off, unknown, switched off.
        sockets: (u32, u32, u32, u32) = (
            group.sockets.of(Nagle::On),
            group.sockets.of(Nagle::Off),
            group.sockets.of(Nagle::Unknown),
            group.sockets.of(Nagle::Switched),
        ),
        consistent_with: &'static str = group.consistent_with,
        quick_acks: bool = group.quick_acks,
        some_full_sized: bool = group.some_full_sized,
        /// A relay that passes on what it gets would look the same.
        may_be_relay: bool = sums.may_be_of_relay(),
    }
}
