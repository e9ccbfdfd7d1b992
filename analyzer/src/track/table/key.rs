//! The key of a connection: its addresses and ports, in an order that both directions share.

use crate::decode::tunnel::Tunnel;
use crate::decode::{Addresses, Ports};
use crate::track::Endpoint;
use crate::track::ends::Ends;
use foldhash::quality::RandomState;
use std::hash::{BuildHasher, Hash};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Number of shards that the connections of a scan are spread over. Results would depend on it, so it never
/// follows the number of processors.
pub const SHARDS: usize = 16;

/// Addresses and ports of the lower endpoint and the higher one, so that both directions of a
/// connection give the same key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Key<A> {
    addresses: [A; 2],
    pub ports: [u16; 2],
}

pub type KeyV4 = Key<u32>;
/// An address as four numbers: larger ones would need padding.
pub type KeyV6 = Key<[u32; 4]>;

/// The key of a segment in a tunnel that has an identifier.
pub type KeyInside = Key<Inside>;

/// The key of any segment: those of most are at hand.
#[derive(Debug, Clone, Copy)]
pub enum AnyKey<'a> {
    V4(KeyV4),
    Long(&'a LongKey),
}

/// The key of a segment over IPv6 or in a tunnel.
#[derive(Debug, Clone)]
pub enum LongKey {
    V6(KeyV6),
    Inside(KeyInside, Tunnel),
}

/// An address of either version inside a tunnel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Inside {
    /// For IPv4, the last one.
    words: [u32; 4],
    is_v4: bool,
    /// Tells connections apart that have the same addresses and ports in other tunnels.
    place: u32,
}

/// An IP address as numbers in the order of the wire.
pub trait Address: Copy + Default + Ord + Hash {
    fn to_ip(self) -> IpAddr;
}

impl Address for u32 {
    fn to_ip(self) -> IpAddr {
        Ipv4Addr::from_bits(self).into()
    }
}

impl Address for [u32; 4] {
    fn to_ip(self) -> IpAddr {
        let bits = self.iter().fold(0, |bits, &word| bits << 32 | u128::from(word));
        Ipv6Addr::from_bits(bits).into()
    }
}

impl Address for Inside {
    fn to_ip(self) -> IpAddr {
        if self.is_v4 { self.words[3].to_ip() } else { self.words.to_ip() }
    }
}

/// Source and destination address.
#[inline]
pub fn addresses_v4(bytes: [u8; 8]) -> [u32; 2] {
    let both = u64::from_be_bytes(bytes);
    [(both >> 32) as u32, both as u32]
}

/// Like `addresses_v4`.
pub fn addresses_v6(bytes: &[u8; 32]) -> [[u32; 4]; 2] {
    let mut both = [[0; 4]; 2];
    let (words, _) = bytes.as_chunks::<4>();
    for (number, &word) in both.as_flattened_mut().iter_mut().zip(words) {
        *number = u32::from_be_bytes(word);
    }
    both
}

/// Like `addresses_v4`, of either version.
pub fn addresses_inside(addresses: Addresses<'_>) -> [Inside; 2] {
    match addresses {
        Addresses::V4(bytes) => addresses_v4(*bytes).map(|address| Inside {
            words: [0, 0, 0, address],
            is_v4: true,
            place: 0,
        }),
        Addresses::V6(bytes) => {
            addresses_v6(bytes).map(|words| Inside { words, is_v4: false, place: 0 })
        }
    }
}

impl<A: Address> Key<A> {
    /// The key of a segment between these addresses, and whether its sender is the lower endpoint.
    #[inline]
    pub fn new([from, to]: [A; 2], ports: Ports) -> (Self, bool) {
        let (src, dst) = (ports.src, ports.dst);
        let from_low = (from, src) <= (to, dst);
        let key = if from_low {
            Self { addresses: [from, to], ports: [src, dst] }
        } else {
            Self { addresses: [to, from], ports: [dst, src] }
        };
        (key, from_low)
    }

    /// Spreads connections over shards, in its low bits: by ports, as addresses may be translated. Not
    /// seeded: the same in each scan. Who knows it can put all connections into one shard, and so
    /// make a scan as slow as with one thread.
    #[inline]
    pub fn spread(self) -> usize {
        /// 2^64 divided by the golden ratio (Knuth, volume 3, section 6.4).
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let [low, high] = self.ports.map(u64::from);
        ((low + high).wrapping_mul(FACTOR) >> 60) as usize
    }

    /// Has it the same two ports, and the same address at one of them?
    pub fn is_translated(self, other: Self) -> bool {
        let end = |key: Self, at: usize| (key.addresses[at], key.ports[at]);
        [(0, 0), (0, 1), (1, 0), (1, 1)].into_iter().any(|(own, its)| {
            end(self, own) == end(other, its) && self.ports[1 - own] == other.ports[1 - its]
        })
    }

    #[inline]
    pub fn hash(self, seed: &RandomState) -> u64 {
        let ([low, high], [low_port, high_port]) = (self.addresses, self.ports);
        seed.hash_one((low, high, u32::from(low_port) << 16 | u32::from(high_port)))
    }

    pub fn ends(self, client_low: bool) -> Ends {
        let [low, high] =
            [0, 1].map(|end| Endpoint { addr: self.addresses[end].to_ip(), port: self.ports[end] });
        let (client, server) = if client_low { (low, high) } else { (high, low) };
        Ends { client, server }
    }
}

impl AnyKey<'_> {
    pub fn ends(self, client_low: bool) -> Ends {
        match self {
            Self::V4(key) => key.ends(client_low),
            Self::Long(LongKey::V6(key)) => key.ends(client_low),
            Self::Long(LongKey::Inside(key, _)) => key.ends(client_low),
        }
    }
}

impl KeyInside {
    /// The key of the connection at this place among those of the same ends.
    pub fn at(mut self, place: u32) -> Self {
        self.addresses.iter_mut().for_each(|address| address.place = place);
        self
    }
}

impl KeyV4 {
    /// Stands for another key, which is kept at this place.
    pub fn of_place(place: u32, ports: [u16; 2]) -> Self {
        Self { addresses: [place, 0], ports }
    }

    /// Where the other key is kept.
    pub fn place(self) -> u32 {
        self.addresses[0]
    }
}
