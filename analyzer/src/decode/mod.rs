//! A captured frame becomes a TCP segment, or a counted reason why not.
//!
//! Lengths come from the IP header, never from the captured bytes: `tcpdump -s 96` cuts frames
//! short and Ethernet pads them.

pub mod filter;
pub mod layers;
pub mod layout;
pub mod message;
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
mod tcp;
mod time_range;

#[cfg(not(feature = "filter"))]
use no_bpf as bpf;
pub use options::{Options, blank_addresses};
pub use plain::plain_segment;
pub use tcp::{Addresses, Header, Ports, Segment, Skip};
pub use texts::flags::{ACK, FIN, PSH, RST, SYN, URG};

/// Decodes one captured frame.
///
/// `wire_len` is the frame's length on the wire. It replaces an IP total length of 0, as of TSO.
pub fn segment(link_type: u32, frame: &[u8], wire_len: u32) -> Result<Segment<'_>, Skip> {
    match plain::segment(link_type, frame) {
        Some(segment) => Ok(segment),
        None => any_segment(link_type, frame, wire_len),
    }
}

/// Like [`segment`], for any headers.
#[inline(never)]
fn any_segment(link_type: u32, frame: &[u8], wire_len: u32) -> Result<Segment<'_>, Skip> {
    layers::innermost(link_type, frame, wire_len).map(|found| found.segment)
}

#[cfg(test)]
pub mod tests {
    use super::*;
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
}
