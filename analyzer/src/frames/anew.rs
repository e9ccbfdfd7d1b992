//! An anonymized segment, in a packet written anew: an IP header of its own, the TCP header, and
//! the captured payload. Nothing else can give an address away: no link layer with its hardware
//! addresses and tags, no tunnel, no IP options or extension headers.

use crate::capture::Frame;
use crate::capture::link::RAW;
use crate::decode::blank_addresses;
use crate::decode::layout::Layout;
use crate::frames::checksum;
use crate::result::anonymize::Anonymizer;
use etherparse::checksum::Sum16BitWords;
use etherparse::{IpNumber, Ipv4Header, Ipv4Options, Ipv6FlowLabel, Ipv6Header};
use std::net::IpAddr;

/// RFC 791, section 3.1.
const IPV4_CHECKSUM_AT: usize = 10;

/// A packet and where its headers are.
pub struct Packet {
    pub data: Vec<u8>,
    pub layout: Layout,
}

/// The segment of a frame as a packet without a link layer ([`RAW`]); TCP options that may hold an
/// address are NOPs, the TCP checksum is not computed yet. Padding behind the segment is left out.
pub fn packet(frame: &[u8], layout: &Layout, anonymizer: &Anonymizer) -> Option<Packet> {
    let header = &frame[layout.ip_header.clone()];
    let tcp_len = layout.tcp_header_len + layout.payload_len as usize;
    let mut data = match layout.ip_checksum_at {
        Some(_) => ipv4(header, tcp_len, anonymizer)?,
        None => ipv6(header, tcp_len, anonymizer)?,
    };
    let wire_len = (data.len() + tcp_len) as u32;
    data.extend_from_slice(&frame[layout.tcp_at..frame.len().min(layout.end())]);
    let layout = Layout::of(&Frame { time_ns: 0, wire_len, link_type: RAW, data: &data })?;
    blank_addresses(&mut data[layout.tcp_options.clone()]);
    Some(Packet { data, layout })
}

/// The header without its options. A checksum that was right is right, else wrong.
fn ipv4(header: &[u8], tcp_len: usize, anonymizer: &Anonymizer) -> Option<Vec<u8>> {
    let replaced = |addr: [u8; 4]| match anonymizer.addr(addr.into()) {
        IpAddr::V4(addr) => Some(addr.octets()),
        IpAddr::V6(_) => None,
    };
    let (old, _) = Ipv4Header::from_slice(header).ok()?;
    let was_right =
        old.header_checksum == checksum::right(Sum16BitWords::new(), header, IPV4_CHECKSUM_AT);
    let mut new = Ipv4Header {
        total_len: length_field(Ipv4Header::MIN_LEN + tcp_len),
        source: replaced(old.source)?,
        destination: replaced(old.destination)?,
        options: Ipv4Options::default(),
        ..old
    };
    let right = new.calc_header_checksum();
    new.header_checksum = if was_right { right } else { checksum::wrong(right) };
    Some(new.to_bytes().to_vec())
}

/// The header without its flow label and the headers that extend it.
fn ipv6(header: &[u8], tcp_len: usize, anonymizer: &Anonymizer) -> Option<Vec<u8>> {
    let replaced = |addr: [u8; 16]| match anonymizer.addr(addr.into()) {
        IpAddr::V6(addr) => Some(addr.octets()),
        IpAddr::V4(_) => None,
    };
    let (old, _) = Ipv6Header::from_slice(header).ok()?;
    let new = Ipv6Header {
        flow_label: Ipv6FlowLabel::ZERO,
        payload_length: length_field(tcp_len),
        next_header: IpNumber::TCP,
        source: replaced(old.source)?,
        destination: replaced(old.destination)?,
        ..old
    };
    Some(new.to_bytes().to_vec())
}

/// 0 for what it cannot hold, as TSO leaves it.
fn length_field(len: usize) -> u16 {
    u16::try_from(len).unwrap_or(0)
}
