//! Stalls in groups as Python sees them.

use crate::judge::words::evidence::ms;
use crate::result::groups::{HostPair, ServerGroup};
use crate::result::names::Names;
use crate::track::Side;
use pyo3::prelude::*;

/// Stalls of one cause that one of two hosts held, on connections to one port; durations in ms.
#[pyclass(frozen, get_all)]
pub struct Group {
    pub cause: &'static str,
    pub sender: &'static str,
    pub sender_addr: String,
    pub receiver_addr: String,
    /// The server's IP address, whatever the user calls it.
    pub server_ip: String,
    pub server_port: u16,
    pub stalls: u64,
    pub connections: u64,
    /// All exchanges of these connections, stalled or not.
    pub exchanges: u64,
    pub stalled_ms: f64,
    pub confidence: &'static str,
    pub nagle: &'static str,
    /// Frames that prove that, on the first connection.
    pub nagle_frames: (u32, u32),
    pub ack_delay_ms: f64,
    pub ack_delay_min_ms: f64,
    pub ack_delay_max_ms: f64,
    pub consistent_with: &'static str,
    /// The receiver acknowledges at once while a connection is young.
    pub quick_acks: bool,
    /// Typical lengths in bytes.
    pub len_unacked: u32,
    pub len: u32,
    pub unacked_full_sized: bool,
    /// A short and a long segment alternate.
    pub alternate: bool,
    /// Frames of the first unacknowledged segments, each with that of the segment held behind it.
    pub frames_split: Vec<(u32, u32)>,
    /// The connection of the first of them.
    pub connection: u64,
    /// The frame that ended the server's first reply on one of the connections.
    pub frame_first_reply: Option<u32>,
}

impl Group {
    pub fn new(pair: &HostPair, names: &Names) -> Self {
        let by_server = pair.sender == Side::Server;
        let server = if by_server { pair.sender_addr } else { pair.receiver_addr };
        let delays = pair.ack_delays.as_ref();
        Self {
            cause: pair.cause.name(),
            sender: pair.sender.name(),
            sender_addr: names.addr(pair.sender_addr),
            receiver_addr: names.addr(pair.receiver_addr),
            server_ip: server.to_string(),
            server_port: pair.server_port,
            stalls: pair.stalls,
            connections: pair.connections,
            exchanges: pair.exchanges,
            stalled_ms: ms(pair.stalled_ns),
            confidence: pair.confidence.name(),
            nagle: pair.nagle.name(),
            nagle_frames: pair.nagle_proof,
            ack_delay_ms: delays.map_or(0.0, |timer| ms(timer.median_ns)),
            ack_delay_min_ms: delays.map_or(0.0, |timer| ms(timer.min_ns)),
            ack_delay_max_ms: delays.map_or(0.0, |timer| ms(timer.max_ns)),
            consistent_with: pair.consistent_with(),
            quick_acks: pair.has_quick_acks(),
            len_unacked: pair.pieces.unacked_len,
            len: pair.pieces.held_len,
            unacked_full_sized: pair.pieces.unacked_full_sized,
            alternate: pair.pieces.alternate,
            frames_split: pair.pieces.frames.clone(),
            connection: pair.pieces.connection,
            frame_first_reply: pair.pieces.first_reply,
        }
    }
}

/// Stalls of one side of one server's connections, with one cause; durations in ms.
#[pyclass(frozen, get_all, name = "ServerGroup")]
pub struct PyServerGroup {
    /// The pair of hosts that loses most: its lengths and frames stand for the others.
    pub worst: Py<Group>,
    pub stalls: u64,
    pub stalled_ms: f64,
    /// Stalls that are possible, likely and certain.
    pub stalls_by_confidence: [u64; 3],
    pub stalled_ms_by_confidence: [f64; 3],
    /// The shortest and the longest hold of the surest stalls.
    pub held_ms: (f64, f64),
    /// Hosts at the other end of the server.
    pub clients: u64,
    pub nagle: &'static str,
    /// Connections to the server by what that side's sockets show: Nagle on, off, unknown, switched off.
    pub sockets: (u32, u32, u32, u32),
    pub consistent_with: &'static str,
    pub quick_acks: bool,
    pub some_full_sized: bool,
    /// A relay that passes on what it gets would look the same.
    pub may_be_relay: bool,
}

impl PyServerGroup {
    /// # Errors
    /// Python's own.
    pub fn new(py: Python<'_>, group: &ServerGroup, names: &Names) -> PyResult<Self> {
        let sockets = group.sockets;
        Ok(Self {
            worst: Py::new(py, Group::new(&group.worst, names))?,
            stalls: group.stalls,
            stalled_ms: ms(group.stalled_ns),
            stalls_by_confidence: group.by_confidence.stalls,
            stalled_ms_by_confidence: group.by_confidence.stalled_ns.map(ms),
            held_ms: (ms(group.held_ns.0), ms(group.held_ns.1)),
            clients: group.clients,
            nagle: group.nagle.name(),
            sockets: (sockets.on, sockets.off, sockets.unknown, sockets.switched),
            consistent_with: group.consistent_with,
            quick_acks: group.quick_acks,
            some_full_sized: group.some_full_sized,
            may_be_relay: group.may_be_relay(),
        })
    }
}
