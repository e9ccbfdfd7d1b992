//! A decoded TCP segment, and why a frame is none.

use crate::decode::Options;
use crate::decode::tunnel::Tunnel;
use crate::named::named;
use texts::flags::{ACK, FIN, RST, SYN};

/// Headers without options, in bytes (RFC 791, RFC 8200 and RFC 9293).
pub(super) const IPV4_HEADER_LEN: usize = 20;
pub(super) const IPV6_HEADER_LEN: usize = 40;
pub(super) const TCP_HEADER_LEN: usize = 20;

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
    pub(super) tcp: &'a [u8; TCP_HEADER_LEN],
    pub(super) options: Options,
    /// Payload bytes on the wire.
    pub(super) len: u32,
    /// IPv4 identification; 0 where there is none.
    pub(super) ip_id: u16,
    pub tunnel: Tunnel,
}

/// Source and destination port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ports {
    pub src: u16,
    pub dst: u16,
}

/// The parts of a segment that a connection needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub seq: u32,
    pub ack: u32,
    /// Payload bytes on the wire.
    pub len: u32,
    /// The window on the wire, not scaled.
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

    /// Marks it as one that printed text did not show.
    pub fn infer(&mut self) {
        self.options.infer();
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

named! {
    /// Why a frame that is not a segment is not analysed, as notices say it behind the count.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Skip {
        Filtered = "left out by the filter",
        Outside = "outside the times that were asked for",
        UnknownLink = "of a link type that is not supported",
        NotIp = "not IP (ARP and the like)",
        NotTcp = "IP but not TCP (UDP, ICMP, tunnels ...)",
        Fragment = "IP fragments, not reassembled",
        Cut = "captured too short to hold a TCP header",
        Malformed = "with a malformed IP or TCP header",
        Mpls = "MPLS without IP or Ethernet in it",
        Esp = "encrypted (IPsec ESP)",
        Ah = "authenticated (IPsec AH over IPv4)",
        Macsec = "encrypted or signed (MACsec)",
        WlanNoData = "802.11 without data (beacons, acknowledgements ...)",
        WlanEncrypted = "encrypted (802.11)",
        WlanPiece = "802.11 fragments or aggregates, not reassembled or taken apart",
        TooDeep = "in more tunnels than are followed",
    }
}
