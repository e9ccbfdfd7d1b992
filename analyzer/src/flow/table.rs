//! From addresses and ports to a connection, numbered as Wireshark numbers `tcp.stream`.

use super::Side;
use crate::decode::{ACK, Addresses, Header, Ports, SYN};
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
    /// Looks up the connection of a segment; opens one where needed.
    #[inline]
    pub fn find(&mut self, addresses: Addresses<'_>, ports: Ports, header: &Header) -> Found {
        if let Addresses::V4(bytes) = addresses
            && !header.is_opening()
        {
            let (key, from_low) = key_v4(*bytes, ports);
            if let Some(entry) = self.v4.get(&key).filter(|entry| entry.base_known == [true; 2]) {
                return Found { connection: entry.id, by: entry.side(from_low), opened: None };
            }
        }
        self.find_or_open(addresses, ports, header)
    }

    /// As `find`, for all that is not simply a segment of a connection under way.
    #[cold]
    fn find_or_open(&mut self, addresses: Addresses<'_>, ports: Ports, header: &Header) -> Found {
        let (entry, from_low) = match addresses {
            Addresses::V4(bytes) => {
                let (key, from_low) = key_v4(*bytes, ports);
                (self.v4.entry(key).or_default(), from_low)
            }
            Addresses::V6(bytes) => {
                let [src, dst] = halves(bytes);
                let src = (u128::from_be_bytes(src), ports.src);
                let dst = (u128::from_be_bytes(dst), ports.dst);
                (self.v6.entry((src.min(dst), src.max(dst))).or_default(), src <= dst)
            }
        };
        let opens = !entry.in_use || (header.is_opening() && entry.is_reused(header, from_low));
        if opens {
            *entry = Entry::open(self.connections, ports, header, from_low);
            self.connections += 1;
        }
        let by = entry.side(from_low);
        if !(entry.base_known[0] && entry.base_known[1]) {
            entry.note_base(header, by);
        }
        Found { connection: entry.id, by, opened: opens.then(|| ends(addresses, ports, by)) }
    }

    /// What follows belongs to other connections, even between the same ports: another capture
    /// that overlaps in time was opened.
    pub fn forget(&mut self) {
        self.v4.clear();
        self.v6.clear();
    }
}

impl Entry {
    fn open(id: u32, ports: Ports, header: &Header, from_low: bool) -> Self {
        let client_low = from_low == is_from_client(ports, header);
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
    fn is_reused(&self, syn: &Header, from_low: bool) -> bool {
        let side = self.side(from_low) as usize;
        self.base_known[side] && self.base_seq[side] != syn.seq
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

/// The key of a segment, and whether its source is the lower endpoint.
#[inline]
fn key_v4(addresses: [u8; 8], ports: Ports) -> (KeyV4, bool) {
    let both = u64::from_be_bytes(addresses);
    let src = (both >> 32) << 16 | u64::from(ports.src);
    let dst = (both & 0xffff_ffff) << 16 | u64::from(ports.dst);
    ((src.min(dst), src.max(dst)), src <= dst)
}

/// The client sends the SYN. Without one, servers have the lower port number: well-known and
/// registered ports lie below the ephemeral ones (RFC 6335, section 6).
fn is_from_client(ports: Ports, header: &Header) -> bool {
    match (header.has(SYN), header.has(ACK)) {
        (true, false) => true,
        (true, true) => false,
        _ => ports.src >= ports.dst,
    }
}

fn ends(addresses: Addresses<'_>, ports: Ports, by: Side) -> Ends {
    let [src, dst]: [IpAddr; 2] = match addresses {
        Addresses::V4(bytes) => {
            let [s0, s1, s2, s3, dst @ ..] = *bytes;
            [Ipv4Addr::new(s0, s1, s2, s3).into(), Ipv4Addr::from(dst).into()]
        }
        Addresses::V6(bytes) => halves(bytes).map(|addr| Ipv6Addr::from(addr).into()),
    };
    let from = Endpoint { addr: src, port: ports.src };
    let to = Endpoint { addr: dst, port: ports.dst };
    match by {
        Side::Client => Ends { client: from, server: to },
        Side::Server => Ends { client: to, server: from },
    }
}

/// The two addresses of an IPv6 header.
fn halves(bytes: &[u8; 32]) -> [[u8; 16]; 2] {
    let mut both = [[0; 16]; 2];
    both.as_flattened_mut().copy_from_slice(bytes);
    both
}
