//! IP and TCP headers of any length.

use super::Options;
use super::tcp::{Addresses, IPV4_HEADER_LEN, IPV6_HEADER_LEN, Segment, Skip, TCP_HEADER_LEN};
use super::tunnel::Tunnel;
use etherparse::{IpNumber, Ipv4HeaderSlice, Ipv6ExtensionsSlice, Ipv6HeaderSlice};

/// The payload of an IP packet.
#[derive(Debug, Clone, Copy)]
pub enum Content<'a> {
    Segment(Segment<'a>),
    /// Something else whole, of this protocol.
    Other(IpNumber, &'a [u8]),
    /// Some of it.
    Fragment(IpNumber, &'a [u8]),
}

/// The payload of an IP packet of this `wire_len`: see [`segment`](super::segment).
#[inline]
pub fn content(packet: &[u8], wire_len: u32) -> Result<Content<'_>, Skip> {
    match packet.first().ok_or(Skip::Cut)? >> 4 {
        4 => ipv4(packet, wire_len),
        6 => ipv6(packet, wire_len),
        _ => Err(Skip::Malformed),
    }
}

#[inline]
fn ipv4(packet: &[u8], wire_len: u32) -> Result<Content<'_>, Skip> {
    if packet.len() < IPV4_HEADER_LEN {
        return Err(Skip::Cut);
    }
    let header = Ipv4HeaderSlice::from_slice(packet).map_err(|_| Skip::Malformed)?;
    let (protocol, header_len) = (header.protocol(), header.slice().len());
    if header.is_fragmenting_payload() {
        return Ok(Content::Fragment(protocol, &packet[header_len..]));
    }
    if protocol != IpNumber::TCP {
        return Ok(Content::Other(protocol, &packet[header_len..]));
    }
    let total_len = match header.total_len() {
        0 => wire_len,
        length => u32::from(length),
    };
    let addresses = packet[12..].first_chunk().map(Addresses::V4).ok_or(Skip::Cut)?;
    tcp(addresses, &packet[header_len..], total_len, header_len, header.identification())
}

fn ipv6(packet: &[u8], wire_len: u32) -> Result<Content<'_>, Skip> {
    if packet.len() < IPV6_HEADER_LEN {
        return Err(Skip::Cut);
    }
    let header = Ipv6HeaderSlice::from_slice(packet).map_err(|_| Skip::Malformed)?;
    let (extensions, protocol, rest, stopped) =
        Ipv6ExtensionsSlice::from_slice_lax(header.next_header(), &packet[IPV6_HEADER_LEN..]);
    if extensions.is_fragmenting_payload() {
        return Err(Skip::Fragment);
    }
    if stopped.is_some() {
        return Err(Skip::Malformed);
    }
    if protocol != IpNumber::TCP {
        return Ok(Content::Other(protocol, rest));
    }
    let total_len = match header.payload_length() {
        0 => wire_len,
        length => IPV6_HEADER_LEN as u32 + u32::from(length),
    };
    let addresses = packet[8..].first_chunk().map(Addresses::V6).ok_or(Skip::Cut)?;
    tcp(addresses, rest, total_len, packet.len() - rest.len(), 0)
}

/// `captured` starts at the TCP header, `before` bytes into an IP packet (`total_len`, `ip_id`).
#[inline]
fn tcp<'a>(
    addresses: Addresses<'a>,
    captured: &'a [u8],
    total_len: u32,
    before: usize,
    ip_id: u16,
) -> Result<Content<'a>, Skip> {
    let Some(header) = captured.first_chunk::<TCP_HEADER_LEN>() else {
        return Err(Skip::Cut);
    };
    let header_len = usize::from(header[12] >> 4) * 4;
    let len = i64::from(total_len) - before as i64 - header_len as i64;
    if header_len < TCP_HEADER_LEN || len < 0 {
        return Err(Skip::Malformed);
    }
    let options_end = header_len.min(captured.len());
    let options = &captured[TCP_HEADER_LEN..options_end];
    let options = Options::read(options, options_end < header_len, header[13]);
    let (tcp, len, tunnel) = (header, len as u32, Tunnel::default());
    Ok(Content::Segment(Segment { addresses, tcp, options, len, ip_id, tunnel }))
}
