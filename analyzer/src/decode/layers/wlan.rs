//! IEEE 802.11 data frames without encryption (802.11-2020, section 9.2), and radios' headers.

use super::{Layer, Step, skip, take};
use crate::decode::Skip;

/// First byte of the frame control field.
const KIND: u8 = 0b1100;
const DATA: u8 = 0b1000;
const NO_DATA: u8 = 0x40;
const QOS: u8 = 0x80;
/// Second byte.
const TO_AND_FROM_DS: u8 = 0b11;
const MORE_FRAGMENTS: u8 = 0x04;
const PROTECTED: u8 = 0x40;
const HT_CONTROL: u8 = 0x80;
/// First byte of the `QoS` control field: several packets in one frame.
const AGGREGATE: u8 = 0x80;

pub fn payload(rest: &[u8]) -> Step<'_> {
    wlan(rest, 1)
}

/// With the header filled up to a multiple of `align` bytes.
fn wlan(frame: &[u8], align: usize) -> Step<'_> {
    let ([kind, flags], _) = take(frame)?;
    let has = |flag: u8| flags & flag != 0;
    if kind & KIND != DATA || kind & NO_DATA != 0 {
        return Err(Skip::WlanNoData);
    }
    if has(PROTECTED) {
        return Err(Skip::WlanEncrypted);
    }
    let (header, _) = take::<24>(frame)?;
    let mut len = header.len() + if flags & TO_AND_FROM_DS == TO_AND_FROM_DS { 6 } else { 0 };
    let mut is_piece = has(MORE_FRAGMENTS) || header[22] & 0x0f != 0;
    if kind & QOS != 0 {
        is_piece |= frame.get(len).ok_or(Skip::Cut)? & AGGREGATE != 0;
        len += 2 + if has(HT_CONTROL) { 4 } else { 0 };
    }
    if is_piece {
        return Err(Skip::WlanPiece);
    }
    Ok((Layer::Llc, skip(frame, len.next_multiple_of(align))?))
}

/// Radiotap (radiotap.org): its length, and the flag for bytes between header and payload.
pub fn radiotap(rest: &[u8]) -> Step<'_> {
    let ([version, _, low, high], _) = take(rest)?;
    if *version != 0 {
        return Err(Skip::Malformed);
    }
    let len = usize::from(u16::from_le_bytes([*low, *high]));
    let frame = skip(rest, len)?;
    wlan(frame, if is_padded(&rest[..len]) { 4 } else { 1 })
}

/// Fields are there if their bits of the first word are: the first is a time of eight bytes,
/// aligned to eight, the second the flags. A word with its highest bit set has another behind it.
fn is_padded(header: &[u8]) -> bool {
    const TIME: u8 = 1;
    const FLAGS: u8 = 2;
    const PADDED: u8 = 0x20;
    let (words, _) = header.as_chunks::<4>();
    let Some(more) = words.iter().skip(1).position(|word| word[3] & 0x80 == 0) else {
        return false;
    };
    let present = words[1][0];
    let fields_at = (2 + more) * 4;
    let flags_at = match present & TIME {
        0 => fields_at,
        _ => fields_at.next_multiple_of(8) + 8,
    };
    present & FLAGS != 0 && header.get(flags_at).is_some_and(|flags| flags & PADDED != 0)
}

/// Prism: a message code and the length in the byte order of the host that captured, or AVS.
pub fn prism(rest: &[u8]) -> Step<'_> {
    match take::<8>(rest)?.0 {
        [0x80, 0x21, 0x10, _, ..] => avs(rest),
        [0, 0, 0, _, len @ ..] => Ok((Layer::Wlan, skip(rest, u32::from_be_bytes(*len) as usize)?)),
        [_, _, _, _, len @ ..] => Ok((Layer::Wlan, skip(rest, u32::from_le_bytes(*len) as usize)?)),
    }
}

/// AVS: version and length, in network byte order.
pub fn avs(rest: &[u8]) -> Step<'_> {
    let ([_, _, _, _, len @ ..], _) = take::<8>(rest)?;
    Ok((Layer::Wlan, skip(rest, u32::from_be_bytes(*len) as usize)?))
}
