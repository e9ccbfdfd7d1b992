//! Protocols that `EtherType` and LLC announce: IP, VLAN tags, MPLS, `PPPoE`.

use super::{ETHERNET, Layer, Step, skip, take};
use crate::decode::Skip;

pub const ETHERTYPE_IPV4: u16 = 0x0800;
pub const ETHERTYPE_IPV6: u16 = 0x86dd;
/// Transparent Ethernet bridging.
pub const BRIDGED: u16 = 0x6558;
/// IEEE 802.3, section 3.2.6: smaller numbers are lengths, and LLC follows.
const MOST_LEN: u16 = 1500;

#[inline]
pub fn payload(kind: u16, rest: &[u8]) -> Step<'_> {
    match kind {
        ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => Ok((Layer::Ip, rest)),
        // 802.1Q, 802.1ad and the pre-standard QinQ tag.
        0x8100 | 0x88a8 | 0x9100 => {
            let ([_, _, high, low], rest) = take(rest)?;
            Ok((Layer::Type(u16::from_be_bytes([*high, *low])), rest))
        }
        0x8847 | 0x8848 => Ok((Layer::Mpls, rest)),
        // RFC 2516: a session.
        0x8864 => pppoe(rest),
        BRIDGED => Ok((ETHERNET, rest)),
        0x88e5 => Err(Skip::Macsec),
        ..=MOST_LEN => Ok((Layer::Llc, rest)),
        _ => Err(Skip::NotIp),
    }
}

/// Like [`payload`], where no number is a length.
pub fn announced(kind: u16, rest: &[u8]) -> Step<'_> {
    match kind {
        ..=MOST_LEN => Err(Skip::NotIp),
        _ => Ok((Layer::Type(kind), rest)),
    }
}

/// IEEE 802.2: an IP packet (service access point 6) or SNAP (RFC 1042).
pub fn llc(rest: &[u8]) -> Step<'_> {
    match take::<3>(rest)? {
        ([0xaa, 0xaa, 3], rest) => match take::<5>(rest)? {
            // Encapsulated Ethernet (RFC 1042), and as bridges to 802.11 do it (IEEE 802.1H).
            ([0, 0, 0 | 0xf8, high, low], rest) => {
                announced(u16::from_be_bytes([*high, *low]), rest)
            }
            _ => Err(Skip::NotIp),
        },
        ([6, 6, 3], rest) => Ok((Layer::Ip, rest)),
        _ => Err(Skip::NotIp),
    }
}

/// RFC 4448, section 4.6.
const CONTROL_WORD_LEN: usize = 4;

/// RFC 3032: labels up to the bottom of the stack, and what the first four bits then look like
/// (RFC 4928): IP, or Ethernet after a control word or without one.
pub fn mpls(mut rest: &[u8]) -> Step<'_> {
    loop {
        let ([_, _, label, _], after) = take(rest)?;
        rest = after;
        if label & 1 != 0 {
            break;
        }
    }
    match rest.first().ok_or(Skip::Cut)? >> 4 {
        4 | 6 => Ok((Layer::Ip, rest)),
        0 if is_frame(&rest[CONTROL_WORD_LEN.min(rest.len())..]) => {
            Ok((ETHERNET, skip(rest, CONTROL_WORD_LEN)?))
        }
        _ if is_frame(rest) => Ok((ETHERNET, rest)),
        _ => Err(Skip::Mpls),
    }
}

/// The packet does not show a control word: the frame must have a known type.
fn is_frame(bytes: &[u8]) -> bool {
    let Some([.., high, low]) = bytes.first_chunk::<14>() else { return false };
    let kind = u16::from_be_bytes([*high, *low]);
    matches!(kind, ETHERTYPE_IPV4 | ETHERTYPE_IPV6 | 0x0806 | 0x8100 | 0x88a8)
}

/// RFC 2516, section 4: version and type 1, code 0 for a session.
pub fn pppoe(rest: &[u8]) -> Step<'_> {
    match take::<6>(rest)? {
        ([0x11, 0, ..], rest) => Ok((Layer::Ppp, rest)),
        _ => Err(Skip::NotIp),
    }
}
