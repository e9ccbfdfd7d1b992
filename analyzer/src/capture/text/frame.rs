//! A printed packet as the frame that it may have been: headers, and no payload.

use super::ends::EndNames;
use super::line::{PrintedPacket, PrintedSegment};
use super::numbers::{Numbers, Sent};
use super::options::PrintedOptions;
use super::time::{Course, Stamp};
use crate::capture::{Frame, link};
use etherparse::{IpNumber, Ipv4Header, Ipv6Header, TcpHeader};
use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::ops::Deref;

/// Too short for a header.
const CUT: [u8; 1] = [0x45];
/// An Ethernet header without addresses, of ARP.
const NOT_IP: [u8; 14] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x08, 0x06];

/// Makes frames of the packets of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frames {
    course: Course,
    pub names: EndNames,
    numbers: Numbers,
    bytes: Vec<u8>,
    /// No packet between them is used.
    hosts_unnumbered: HashSet<[String; 2]>,
    /// Of TCP, printed without numbers.
    pub packets_unnumbered: u64,
    /// Times tell the day, too.
    pub has_dates: bool,
    /// IP identifications are printed.
    pub has_ip_ids: bool,
}

impl Frames {
    /// Of a text where each time counts from the packet before, or not. Between `hosts_unnumbered` TCP
    /// is printed without numbers.
    pub fn new(is_relative: bool, hosts_unnumbered: HashSet<[String; 2]>) -> Self {
        Self {
            course: Course::new(is_relative),
            names: EndNames::default(),
            numbers: Numbers::default(),
            bytes: Vec::new(),
            hosts_unnumbered,
            packets_unnumbered: 0,
            has_dates: false,
            has_ip_ids: false,
        }
    }

    /// The frame of the next packet. What is no readable TCP segment becomes one that is skipped for the
    /// same reason.
    pub fn frame(&mut self, stamp: Stamp, packet: &PrintedPacket<'_>) -> Frame<'_> {
        self.has_dates |= matches!(stamp, Stamp::At(_));
        self.bytes.clear();
        let wire_len = match packet {
            PrintedPacket::Tcp(printed) => self.segment(printed),
            PrintedPacket::Quiet(ends) => {
                self.packets_unnumbered += 1;
                self.hosts_unnumbered.insert(ends.hosts());
                None
            }
            _ => None,
        };
        match packet {
            PrintedPacket::NotTcp => other(false, &mut self.bytes),
            PrintedPacket::Fragment => other(true, &mut self.bytes),
            PrintedPacket::NotIp => self.bytes.extend(NOT_IP),
            _ if wire_len.is_none() => self.bytes.extend(CUT),
            _ => {}
        }
        Frame {
            time_ns: self.course.time_ns(stamp),
            wire_len: wire_len.unwrap_or(self.bytes.len() as u32),
            link_type: if matches!(packet, PrintedPacket::NotIp) {
                link::ETHERNET
            } else {
                link::RAW
            },
            data: &self.bytes,
        }
    }

    /// Length on the wire; `None` where an end or the sequence number cannot be told.
    fn segment(&mut self, printed: &PrintedSegment<'_>) -> Option<u32> {
        self.has_ip_ids |= printed.ip_id != 0;
        // Which connection the packets without numbers belong to is unknown.
        let is_usable = self.hosts_unnumbered.is_empty()
            || !self.hosts_unnumbered.contains(&printed.ends.hosts());
        let ends = self.names.ends(printed.ends).filter(|_| is_usable)?;
        let sent = self.numbers.sent(ends, printed)?;
        Some(segment(ends, printed, &sent, &mut self.bytes))
    }
}

/// Where these are in a TCP header (RFC 9293, section 3.1).
const DATA_OFFSET: usize = 12;
const FLAGS: usize = 13;
/// The largest header, in the upper four bits.
const LONGEST: u8 = 0xf0;

/// An IPv4 packet of UDP, or a fragment of TCP.
fn other(is_fragment: bool, into: &mut Vec<u8>) {
    let protocol = if is_fragment { IpNumber::TCP } else { IpNumber::UDP };
    let total_len = Ipv4Header::MIN_LEN as u16;
    let header =
        Ipv4Header { more_fragments: is_fragment, protocol, total_len, ..Ipv4Header::default() };
    into.extend(header.to_bytes());
}

/// The headers of a segment; returns its length on the wire.
fn segment(
    ends: [SocketAddr; 2],
    printed: &PrintedSegment<'_>,
    sent: &Sent,
    into: &mut Vec<u8>,
) -> u32 {
    let tcp = tcp(ends, printed, sent);
    let tcp_len = (u32::from(tcp[DATA_OFFSET] >> 4) * 4).saturating_add(printed.len);
    let ip_len = ip(ends.map(|end| end.ip()), printed.ip_id, tcp_len, into);
    into.extend_from_slice(&tcp);
    tcp_len.saturating_add(ip_len)
}

/// Adds the IP header and returns its length. A length that it cannot tell is 0, as in packets that a
/// network card will divide.
fn ip(ends: [IpAddr; 2], ip_id: u16, tcp_len: u32, into: &mut Vec<u8>) -> u32 {
    if let [IpAddr::V4(source), IpAddr::V4(destination)] = ends {
        let ip_len = Ipv4Header::MIN_LEN as u32;
        let header = Ipv4Header {
            identification: ip_id,
            total_len: u16::try_from(tcp_len.saturating_add(ip_len)).unwrap_or(0),
            protocol: IpNumber::TCP,
            source: source.octets(),
            destination: destination.octets(),
            ..Ipv4Header::default()
        };
        into.extend(header.to_bytes());
        return ip_len;
    }
    let [source, destination] = ends.map(|end| match end {
        IpAddr::V4(addr) => addr.to_ipv6_mapped().octets(),
        IpAddr::V6(addr) => addr.octets(),
    });
    let header = Ipv6Header {
        payload_length: u16::try_from(tcp_len).unwrap_or(0),
        next_header: IpNumber::TCP,
        source,
        destination,
        ..Ipv6Header::default()
    };
    into.extend(header.to_bytes());
    Ipv6Header::LEN as u32
}

fn tcp(
    [from, to]: [SocketAddr; 2],
    printed: &PrintedSegment<'_>,
    sent: &Sent,
) -> impl Deref<Target = [u8]> {
    let mut header = TcpHeader::new(from.port(), to.port(), sent.seq, sent.window);
    header.acknowledgment_number = sent.ack;
    // They are at most as long as there is room.
    let _ = header.set_options_raw(PrintedOptions::read(printed.options, sent).bytes());
    let mut bytes = header.to_bytes();
    bytes[FLAGS] = printed.flags;
    if printed.is_cut {
        bytes[DATA_OFFSET] = LONGEST;
    }
    bytes
}
