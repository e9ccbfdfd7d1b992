//! PPP (RFC 1661), in HDLC-like framing (RFC 1662) or without, and Cisco's HDLC.

use super::{Layer, Step, ether, skip, take};
use crate::decode::Skip;

/// Address and control field (RFC 1662, section 3.1); may be compressed away.
const ALL_STATIONS: [u8; 2] = [0xff, 0x03];
/// Cisco's addresses: unicast and multicast.
const CISCO: [u8; 2] = [0x0f, 0x8f];

pub fn payload(rest: &[u8]) -> Step<'_> {
    let rest = match rest {
        [a, c, rest @ ..] if [*a, *c] == ALL_STATIONS => rest,
        [address, _, high, low, rest @ ..] if CISCO.contains(address) => {
            return ether::announced(u16::from_be_bytes([*high, *low]), rest);
        }
        _ => rest,
    };
    // An odd first byte is all of the number (RFC 1661, section 6.5).
    let (protocol, rest) = match rest.first().ok_or(Skip::Cut)? {
        short if short & 1 != 0 => (u16::from(*short), skip(rest, 1)?),
        _ => {
            let (long, rest) = take(rest)?;
            (u16::from_be_bytes(*long), rest)
        }
    };
    match protocol {
        0x0021 | 0x0057 => Ok((Layer::Ip, rest)),
        0x0281 | 0x0283 => Ok((Layer::Mpls, rest)),
        _ => Err(Skip::NotIp),
    }
}
