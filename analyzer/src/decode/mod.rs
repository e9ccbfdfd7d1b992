//! A captured frame becomes a TCP segment, or a counted reason why not.
//!
//! Lengths come from the IP header, never from the captured bytes: `tcpdump -s 96` cuts frames
//! short and Ethernet pads them.

pub mod filter;
pub mod layers;
pub mod layout;
pub mod seq;
pub mod tunnel;

#[cfg(feature = "filter")]
mod bpf;
mod ip;
mod names;
#[cfg(any(test, not(feature = "filter")))]
mod no_bpf;
mod options;
mod plain;

#[cfg(not(feature = "filter"))]
use no_bpf as bpf;
pub use options::{Options, blank_addresses};
pub use plain::plain_segment;

use tunnel::Tunnel;

pub const FIN: u8 = 0x01;
pub const SYN: u8 = 0x02;
pub const RST: u8 = 0x04;
pub const ACK: u8 = 0x10;
pub const URG: u8 = 0x20;

/// Headers without options, in bytes (RFC 791, RFC 8200 and RFC 9293).
const IPV4_HEADER_LEN: usize = 20;
const IPV6_HEADER_LEN: usize = 40;
const TCP_HEADER_LEN: usize = 20;

/// Source and destination address, adjacent as in the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addresses<'a> {
    V4(&'a [u8; 8]),
    V6(&'a [u8; 32]),
}

/// One TCP segment. It borrows the captured header: a copy here would be copied once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment<'a> {
    pub addresses: Addresses<'a>,
    tcp: &'a [u8; TCP_HEADER_LEN],
    options: Options,
    /// Payload bytes on the wire.
    len: u32,
    /// IPv4 identification; 0 where there is none.
    ip_id: u16,
    pub tunnel: Tunnel,
}

/// Source and destination port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ports {
    pub src: u16,
    pub dst: u16,
}

/// What a connection needs of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub seq: u32,
    pub ack: u32,
    /// Payload bytes on the wire.
    pub len: u32,
    /// As on the wire, not scaled.
    pub window: u16,
    /// IPv4 identification; 0 where there is none.
    pub ip_id: u16,
    pub options: Options,
    pub flags: u8,
}

impl Header {
    /// A SYN without ACK.
    pub fn is_opening(&self) -> bool {
        self.flags & (SYN | ACK) == SYN
    }

    /// An ACK without anything else.
    pub fn is_pure_ack(&self) -> bool {
        self.len == 0 && self.flags & (ACK | SYN | FIN | RST) == ACK
    }

    pub fn has(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }
}

impl Segment<'_> {
    #[inline]
    pub fn ports(&self) -> Ports {
        let [s0, s1, d0, d1, ..] = *self.tcp;
        Ports { src: u16::from_be_bytes([s0, s1]), dst: u16::from_be_bytes([d0, d1]) }
    }

    #[inline]
    pub fn header(&self) -> Header {
        let tcp = self.tcp;
        Header {
            seq: u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]),
            ack: u32::from_be_bytes([tcp[8], tcp[9], tcp[10], tcp[11]]),
            len: self.len,
            window: u16::from_be_bytes([tcp[14], tcp[15]]),
            ip_id: self.ip_id,
            options: self.options,
            flags: tcp[13],
        }
    }
}

/// Why a frame is not analysed. Every frame is a segment or one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skip {
    Filtered,
    UnknownLink,
    NotIp,
    NotTcp,
    Fragment,
    Cut,
    Malformed,
    Mpls,
    Esp,
    Ah,
    Macsec,
    WlanNoData,
    WlanEncrypted,
    WlanPiece,
    TooDeep,
}

impl Skip {
    pub const ALL: [Skip; 15] = [
        Skip::Filtered,
        Skip::UnknownLink,
        Skip::NotIp,
        Skip::NotTcp,
        Skip::Fragment,
        Skip::Cut,
        Skip::Malformed,
        Skip::Mpls,
        Skip::Esp,
        Skip::Ah,
        Skip::Macsec,
        Skip::WlanNoData,
        Skip::WlanEncrypted,
        Skip::WlanPiece,
        Skip::TooDeep,
    ];

    /// The notice, after the count.
    pub fn reason(self) -> &'static str {
        match self {
            Skip::Filtered => "left out by the filter",
            Skip::UnknownLink => "of a link type that is not supported",
            Skip::NotIp => "not IP (ARP and the like)",
            Skip::NotTcp => "IP but not TCP (UDP, ICMP, tunnels ...)",
            Skip::Fragment => "IP fragments, not reassembled",
            Skip::Cut => "captured too short to hold a TCP header",
            Skip::Malformed => "with a malformed IP or TCP header",
            Skip::Mpls => "MPLS without IP or Ethernet in it",
            Skip::Esp => "encrypted (IPsec ESP)",
            Skip::Ah => "authenticated (IPsec AH over IPv4)",
            Skip::Macsec => "encrypted or signed (MACsec)",
            Skip::WlanNoData => "802.11 without data (beacons, acknowledgements ...)",
            Skip::WlanEncrypted => "encrypted (802.11)",
            Skip::WlanPiece => "802.11 fragments or aggregates, not reassembled or taken apart",
            Skip::TooDeep => "in more tunnels than are followed",
        }
    }
}

