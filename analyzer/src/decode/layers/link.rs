//! Link-layer headers (<https://www.tcpdump.org/linktypes.html>).

use super::{Layer, Step, ether, skip, take, wlan};
use crate::capture::link::{self, Network};
use crate::decode::Skip;

/// The protocol that a frame of this link type carries.
#[inline]
pub fn payload(link_type: u32, frame: &[u8]) -> Step<'_> {
    match link::find(link_type).ok_or(Skip::UnknownLink)?.network {
        Network::EtherType { type_at, header_len } => {
            Ok((Layer::Type(ethertype(frame, type_at)?), skip(frame, header_len)?))
        }
        Network::Cooked { type_at, header_len } => {
            let rest = skip(frame, header_len)?;
            cooked(ethertype(frame, type_at)?, rest)
        }
        Network::Family => by_family(frame),
        Network::Ip => Ok((Layer::Ip, frame)),
        Network::Ppp => Ok((Layer::Ppp, frame)),
        Network::Pppoe => ether::pppoe(frame),
        Network::Wlan => Ok((Layer::Wlan, frame)),
        Network::Radiotap => wlan::radiotap(frame),
        Network::Prism => wlan::prism(frame),
        Network::Avs => wlan::avs(frame),
        Network::Nflog => Ok((Layer::Nflog, frame)),
        Network::Pktap => pktap(frame),
    }
}

#[inline]
fn ethertype(frame: &[u8], at: usize) -> Result<u16, Skip> {
    let bytes = frame.get(at..).and_then(<[u8]>::first_chunk).ok_or(Skip::Cut)?;
    Ok(u16::from_be_bytes(*bytes))
}

/// `ETH_P_802_2`, and 7 for PPP in HDLC, as Wireshark has it; others are no IP.
fn cooked(kind: u16, rest: &[u8]) -> Step<'_> {
    match kind {
        4 => Ok((Layer::Llc, rest)),
        7 => Ok((Layer::Ppp, rest)),
        ..0x600 => Err(Skip::NotIp),
        _ => Ok((Layer::Type(kind), rest)),
    }
}

/// The family is in the byte order of the host that captured (NULL) or of the network (LOOP).
/// Those in use (2 for IPv4; 10, 23, 24, 28, 30 for IPv6) fit one byte, so both orders can be
/// read; the IP header tells the version.
fn by_family(frame: &[u8]) -> Step<'_> {
    match take::<4>(frame)? {
        ([2 | 10 | 23 | 24 | 28 | 30, 0, 0, 0] | [0, 0, 0, 2 | 10 | 23 | 24 | 28 | 30], rest) => {
            Ok((Layer::Ip, rest))
        }
        _ => Err(Skip::NotIp),
    }
}

/// Linux' netfilter: an address family and attributes, of which one is the packet. Lengths are in
/// the byte order of the host that captured: the one in which all of them fit.
pub fn nflog(frame: &[u8]) -> Step<'_> {
    /// `AF_INET` and `AF_INET6` of Linux.
    const IP: [u8; 2] = [2, 10];
    let ([family, _version, _, _], attributes) = take(frame)?;
    if !IP.contains(family) {
        return Err(Skip::NotIp);
    }
    let found = packet_of(attributes, u16::from_le_bytes);
    let found = found.or_else(|_| packet_of(attributes, u16::from_be_bytes));
    found.map(|packet| (Layer::Ip, packet))
}

/// Each attribute has a length, with these four bytes, and a type, and is filled up to four bytes.
fn packet_of(mut attributes: &[u8], number: fn([u8; 2]) -> u16) -> Result<&[u8], Skip> {
    /// `NFULA_PAYLOAD`.
    const PAYLOAD: u16 = 9;
    while let Some(([l0, l1, t0, t1], rest)) = attributes.split_first_chunk() {
        let len = usize::from(number([*l0, *l1]));
        if number([*t0, *t1]) == PAYLOAD {
            return Ok(rest);
        }
        if len < 4 {
            return Err(Skip::Malformed);
        }
        attributes = skip(attributes, len.next_multiple_of(4))?;
    }
    Err(Skip::Cut)
}

/// Apple's: its length, the kind of record (1 for a packet) and the DLT of the frame, in the byte
/// order of the host, which has been a little-endian one on all that have this.
fn pktap(frame: &[u8]) -> Step<'_> {
    let ([len @ .., k0, k1, k2, k3, d0, d1, d2, d3], _) = take::<12>(frame)?;
    let len = u32::from_le_bytes(*len) as usize;
    if len < 12 {
        return Err(Skip::Malformed);
    }
    match u32::from_le_bytes([*k0, *k1, *k2, *k3]) {
        1 => Ok((Layer::Link(u32::from_le_bytes([*d0, *d1, *d2, *d3])), skip(frame, len)?)),
        _ => Err(Skip::NotIp),
    }
}
