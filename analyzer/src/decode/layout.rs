//! Where the headers of a captured TCP segment are, for cutting and rewriting the frame.

use crate::capture::Frame;
use crate::capture::link;
use crate::decode::layers;
use crate::decode::tcp::{IPV6_HEADER_LEN, TCP_HEADER_LEN};
use etherparse::{IpNumber, Ipv6ExtensionsSlice};
use std::ops::Range;

/// RFC 791, section 3.1.
const IPV4_CHECKSUM_AT: usize = 10;
const IPV4_ADDRESSES: Range<usize> = 12..20;
/// RFC 8200, section 3.
const IPV6_NEXT_HEADER_AT: usize = 6;
const IPV6_ADDRESSES: Range<usize> = 8..40;
/// RFC 9293, section 3.1.
const TCP_DATA_OFFSET_AT: usize = 12;
const TCP_CHECKSUM_AT: usize = 16;

/// Offsets into a frame that holds a TCP segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// There are other headers around the IP packet, with addresses and checksums that are not found
    /// here: see [`bare`].
    pub is_wrapped: bool,
    /// The IP header with its options or extension headers.
    pub ip_header: Range<usize>,
    /// Source and destination, one after the other.
    pub ip_addresses: Range<usize>,
    /// IPv4 only.
    pub ip_checksum_at: Option<usize>,
    pub tcp_at: usize,
    pub tcp_checksum_at: usize,
    /// TCP options as far as they were captured.
    pub tcp_options: Range<usize>,
    /// Length of the TCP header, captured or not.
    pub tcp_header_len: usize,
    /// Payload bytes on the wire.
    pub payload_len: u32,
}

impl Layout {
    /// `None` if the frame holds no TCP segment that is analysed, or its link type is unsupported.
    pub fn of(frame: &Frame<'_>) -> Option<Self> {
        let found = layers::innermost(frame.link_type, frame.data, frame.wire_len).ok()?;
        let packet = found.packet;
        let is_ipv4 = packet.first()? >> 4 == 4;
        let ip_at = frame.data.len() - packet.len();
        let tcp_at =
            ip_at + if is_ipv4 { ipv4_header_len(packet) } else { ipv6_header_len(packet)? };
        let tcp_header_len = usize::from(frame.data.get(tcp_at + TCP_DATA_OFFSET_AT)? >> 4) * 4;
        let addresses = if is_ipv4 { IPV4_ADDRESSES } else { IPV6_ADDRESSES };
        Some(Self {
            is_wrapped: found.is_wrapped,
            ip_header: ip_at..tcp_at,
            ip_addresses: ip_at + addresses.start..ip_at + addresses.end,
            ip_checksum_at: is_ipv4.then_some(ip_at + IPV4_CHECKSUM_AT),
            tcp_at,
            tcp_checksum_at: tcp_at + TCP_CHECKSUM_AT,
            tcp_options: tcp_at + TCP_HEADER_LEN..frame.data.len().min(tcp_at + tcp_header_len),
            tcp_header_len,
            payload_len: found.segment.header().len,
        })
    }

    /// After the TCP options; the frame's end where it is cut before that.
    pub fn payload_at(&self) -> usize {
        self.tcp_options.end
    }

    /// Where the segment ends, captured or not; Ethernet padding may follow.
    pub fn end(&self) -> usize {
        self.tcp_at + self.tcp_header_len + self.payload_len as usize
    }
}

/// The innermost IP packet of a frame, without trailing bytes.
pub fn bare<'a>(frame: &Frame<'a>, layout: &Layout) -> Frame<'a> {
    let Range { start, .. } = layout.ip_header;
    let data = &frame.data[start..layout.end().min(frame.data.len())];
    let wire_len = frame.wire_len.saturating_sub(start as u32).max(data.len() as u32);
    Frame { link_type: link::RAW, wire_len, data, ..*frame }
}

fn ipv4_header_len(packet: &[u8]) -> usize {
    usize::from(packet[0] & 0x0f) * 4
}

/// Length of the IPv6 header with its extension headers.
fn ipv6_header_len(packet: &[u8]) -> Option<usize> {
    let next = IpNumber(*packet.get(IPV6_NEXT_HEADER_AT)?);
    let extensions = packet.get(IPV6_HEADER_LEN..)?;
    let (_, _, rest, _) = Ipv6ExtensionsSlice::from_slice_lax(next, extensions);
    Some(packet.len() - rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::link::{
        RAW,
        tests::{framed, numbers},
    };
    use crate::decode::tests::packet;

    fn layout(link_type: u32, data: &[u8]) -> Option<Layout> {
        Layout::of(&Frame { time_ns: 0, wire_len: data.len() as u32, link_type, data })
    }

    #[test]
    fn headers_are_found_in_every_link_layer() {
        let packet = packet(51, &[1, 1, 1, 1], 9);
        for link_type in numbers() {
            let data = framed(link_type, &packet);
            let found = layout(link_type, &data).unwrap();
            assert_eq!(data[found.ip_addresses.clone()], [10, 0, 0, 1, 10, 0, 0, 2]);
            assert_eq!(data[found.tcp_at..found.tcp_at + 4], [0x1f, 0x90, 0, 80]);
            assert_eq!(data[found.tcp_options.clone()], [1; 4]);
            assert_eq!(data[found.payload_at()..found.end()], *b"xxxxxxx");
        }
    }

    #[test]
    fn a_link_type_that_is_not_in_the_table_has_no_layout() {
        assert_eq!(layout(105, &packet(40, &[], 0)), None);
    }

    #[test]
    fn what_the_snap_length_cut_is_not_there() {
        let whole = packet(60, &[1; 12], 8);
        let found = layout(RAW, &whole[..46]).unwrap();
        assert_eq!((found.tcp_options.clone(), found.payload_at()), (40..46, 46));
        assert_eq!((found.tcp_header_len, found.end()), (32, 60));
    }
}
