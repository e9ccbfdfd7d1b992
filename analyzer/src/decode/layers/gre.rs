//! GRE (RFC 2784, RFC 2890; version 1 is PPTP's, RFC 2637) and ERSPAN in it.

use super::{ETHERNET, Layer, Step, Tunnel, TunnelKind, ether, skip, take};
use crate::decode::Skip;

/// Bits of the first two bytes. Routing is of RFC 1701 only.
const CHECKSUM: u16 = 1 << 15;
const ROUTING: u16 = 1 << 14;
const KEY: u16 = 1 << 13;
const SEQUENCE: u16 = 1 << 12;
/// Version 1 only.
const ACKNOWLEDGMENT: u16 = 1 << 7;
const VERSION: u16 = 7;

const PPP: u16 = 0x880b;
const ERSPAN: u16 = 0x88be;
const ERSPAN_III: u16 = 0x22eb;

pub fn payload<'a>(rest: &'a [u8], tunnel: &mut Tunnel) -> Step<'a> {
    let ([f0, f1, k0, k1], mut rest) = take(rest)?;
    let (flags, kind) = (u16::from_be_bytes([*f0, *f1]), u16::from_be_bytes([*k0, *k1]));
    let has = |flag: u16| flags & flag != 0;
    let is_pptp = flags & VERSION == 1;
    if has(CHECKSUM | ROUTING) {
        rest = skip(rest, 4)?;
    }
    if has(KEY) {
        let (key, after) = take(rest)?;
        // Version 1 has the payload's length in its first half.
        let key = u32::from_be_bytes(*key);
        tunnel.enter(TunnelKind::Gre, if is_pptp { key & 0xffff } else { key });
        rest = after;
    }
    if has(SEQUENCE) {
        rest = skip(rest, 4)?;
    }
    if is_pptp && has(ACKNOWLEDGMENT) {
        rest = skip(rest, 4)?;
    }
    if has(ROUTING) {
        rest = after_routes(rest)?;
    }
    match kind {
        // Type I: a frame without a header of its own.
        ERSPAN if !has(SEQUENCE) => Ok((ETHERNET, rest)),
        PPP => Ok((Layer::Ppp, rest)),
        ERSPAN | ERSPAN_III => erspan(kind, rest, tunnel),
        _ => ether::announced(kind, rest),
    }
}

/// RFC 1701: source routes, each with its length, up to an empty one.
fn after_routes(mut rest: &[u8]) -> Result<&[u8], Skip> {
    loop {
        let ([f0, f1, _, len], after) = take(rest)?;
        rest = skip(after, usize::from(*len))?;
        if (f0, f1, len) == (&0, &0, &0) {
            return Ok(rest);
        }
    }
}

/// ERSPAN type II (GRE's protocol 0x88be) or III (draft-foschiano-erspan).
fn erspan<'a>(kind: u16, rest: &'a [u8], tunnel: &mut Tunnel) -> Step<'a> {
    let ([_, _, high, low, _, _, _, _], mut rest) = take(rest)?;
    tunnel.enter(TunnelKind::Erspan, u32::from(u16::from_be_bytes([*high, *low]) & 0x03ff));
    if kind == ERSPAN_III {
        let ([_, _, _, optional], after) = take(rest)?;
        rest = if optional & 1 != 0 { skip(after, 8)? } else { after };
    }
    Ok((ETHERNET, rest))
}
