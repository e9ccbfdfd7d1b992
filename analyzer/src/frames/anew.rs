//! An anonymized segment, in a packet written anew: an IP header of its own, the TCP header, and the payload
//! that was captured. Nothing else of a frame is there, so nothing else can give an address away: no
//! link layer with its hardware addresses and tags, no tunnel, no IP options or extension headers.

use crate::capture::Frame;
use crate::capture::link::RAW;
use crate::decode::blank_addresses;
use crate::decode::layout::Layout;
use crate::frames::checksum;
use crate::result::anonymize::Anonymizer;
use std::net::IpAddr;

const TCP: u8 = 6;
/// RFC 791, section 3.1, and RFC 8200, section 3: where the checksum, the time to live and the hop limit are.
const IPV4_CHECKSUM_AT: usize = 10;
const IPV4_TTL_AT: usize = 8;
const IPV6_HOPS_AT: usize = 7;
const DONT_FRAGMENT: u8 = 0x40;

/// A packet and where its headers are.
pub struct Packet {
    pub data: Vec<u8>,
    pub layout: Layout,
}

/// The segment of a frame as a packet without a link layer ([`RAW`]); TCP options that may hold an address are
/// NOPs, the TCP checksum is not computed yet. What follows the segment, as Ethernet pads, is left out.
pub fn packet(frame: &[u8], layout: &Layout, anonymizer: &Anonymizer) -> Option<Packet> {
    let header = &frame[layout.ip_header.clone()];
    let addresses = &frame[layout.ip_addresses.clone()];
    let tcp_len = layout.tcp_header_len + layout.payload_len as usize;
    let mut data = match layout.ip_checksum_at {
        Some(_) => ipv4(header, addresses, tcp_len, anonymizer)?,
        None => ipv6(header, addresses, tcp_len, anonymizer)?,
    };
    let wire_len = (data.len() + tcp_len) as u32;
    data.extend_from_slice(&frame[layout.tcp_at..frame.len().min(layout.end())]);
    let layout = Layout::of(&Frame { time_ns: 0, wire_len, link_type: RAW, data: &data })?;
    blank_addresses(&mut data[layout.tcp_options.clone()]);
    Some(Packet { data, layout })
}

/// Version, service, length, identification, `DF`, TTL. A checksum that was right is right, else wrong.
fn ipv4(
    header: &[u8],
    addresses: &[u8],
    tcp_len: usize,
    anonymizer: &Anonymizer,
) -> Option<Vec<u8>> {
    const LEN: usize = 20;
    let [high, low] = length_field(LEN + tcp_len);
    let flags = header[6] & DONT_FRAGMENT;
    let mut new = vec![
        0x45,
        header[1],
        high,
        low,
        header[4],
        header[5],
        flags,
        0,
        header[IPV4_TTL_AT],
        TCP,
        0,
        0,
    ];
    for addr in addresses.as_chunks::<4>().0 {
        let IpAddr::V4(replaced) = anonymizer.addr(IpAddr::from(*addr)) else { return None };
        new.extend(replaced.octets());
    }
    let was_right = header[IPV4_CHECKSUM_AT..][..2]
        == checksum::right(0, header, IPV4_CHECKSUM_AT).to_be_bytes();
    let right = checksum::right(0, &new, IPV4_CHECKSUM_AT);
    let sum = if was_right { right } else { checksum::wrong(right) };
    new[IPV4_CHECKSUM_AT..][..2].copy_from_slice(&sum.to_be_bytes());
    Some(new)
}

/// Version, traffic class, length, hop limit; no flow label.
fn ipv6(
    header: &[u8],
    addresses: &[u8],
    tcp_len: usize,
    anonymizer: &Anonymizer,
) -> Option<Vec<u8>> {
    let [high, low] = length_field(tcp_len);
    let mut new = vec![header[0], header[1] & 0xf0, 0, 0, high, low, TCP, header[IPV6_HOPS_AT]];
    for addr in addresses.as_chunks::<16>().0 {
        let IpAddr::V6(replaced) = anonymizer.addr(IpAddr::from(*addr)) else { return None };
        new.extend(replaced.octets());
    }
    Some(new)
}

/// 0 for what it cannot hold, as TSO leaves it.
fn length_field(len: usize) -> [u8; 2] {
    u16::try_from(len).unwrap_or(0).to_be_bytes()
}
