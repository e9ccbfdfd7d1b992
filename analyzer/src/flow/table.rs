//! From addresses and ports to a connection, numbered as Wireshark numbers `tcp.stream`.

use super::Side;
use crate::decode::{ACK, Addresses, Header, SYN, Segment};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::fmt::{self, Display, Formatter};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Address and port of one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    pub addr: IpAddr,
    pub port: u16,
}

impl Display for Endpoint {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        SocketAddr::new(self.addr, self.port).fmt(out)
    }
}

/// Both ends of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Ends {
    pub client: Endpoint,
    pub server: Endpoint,
}

/// The connection of a segment, and who sent it.
#[derive(Debug, Clone, Copy)]
pub struct Found {
    pub connection: u32,
    pub by: Side,
    /// The segment opened the connection.
    pub opened: Option<Ends>,
}

/// The lower endpoint (address and port in one number), then the higher one: both directions of a
/// connection give the same key, without a branch.
type KeyV4 = (u64, u64);
type KeyV6 = ((u128, u16), (u128, u16));

/// Finds the connection of a segment. The hash is seeded per process: an attacker chooses the
/// addresses, and must not choose the collisions.
#[derive(Default)]
pub struct Table {
    v4: HashMap<KeyV4, Entry, RandomState>,
    v6: HashMap<KeyV6, Entry, RandomState>,
    connections: u32,
}

/// What tells whether a SYN belongs to the connection that had its ports last.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    id: u32,
    /// The sequence number before the first payload byte of each side: what its SYN has.
    base_seq: [u32; 2],
    base_known: [bool; 2],
    /// Is the client's endpoint the lower one of the key?
    client_low: bool,
    in_use: bool,
}

impl Table {
    /// Looks up the connection of `segment`; opens one where needed.
    #[inline]
    pub fn find(&mut self, segment: &Segment) -> Found {
        let (entry, from_low) = match segment.addresses {
            Addresses::V4 { src, dst } => {
                let src = u64::from(u32::from_be_bytes(src)) << 16 | u64::from(segment.src_port);
                let dst = u64::from(u32::from_be_bytes(dst)) << 16 | u64::from(segment.dst_port);
                (self.v4.entry((src.min(dst), src.max(dst))).or_default(), src <= dst)
            }
            Addresses::V6 { src, dst } => {
                let src = (u128::from_be_bytes(src), segment.src_port);
                let dst = (u128::from_be_bytes(dst), segment.dst_port);
                (self.v6.entry((src.min(dst), src.max(dst))).or_default(), src <= dst)
            }
        };
        let opens =
            !entry.in_use || (segment.header.is_opening() && entry.is_reused(segment, from_low));
        if opens {
            *entry = Entry::open(self.connections, segment, from_low);
            self.connections += 1;
        }
        let by = entry.side(from_low);
        if !(entry.base_known[0] && entry.base_known[1]) {
            entry.note_base(&segment.header, by);
        }
        Found { connection: entry.id, by, opened: opens.then(|| ends(segment, by)) }
    }

    /// What follows belongs to other connections, even between the same ports: another capture
    /// that overlaps in time was opened.
    pub fn forget(&mut self) {
        self.v4.clear();
        self.v6.clear();
    }
}

impl Entry {
    fn open(id: u32, segment: &Segment, from_low: bool) -> Self {
        let client_low = from_low == is_from_client(segment);
        Self { id, client_low, in_use: true, ..Self::default() }
    }

    #[inline]
    fn side(&self, from_low: bool) -> Side {
        match from_low == self.client_low {
            true => Side::Client,
            false => Side::Server,
        }
    }

    /// A SYN with another sequence number than the sender's data has opens a new connection on the
    /// same ports (Wireshark's 'TCP port numbers reused').
    fn is_reused(&self, syn: &Segment, from_low: bool) -> bool {
        let side = self.side(from_low) as usize;
        self.base_known[side] && self.base_seq[side] != syn.header.seq
    }

    /// The first segment of a side tells where its sequence numbers begin, or the first ACK of the
    /// other side does.
    #[cold]
    fn note_base(&mut self, header: &Header, by: Side) {
        let first = header.seq.wrapping_sub(u32::from(!header.has(SYN)));
        self.set_base(by, first);
        if header.has(ACK) {
            self.set_base(by.other(), header.ack.wrapping_sub(1));
        }
    }

    fn set_base(&mut self, side: Side, seq: u32) {
        let side = side as usize;
        if !self.base_known[side] {
            self.base_known[side] = true;
            self.base_seq[side] = seq;
        }
    }
}

/// The client sends the SYN. Without one, servers have the lower port number: well-known and
/// registered ports lie below the ephemeral ones (RFC 6335, section 6).
fn is_from_client(segment: &Segment) -> bool {
    match (segment.header.has(SYN), segment.header.has(ACK)) {
        (true, false) => true,
        (true, true) => false,
        _ => segment.src_port >= segment.dst_port,
    }
}

fn ends(segment: &Segment, by: Side) -> Ends {
    let (src, dst) = match segment.addresses {
        Addresses::V4 { src, dst } => {
            (IpAddr::V4(Ipv4Addr::from(src)), IpAddr::V4(Ipv4Addr::from(dst)))
        }
        Addresses::V6 { src, dst } => {
            (IpAddr::V6(Ipv6Addr::from(src)), IpAddr::V6(Ipv6Addr::from(dst)))
        }
    };
    let from = Endpoint { addr: src, port: segment.src_port };
    let to = Endpoint { addr: dst, port: segment.dst_port };
    match by {
        Side::Client => Ends { client: from, server: to },
        Side::Server => Ends { client: to, server: from },
    }
}
