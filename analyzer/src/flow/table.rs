//! From addresses and ports to a connection, numbered as Wireshark numbers `tcp.stream`.

use super::connection::Connection;
use super::Side;
use crate::decode::{ACK, Addresses, SYN, Segment};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Address and port of one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    pub addr: IpAddr,
    pub port: u16,
}

type KeyV4 = (u64, u32);
type KeyV6 = (u128, u128, u32);

/// Finds the connection of a segment. The hash is seeded per process: an attacker chooses the
/// addresses, and must not choose the collisions.
#[derive(Default)]
pub struct Table {
    v4: HashMap<KeyV4, u32, RandomState>,
    v6: HashMap<KeyV6, u32, RandomState>,
    pub connections: Vec<Connection>,
}

impl Table {
    /// The connection of `segment` (a new one where needed) and the side that sent it.
    #[inline]
    pub fn find(&mut self, segment: &Segment) -> (&mut Connection, Side) {
        let next_id = self.connections.len() as u32;
        let id = match segment.addresses {
            Addresses::V4 { src, dst } => {
                let src = u64::from(u32::from_be_bytes(src));
                let dst = u64::from(u32::from_be_bytes(dst));
                let ((low, high), ports) = ordered((src, segment.src_port), (dst, segment.dst_port));
                self.v4.entry((low << 32 | high, ports)).or_insert(next_id)
            }
            Addresses::V6 { src, dst } => {
                let (src, dst) = (u128::from_be_bytes(src), u128::from_be_bytes(dst));
                let ((low, high), ports) = ordered((src, segment.src_port), (dst, segment.dst_port));
                self.v6.entry((low, high, ports)).or_insert(next_id)
            }
        };
        if *id != next_id && reuses_ports(&self.connections[*id as usize], segment) {
            *id = next_id;
        }
        let id = *id as usize;
        if id == self.connections.len() {
            self.connections.push(new_connection(segment, next_id));
        }
        let connection = &mut self.connections[id];
        let side = connection.side_of(source(segment));
        (connection, side)
    }

    /// What follows belongs to other connections, even between the same ports: another capture
    /// that overlaps in time was opened.
    pub fn forget(&mut self) {
        self.v4.clear();
        self.v6.clear();
    }
}

/// Both directions of a connection must give the same key.
fn ordered<A: Ord + Copy>(src: (A, u16), dst: (A, u16)) -> ((A, A), u32) {
    let (low, high) = if src <= dst { (src, dst) } else { (dst, src) };
    ((low.0, high.0), u32::from(low.1) << 16 | u32::from(high.1))
}

/// A SYN with another initial sequence number than the one seen, or after the connection was
/// closed, opens a new connection on the same ports (Wireshark's 'TCP port numbers reused').
fn reuses_ports(connection: &Connection, segment: &Segment) -> bool {
    segment.has(SYN)
        && !segment.has(ACK)
        && connection.is_reused_by(source(segment), segment.seq)
}

fn new_connection(segment: &Segment, id: u32) -> Connection {
    let (from, to) = (source(segment), destination(segment));
    match is_from_client(segment) {
        true => Connection::new(id, from, to),
        false => Connection::new(id, to, from),
    }
}

/// The client sends the SYN. Without one, servers have the lower port number: well-known and
/// registered ports lie below the ephemeral ones (RFC 6335, section 6).
fn is_from_client(segment: &Segment) -> bool {
    match (segment.has(SYN), segment.has(ACK)) {
        (true, false) => true,
        (true, true) => false,
        _ => segment.src_port >= segment.dst_port,
    }
}

fn source(segment: &Segment) -> Endpoint {
    Endpoint {
        addr: match segment.addresses {
            Addresses::V4 { src, .. } => IpAddr::V4(Ipv4Addr::from(src)),
            Addresses::V6 { src, .. } => IpAddr::V6(Ipv6Addr::from(src)),
        },
        port: segment.src_port,
    }
}

fn destination(segment: &Segment) -> Endpoint {
    Endpoint {
        addr: match segment.addresses {
            Addresses::V4 { dst, .. } => IpAddr::V4(Ipv4Addr::from(dst)),
            Addresses::V6 { dst, .. } => IpAddr::V6(Ipv6Addr::from(dst)),
        },
        port: segment.dst_port,
    }
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::net::SocketAddr::new(self.addr, self.port).fmt(out)
    }
}
