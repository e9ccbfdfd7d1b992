//! Where the headers of a captured TCP segment lie: what cutting and rewriting a frame need.

use crate::capture::Frame;
use crate::capture::link::{self, Inside};
use crate::decode;
use etherparse::{IpNumber, Ipv6ExtensionsSlice};

/// RFC 8200, section 3: the fixed header, in bytes.
const IPV6_HEADER_LEN: usize = 40;

/// Offsets into a frame that holds a TCP segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    pub ip_at: usize,
    pub tcp_at: usize,
    /// Behind the TCP options; the frame's end where it is cut before that.
    pub payload_at: usize,
    /// Length of the TCP header, captured or not.
    pub tcp_header_len: usize,
    /// Payload bytes on the wire.
    pub payload_len: u32,
}

impl Layout {
    /// `None` where the frame holds no TCP segment that the analysis uses.
    pub fn of(frame: &Frame<'_>) -> Option<Self> {
        let segment = decode::segment(frame.link_type, frame.data, frame.wire_len).ok()?;
        let Inside::Ip(packet) = link::packet(frame.link_type, frame.data) else {
            return None;
        };
        let ip_at = frame.data.len() - packet.len();
        let tcp_at = ip_at + ip_header_len(packet)?;
        let tcp_header_len = usize::from(frame.data.get(tcp_at + 12)? >> 4) * 4;
        Some(Self {
            ip_at,
            tcp_at,
            payload_at: frame.data.len().min(tcp_at + tcp_header_len),
            tcp_header_len,
            payload_len: segment.header().len,
        })
    }

    /// Does the frame hold the whole segment?
    pub fn is_whole(&self, frame_len: usize) -> bool {
        self.tcp_at + self.tcp_header_len + self.payload_len as usize <= frame_len
    }
}

/// Length of the IP header with its options or extension headers.
fn ip_header_len(packet: &[u8]) -> Option<usize> {
    if packet.first()? >> 4 == 4 {
        return Some(usize::from(packet[0] & 0x0f) * 4);
    }
    let (_, _, rest, _) = Ipv6ExtensionsSlice::from_slice_lax(
        IpNumber(*packet.get(6)?),
        packet.get(IPV6_HEADER_LEN..)?,
    );
    Some(packet.len() - rest.len())
}
