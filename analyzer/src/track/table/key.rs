//! What a connection is looked up by: its addresses and ports, in an order that both directions share.

use crate::decode::Ports;
use crate::track::{Endpoint, Ends};
use foldhash::quality::RandomState;
use std::hash::{BuildHasher, Hash};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses and ports of the lower endpoint and the higher one, so that both directions of a
/// connection give the same key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Key<A> {
    addresses: [A; 2],
    pub ports: [u16; 2],
}

pub type KeyV4 = Key<u32>;
/// An address as four numbers: larger ones would need padding.
pub type KeyV6 = Key<[u32; 4]>;

/// How a segment's connection is looked up.
#[derive(Debug, Clone, Copy)]
pub struct Lookup<K> {
    pub key: K,
    pub hash: u64,
    /// Is the sender the lower endpoint?
    pub from_low: bool,
}

impl<A: Address> Lookup<Key<A>> {
    #[inline]
    pub fn new([from, to]: [A; 2], ports: Ports, seed: &RandomState) -> Self {
        let (src, dst) = (ports.src, ports.dst);
        let from_low = (from, src) <= (to, dst);
        let key = match from_low {
            true => Key { addresses: [from, to], ports: [src, dst] },
            false => Key { addresses: [to, from], ports: [dst, src] },
        };
        Self { key, hash: key.hash(seed), from_low }
    }
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

impl<A: Address> Key<A> {
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
