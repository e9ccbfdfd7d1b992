//! Tunnels over UDP: VXLAN (RFC 7348), Geneve (RFC 8926) and GTP-U (3GPP TS 29.281).

use super::ether::{self, BRIDGED, ETHERTYPE_IPV4, ETHERTYPE_IPV6};
use super::{ETHERNET, Layer, Step, Tunnel, TunnelKind, skip, take};
use crate::decode::Skip;

/// The port of the standard, and the one that Linux, flannel and Cilium use.
const VXLAN: [u16; 2] = [4789, 8472];
const GENEVE: u16 = 6081;
const GTP_U: u16 = 2152;

/// Tunnels are known by their port, at either end; VXLAN and Geneve on any other one by their
/// header and an IP packet in them that fits.
pub fn payload<'a>(rest: &'a [u8], tunnel: &mut Tunnel) -> Step<'a> {
    let Some(([s0, s1, d0, d1, high, low, ..], rest)) = rest.split_first_chunk::<8>() else {
        return Err(Skip::NotTcp);
    };
    let ports = [u16::from_be_bytes([*s0, *s1]), u16::from_be_bytes([*d0, *d1])];
    if VXLAN.iter().any(|port| ports.contains(port)) {
        return vxlan(rest, tunnel);
    }
    if ports.contains(&GENEVE) {
        return geneve(rest, tunnel);
    }
    if ports.contains(&GTP_U) {
        return gtp(rest, tunnel);
    }
    let len = usize::from(u16::from_be_bytes([*high, *low])).saturating_sub(8);
    match *rest {
        // The flag of a valid identifier, and what is reserved.
        [0x08, 0, 0, 0, _, _, _, 0, ..] if fits(BRIDGED, rest, len, 8) => vxlan(rest, tunnel),
        // Version 0 with its options, and no flag but that of critical ones.
        [options @ 0..0x40, 0 | 0x40, k0, k1, _, _, _, 0, ..]
            if fits(u16::from_be_bytes([k0, k1]), rest, len, 8 + usize::from(options) * 4) =>
        {
            geneve(rest, tunnel)
        }
        _ => Err(Skip::NotTcp),
    }
}

/// Does an IP packet, which `kind` announces or an Ethernet frame in it, fill a payload of `len`
/// bytes on the wire from `begin` on, but for the padding of a short frame?
fn fits(mut kind: u16, payload: &[u8], len: usize, mut begin: usize) -> bool {
    /// A frame of 60 bytes without its header.
    const PADDED: usize = 46;
    let bytes =
        |at: usize| payload.get(at..)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes));
    if kind == BRIDGED {
        kind = bytes(begin + 12).unwrap_or_default();
        begin += 14;
    }
    let total_len = match (kind, payload.get(begin)) {
        (ETHERTYPE_IPV4, Some(0x45..=0x4f)) => bytes(begin + 2).map(usize::from),
        (ETHERTYPE_IPV6, Some(0x60..=0x6f)) => bytes(begin + 4).map(|len| usize::from(len) + 40),
        _ => None,
    };
    total_len
        .zip(len.checked_sub(begin))
        .is_some_and(|(total, room)| total == room || total < room && room <= PADDED)
}

fn vxlan<'a>(rest: &'a [u8], tunnel: &mut Tunnel) -> Step<'a> {
    let ([_, _, _, _, vni @ .., _], rest) = take::<8>(rest)?;
    tunnel.enter(TunnelKind::Network, of_24_bits(*vni));
    Ok((ETHERNET, rest))
}

fn geneve<'a>(rest: &'a [u8], tunnel: &mut Tunnel) -> Step<'a> {
    let ([start, _, k0, k1, vni @ .., _], rest) = take::<8>(rest)?;
    tunnel.enter(TunnelKind::Network, of_24_bits(*vni));
    // In units of four bytes.
    let options_len = usize::from(start & 0x3f) * 4;
    ether::announced(u16::from_be_bytes([*k0, *k1]), skip(rest, options_len)?)
}

fn of_24_bits([high, middle, low]: [u8; 3]) -> u32 {
    u32::from_be_bytes([0, high, middle, low])
}

/// Version 1, GTP and not GTP' (sections 5.1 and 5.2).
fn gtp<'a>(rest: &'a [u8], tunnel: &mut Tunnel) -> Step<'a> {
    /// A user's packet; other messages are about the tunnel.
    const G_PDU: u8 = 255;
    let ([flags, kind, _, _, teid @ ..], mut rest) = take::<8>(rest)?;
    if flags >> 4 != 0b0011 || *kind != G_PDU {
        return Err(Skip::NotTcp);
    }
    tunnel.enter(TunnelKind::Gtp, u32::from_be_bytes(*teid));
    // Any of extension header, sequence number and N-PDU number brings all three fields.
    if flags & 0b111 != 0 {
        let ([_, _, _, next], after) = take(rest)?;
        rest = if flags & 0b100 != 0 { after_extensions(*next, after)? } else { after };
    }
    match rest.first().ok_or(Skip::Cut)? >> 4 {
        4 | 6 => Ok((Layer::Ip, rest)),
        _ => Err(Skip::NotIp),
    }
}

/// Each begins with its length in units of four bytes and ends with the next one's type, or 0.
fn after_extensions(mut next: u8, mut rest: &[u8]) -> Result<&[u8], Skip> {
    while next != 0 {
        let len = usize::from(*rest.first().ok_or(Skip::Cut)?) * 4;
        let last = len.checked_sub(1).ok_or(Skip::Malformed)?;
        next = *rest.get(last).ok_or(Skip::Cut)?;
        rest = &rest[len..];
    }
    Ok(rest)
}