/// Decodes one captured frame.
///
/// `wire_len` is the frame's length on the wire. It replaces an IP total length of 0, as TSO leaves
/// in packets over 64 KB.
pub fn segment(link_type: u32, frame: &[u8], wire_len: u32) -> Result<Segment<'_>, Skip> {
    match plain::segment(link_type, frame) {
        Some(segment) => Ok(segment),
        None => any_segment(link_type, frame, wire_len),
    }
}

/// As [`segment`], for any headers.
#[inline(never)]
fn any_segment(link_type: u32, frame: &[u8], wire_len: u32) -> Result<Segment<'_>, Skip> {
    layers::innermost(link_type, frame, wire_len).map(|found| found.segment)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::capture::Frame;
    use crate::capture::link::RAW;

    pub fn packet(total_len: u16, tcp_options: &[u8], captured_payload: usize) -> Vec<u8> {
        let mut bytes = vec![0x45, 0];
        bytes.extend(total_len.to_be_bytes());
        bytes.extend([0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        bytes.extend([0x1f, 0x90, 0x00, 0x50, 0, 0, 0, 7, 0, 0, 0, 9]);
        bytes.extend([((20 + tcp_options.len()) as u8 / 4) << 4, ACK, 1, 0, 0, 0, 0, 0]);
        bytes.extend(tcp_options);
        bytes.resize(bytes.len() + captured_payload, b'x');
        bytes
    }

    #[test]
    fn payload_length_is_the_ip_headers_not_the_captured_one() {
        let len = |bytes: &[u8], wire_len| segment(RAW, bytes, wire_len).unwrap().header().len;
        let (snapped, padded, offloaded) = (1040, 46, 70_040);
        assert_eq!(len(&packet(1040, &[], 10), snapped), 1000);
        assert_eq!(len(&packet(41, &[], 6), padded), 1);
        assert_eq!(len(&packet(0, &[], 10), offloaded), 70_000);
    }

    #[test]
    fn options_are_read_and_nonsense_stops_quietly() {
        let syn = [2, 4, 0x05, 0xb4, 4, 2, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0, 1, 3, 3, 7];
        let read = Options::read(&syn, false, SYN);
        assert_eq!((read.mss(), read.window_scale()), (1460, Some(7)));
        assert_eq!(read.tsval(), Some(0));
        assert_eq!(Options::read(&[2, 40, 1], false, SYN), Options::default());
        assert_eq!(Options::read(&[2, 0, 1, 1], false, SYN), Options::default());
        let after_sack = [1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2, 8, 10, 0, 0, 0, 3, 0, 0, 0, 4];
        let read = Options::read(&after_sack, false, ACK);
        assert_eq!((read.tsval(), read.echo(), read.mss()), (Some(3), None, 0));
        assert!(read.is_sack_from(1));
        let stamps = [8, 10, 0, 0, 0, 3, 9, 9, 0x12, 0x34];
        for options in [&[&[1, 1][..], &stamps].concat(), &[&stamps[..], &[1, 1]].concat()] {
            let read = Options::read(options, false, ACK);
            assert_eq!((read.echo(), read.tsval_end(), read.mss()), (Some(0x1234), 3, 0));
            assert_eq!(Options::plain(options, ACK).unwrap_or(read), read);
        }
    }

    #[test]
    fn options_that_the_snap_length_cut_are_marked() {
        let mut whole = packet(60, &[2, 4, 0x05, 0xb4, 4, 2, 1, 3, 3, 7, 0, 0], 0);
        whole[33] = SYN;
        let read = segment(RAW, &whole, 52).unwrap().header().options;
        assert_eq!((read.window_scale(), read.is_cut()), (Some(7), false));
        let read = segment(RAW, &whole[..47], 52).unwrap().header().options;
        assert_eq!((read.mss(), read.window_scale(), read.is_cut()), (1460, None, true));
    }

    #[test]
    fn each_reason_to_skip_is_told() {
        let good = packet(40, &[], 0);
        let mut udp = good.clone();
        udp[9] = 17;
        let mut fragment = good.clone();
        fragment[6] = 0x20;
        let mut short_offset = good.clone();
        short_offset[32] = 0x10;
        for (bytes, reason) in [
            (&udp, Skip::NotTcp),
            (&fragment, Skip::Fragment),
            (&short_offset, Skip::Malformed),
            (&packet(30, &[], 0), Skip::Malformed),
            (&good[..39].to_vec(), Skip::Cut),
            (&vec![0x15; 40], Skip::Malformed),
        ] {
            assert_eq!(segment(RAW, bytes, 40), Err(reason));
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic() {
        let mut state = 1_u32;
        let mut bytes = packet(60, &[], 20);
        for _ in 0..20_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = (state >> 8) as usize % bytes.len();
            bytes[at] ^= (state >> 24) as u8;
            let cut = (state >> 16) as usize % (bytes.len() + 1);
            for link_type in crate::capture::link::tests::numbers() {
                let data = &bytes[..cut];
                let frame = Frame { time_ns: 0, wire_len: 1500, link_type, data };
                if let Some(layout) = layout::Layout::of(&frame) {
                    assert!(layout.payload_at() <= cut);
                }
            }
        }
    }
}
