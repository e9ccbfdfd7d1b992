//! Where the headers of a captured TCP segment are, for cutting and rewriting the frame.

use crate::capture::Frame;
use crate::capture::link;
use crate::decode::layers;
use crate::decode::tcp::{Addresses, TCP_HEADER_LEN};
use std::ops::Range;

/// RFC 791, section 3.1.
const IPV4_CHECKSUM_AT: usize = 10;
/// RFC 9293, section 3.1.
const TCP_DATA_OFFSET_AT: usize = 12;
const TCP_CHECKSUM_AT: usize = 16;

/// Offsets into a frame that holds a TCP segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// There are other headers around the IP packet, with addresses and checksums that are not
    /// found here: see [`bare`].
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
        // Decoding copies nothing: each part lies in the frame.
        let begin = |part: &[u8]| part.as_ptr().addr() - frame.data.as_ptr().addr();
        let (ip_at, tcp_at) = (begin(found.packet), begin(found.segment.tcp));
        let (addresses, ip_checksum_at): (&[u8], _) = match found.segment.addresses {
            Addresses::V4(both) => (both, Some(ip_at + IPV4_CHECKSUM_AT)),
            Addresses::V6(both) => (both, None),
        };
        let tcp_header_len = usize::from(found.segment.tcp[TCP_DATA_OFFSET_AT] >> 4) * 4;
        Some(Self {
            is_wrapped: found.is_wrapped,
            ip_header: ip_at..tcp_at,
            ip_addresses: begin(addresses)..begin(addresses) + addresses.len(),
            ip_checksum_at,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::tests::packet;

    #[test]
    fn what_the_snap_length_cut_is_not_there() {
        let whole = packet(60, &[1; 12], 8);
        let (link_type, data) = (link::RAW, &whole[..46]);
        let found = Layout::of(&Frame { time_ns: 0, wire_len: 46, link_type, data }).unwrap();
        assert_eq!((found.tcp_options.clone(), found.payload_at()), (40..46, 46));
        assert_eq!((found.tcp_header_len, found.end()), (32, 60));
    }
}
