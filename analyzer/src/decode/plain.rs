//! The fast path: TCP in IPv4 without options in untagged Ethernet.

use super::Options;
use super::layers::ETHERTYPE_IPV4;
use super::tcp::{Addresses, IPV4_HEADER_LEN, Segment, TCP_HEADER_LEN};
use super::tunnel::Tunnel;
use crate::capture::link;
use etherparse::IpNumber;

/// RFC 791, section 3.1: a bit of the word with the fragment offset.
const DONT_FRAGMENT: u16 = 0x4000;
/// IEEE 802.3, in bytes.
const ETHERNET_HEADER_LEN: usize = 14;
/// The `EtherType` field.
const ETHERTYPE: std::ops::Range<usize> = 12..14;
/// Version and length of an IPv4 header without options.
const IPV4_WITHOUT_OPTIONS: u8 = 0x45;

/// Ethernet, IPv4 and TCP, all without options.
const HEADERS_LEN: usize = ETHERNET_HEADER_LEN + IPV4_HEADER_LEN + TCP_HEADER_LEN;

/// The fast path, with the usual layouts of options; `None` for anything else.
#[inline]
pub fn plain_segment(link_type: u32, frame: &[u8]) -> Option<Segment<'_>> {
    let (segment, options) = without_options(link_type, frame)?;
    Some(Segment { options: Options::plain(options, segment.tcp[13])?, ..segment })
}

/// The fast path, with any options.
pub fn segment(link_type: u32, frame: &[u8]) -> Option<Segment<'_>> {
    let (segment, options) = without_options(link_type, frame)?;
    Some(Segment { options: Options::read(options, false, segment.tcp[13]), ..segment })
}

/// A segment without its options, and these.
#[expect(clippy::inline_always, reason = "as Capture::next_frame")]
#[inline(always)]
fn without_options(link_type: u32, frame: &[u8]) -> Option<(Segment<'_>, &[u8])> {
    let (headers, captured) = frame.split_first_chunk::<HEADERS_LEN>()?;
    let (ethernet, packet) = headers.split_first_chunk::<ETHERNET_HEADER_LEN>()?;
    let (ip, tcp) = packet.split_first_chunk::<IPV4_HEADER_LEN>()?;
    let tcp: &[u8; TCP_HEADER_LEN] = tcp.first_chunk()?;
    let [total_len, ip_id, fragment] = [2, 4, 6].map(|at| u16::from_be_bytes([ip[at], ip[at + 1]]));
    let options_len = (usize::from(tcp[12] >> 4) * 4).checked_sub(TCP_HEADER_LEN)?;
    let headers_len = IPV4_HEADER_LEN + TCP_HEADER_LEN + options_len;
    let usual = link_type == link::ETHERNET
        && ethernet[ETHERTYPE] == ETHERTYPE_IPV4.to_be_bytes()
        && ip[0] == IPV4_WITHOUT_OPTIONS
        && fragment & !DONT_FRAGMENT == 0
        && ip[9] == IpNumber::TCP.0;
    if !usual {
        return None;
    }
    let len = u32::from(total_len).checked_sub(headers_len as u32)?;
    let addresses = Addresses::V4(ip.last_chunk()?);
    let (options, tunnel) = (Options::default(), Tunnel::default());
    let segment = Segment { addresses, tcp, options, len, ip_id, tunnel };
    Some((segment, captured.get(..options_len)?))
}

#[cfg(test)]
mod tests {
    use super::super::{ACK, SYN, any_segment, tests::packet};
    use super::*;
    use crate::capture::samples::random;

    /// The fast path decodes as the general one does.
    #[test]
    fn plain_headers_are_read_as_any_others() {
        let stamps = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
        let syn = [2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7];
        let ethernet = [[0; 12].as_slice(), &[0x08, 0x00]].concat();
        let frames = [(packet(60, &stamps, 8), ACK), (packet(60, &syn, 10), SYN)];
        let frames = frames.map(|(mut packet, flags)| {
            packet[33] = flags;
            [ethernet.as_slice(), &packet].concat()
        });
        let mut random = random(1);
        for frame in &frames {
            let (mut plain_ones, mut with_any_options) = (0, 0);
            for _ in 0..50_000 {
                let mut frame = frame.clone();
                for _ in 0..random(3) {
                    let at = random(frame.len());
                    frame[at] ^= 1 << random(8);
                }
                frame.truncate(frame.len() - random(20) * random(2));
                let all = any_segment(link::ETHERNET, &frame, 74);
                if let Some(found) = segment(link::ETHERNET, &frame) {
                    with_any_options += 1;
                    assert_eq!(all, Ok(found), "{frame:?}");
                }
                if let Some(found) = plain_segment(link::ETHERNET, &frame) {
                    plain_ones += 1;
                    assert_eq!(all, Ok(found), "{frame:?}");
                }
            }
            let counts = [10_000, plain_ones, with_any_options, 50_000];
            assert!(counts.is_sorted_by(|fewer, more| fewer < more), "{counts:?}");
            assert_eq!(plain_segment(link::RAW, frame), None);
        }
    }
}
