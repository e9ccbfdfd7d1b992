//! From addresses and ports to a connection, numbered as Wireshark numbers `tcp.stream`.

use super::Side;
use super::connection::Connection;
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

/// Where a segment belongs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Found {
    id: u32,
    from_low: bool,
}

/// Finds the connection of a segment. The hash is seeded per process: an attacker chooses the
/// addresses, and must not choose the collisions.
#[derive(Default)]
pub struct Table {
    v4: HashMap<KeyV4, u32, RandomState>,
    v6: HashMap<KeyV6, u32, RandomState>,
    pub connections: Vec<Connection>,
}

impl Table {
    /// Looks up the connection of `segment`; opens one where needed.
    #[inline]
    pub fn find(&mut self, segment: &Segment) -> Found {
        let next_id = self.connections.len() as u32;
        let (id, from_low) = match segment.addresses {
            Addresses::V4 { src, dst } => {
                let src = (u32::from_be_bytes(src), segment.src_port);
                let dst = (u32::from_be_bytes(dst), segment.dst_port);
                let from_low = src <= dst;
                let (low, high) = if from_low { (src, dst) } else { (dst, src) };
                let key = (u64::from(low.0) << 32 | u64::from(high.0), ports(low.1, high.1));
                (self.v4.entry(key).or_insert(next_id), from_low)
            }
            Addresses::V6 { src, dst } => {
                let src = (u128::from_be_bytes(src), segment.src_port);
                let dst = (u128::from_be_bytes(dst), segment.dst_port);
                let from_low = src <= dst;
                let (low, high) = if from_low { (src, dst) } else { (dst, src) };
                let key = (low.0, high.0, ports(low.1, high.1));
                (self.v6.entry(key).or_insert(next_id), from_low)
            }
        };
        let is_known = *id != next_id;
        if is_known
            && segment.is_opening()
            && self.connections[*id as usize].is_reused_by(from_low, segment)
        {
            *id = next_id;
        }
        let id = *id;
        if id == next_id {
            self.connections.push(new_connection(segment, id, from_low));
        }
        Found { id, from_low }
    }

    /// Brings connections into the cache, all at once, before each is worked on.
    #[inline]
    pub fn warm(&self, found: &[Found]) {
        let sum = found
            .iter()
            .fold(0, |sum: u32, at| sum.wrapping_add(self.connections[at.id as usize].touch()));
        std::hint::black_box(sum);
    }

    /// The connection that was found, and the side that sent the segment.
    #[inline]
    pub fn get(&mut self, at: Found) -> (&mut Connection, Side) {
        let connection = &mut self.connections[at.id as usize];
        let side = connection.side_of(at.from_low);
        (connection, side)
    }

    /// What follows belongs to other connections, even between the same ports: another capture
    /// that overlaps in time was opened.
    pub fn forget(&mut self) {
        self.v4.clear();
        self.v6.clear();
    }
}

/// Both directions of a connection give the same key: the lower endpoint comes first.
fn ports(low: u16, high: u16) -> u32 {
    u32::from(low) << 16 | u32::from(high)
}

fn new_connection(segment: &Segment, id: u32, from_low: bool) -> Connection {
    let (from, to) = (source(segment), destination(segment));
    match is_from_client(segment) {
        true => Connection::new(id, from, to, from_low),
        false => Connection::new(id, to, from, !from_low),
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
