//! Printed packets as the frames that they may have been: headers, and no payload.

use super::buffer::Buffer;
use super::times::clamped;
use super::{Frame, InputEnd, link};
use crate::capture::error::ScanError;
use etherparse::{IpNumber, Ipv4Header, Ipv6Header, TcpHeader, TcpOptionElement};
use std::net::IpAddr;
use std::ops::Deref;
use std::{io, iter};
use texts::{
    AboutText, PrintedOptions, PrintedPacket, PrintedSegment, Refusal, SentPacket, SocketPair,
    Source, WireNumbers,
};

impl Source for Buffer {
    fn at_least(&mut self, wanted: usize) -> io::Result<&[u8]> {
        Self::at_least(self, wanted)
    }

    fn available(&self) -> &[u8] {
        Self::available(self)
    }

    fn consume(&mut self, count: usize) {
        Self::consume(self, count);
    }
}

/// A text that is being read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    packets: texts::Text,
    /// How the text ended; packets that were read are still to come.
    stop: InputEnd,
    bytes: Vec<u8>,
}

impl Text {
    /// Begins to read the text in `buffer`; `otherwise` is the error if it is not a packet text.
    ///
    /// # Errors
    /// It holds no packet, or lacks what the analysis needs.
    pub fn open(buffer: &mut Buffer, path: &str, otherwise: ScanError) -> Result<Self, ScanError> {
        let packets = texts::Text::open(buffer).map_err(|refusal| match refusal {
            Refusal::Unreadable(error) => ScanError::unreadable(path, &error),
            Refusal::Lacks(reason) => ScanError::not_a_capture(path, &reason),
            Refusal::NoText => otherwise,
        })?;
        Ok(Self { packets, stop: InputEnd::Complete, bytes: Vec::new() })
    }

    /// The next frame, if its line begins before `until`; where there is none, `end` is set.
    // Kept out of the hot loop of other formats.
    #[cold]
    pub fn next_frame(
        &mut self,
        buffer: &mut Buffer,
        until: u64,
        end: &mut Option<InputEnd>,
    ) -> Option<Frame<'_>> {
        if buffer.at() >= until {
            return None;
        }
        loop {
            match self.packets.next_packet(buffer) {
                Ok(Some(packet)) => return Some(self.frame(packet)),
                Ok(None) => {
                    *end = Some(self.stop.clone());
                    return None;
                }
                Err(error) => self.stop = error.into(),
            }
        }
    }

    /// Remarks on the text that was read so far.
    pub fn about(&self) -> AboutText {
        self.packets.about()
    }

    /// The frame of the next packet. Without a TCP segment it is skipped for the same reason.
    fn frame(&mut self, SentPacket { time_ns, packet, numbers }: SentPacket) -> Frame<'_> {
        self.bytes.clear();
        let mut wire_len = None;
        match (packet, &numbers) {
            (PrintedPacket::Tcp(ends, printed), Some(numbers)) => {
                wire_len = Some(segment(ends, &printed, numbers, &mut self.bytes));
            }
            (PrintedPacket::NotTcp, _) => other(false, &mut self.bytes),
            (PrintedPacket::Fragment, _) => other(true, &mut self.bytes),
            (PrintedPacket::NotIp, _) => self.bytes.extend(NOT_IP),
            _ => self.bytes.extend(CUT),
        }
        let is_ip = packet != PrintedPacket::NotIp;
        let is_inferred = packet.segment().is_some_and(|(_, segment)| segment.is_inferred);
        let inferred = if is_inferred { link::INFERRED } else { 0 };
        Frame {
            time_ns: clamped(time_ns),
            wire_len: wire_len.unwrap_or(self.bytes.len() as u32),
            link_type: if is_ip { link::RAW } else { link::ETHERNET } | inferred,
            data: &self.bytes,
        }
    }
}

/// Too short for a header.
const CUT: [u8; 1] = [0x45];
/// An Ethernet header without addresses, of ARP.
const NOT_IP: [u8; 14] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x08, 0x06];

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
    ends: SocketPair,
    printed: &PrintedSegment,
    sent: &WireNumbers,
    into: &mut Vec<u8>,
) -> u32 {
    let tcp = tcp(ends, printed, sent);
    let tcp_len = (u32::from(tcp[DATA_OFFSET] >> 4) * 4).saturating_add(printed.len);
    let ip_len = ip(ends.map(|end| end.ip()), printed.ip_id, tcp_len, into);
    into.extend_from_slice(&tcp);
    tcp_len.saturating_add(ip_len)
}

/// Adds the IP header and returns its length. A length beyond its field is 0, as before
/// segmentation by a network card.
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
    [from, to]: SocketPair,
    printed: &PrintedSegment,
    sent: &WireNumbers,
) -> impl Deref<Target = [u8]> {
    let mut header = TcpHeader::new(from.port(), to.port(), sent.seq, sent.window);
    header.acknowledgment_number = sent.ack;
    let (options, count) = options(&printed.options, sent);
    // Options that were sent have room.
    let _ = header.set_options(&options[..count]);
    let mut bytes = header.to_bytes();
    bytes[FLAGS] = printed.flags;
    if printed.is_cut {
        bytes[DATA_OFFSET] = LONGEST;
    }
    bytes
}

/// No header has room for more.
const MOST_OPTIONS: usize = 16;

fn options(
    printed: &PrintedOptions,
    sent: &WireNumbers,
) -> ([TcpOptionElement; MOST_OPTIONS], usize) {
    use TcpOptionElement::{
        MaximumSegmentSize, Noop, SelectiveAcknowledgement, SelectiveAcknowledgementPermitted,
        Timestamp, WindowScale,
    };
    let block = |(begin, end)| (sent.sack(begin), sent.sack(end));
    let [first, second, third, fourth] = printed.sack.map(|printed| printed.map(block));
    let known = [
        printed.mss.map(MaximumSegmentSize),
        printed.allows_sack.then_some(SelectiveAcknowledgementPermitted),
        printed.timestamps.map(|(value, echo)| Timestamp(value, echo)),
        printed.window_shift.map(WindowScale),
        first.map(|first| SelectiveAcknowledgement(first, [second, third, fourth])),
    ];
    let (mut options, mut count) = ([const { Noop }; MOST_OPTIONS], usize::from(printed.nops));
    for (into, option) in iter::zip(&mut options, known.into_iter().flatten()) {
        *into = option;
        count += 1;
    }
    (options, count.min(MOST_OPTIONS))
}

#[cfg(test)]
mod tests {
    use crate::capture::{Capture, link};
    use crate::decode::{self, Header, Skip};
    use std::io::Cursor;

    /// The segment of each frame, or why there is none, and whether it was inferred.
    fn frames(text: &str) -> Vec<(Result<Header, Skip>, bool)> {
        let mut capture = Capture::new(Box::new(Cursor::new(text.to_owned())), "pasted").unwrap();
        let mut found = Vec::new();
        while let Some(frame) = capture.next_frame() {
            let segment = decode::segment(frame.link_type, frame.data, frame.wire_len);
            let header = segment.map(|segment| segment.header());
            found.push((header, frame.link_type & link::INFERRED != 0));
        }
        found
    }

    #[test]
    fn a_frame_has_all_that_was_printed_of_its_segment() {
        let text = "\
            10:00:00.000000 IP 10.0.0.1.4 > 10.0.0.2.80: Flags [S], seq 5000, win 64240, options \
            [mss 1460,sackOK,TS val 7 ecr 0,nop,wscale 7], length 0\n\
            10:00:00.000100 IP 10.0.0.2.80 > 10.0.0.1.4: Flags [S.], seq 9000, ack 5001, win 65160, \
            options [mss 1400], length 0\n\
            10:00:00.080000 IP 10.0.0.2.80 > 10.0.0.1.4: Flags [.], ack 1, win 510, options \
            [nop,nop,sack 1 {201:301}], length 0\n\
            10:00:00.080001 IP 10.0.0.1.4 > 10.0.0.2.80: Flags [S], seq 7000, win 9, length 0\n";
        let found: Vec<_> = frames(text).into_iter().map(|(header, _)| header.unwrap()).collect();
        let [syn, syn_ack, ack, bare] = found[..] else { panic!("{found:?}") };
        assert!(syn.is_opening() && !syn.options.is_cut() && bare.options.is_cut());
        assert_eq!((syn.seq, syn.options.mss(), syn.options.window_scale()), (5000, 1460, Some(7)));
        assert_eq!((syn_ack.seq, syn_ack.ack, syn_ack.options.mss()), (9000, 5001, 1400));
        assert_eq!((syn.options.tsval(), ack.window, ack.len), (Some(7), 510, 0));
        assert!(ack.is_pure_ack() && ack.options.is_sack_from(5201));
    }

    #[test]
    fn a_segment_beyond_64_kb_is_as_long_as_it_was_printed() {
        for (from, to) in [("IP6 fe80::1", "2001:db8::2"), ("IP 10.0.0.1", "10.0.0.2")] {
            let text = format!(
                "10:00:00.000000 {from}.4000 > {to}.8080: Flags [P.], seq 1:70001, \
                                ack 1, win 64, length 70000\n"
            );
            assert_eq!(frames(&text)[0].0.unwrap().len, 70_000, "{text}");
        }
    }

    /// Frames keep the numbers that they had in the capture.
    #[test]
    fn what_is_no_segment_is_skipped_for_the_same_reason() {
        for (packet, skip) in [
            ("IP 10.0.0.1.5000 > 10.0.0.2.53: 0+ A? a.b. (21)", Skip::NotTcp),
            ("IP 10.0.0.1 > 10.0.0.2: ip-proto-6", Skip::Fragment),
            ("ARP, Request who-has 10.0.0.1 tell 10.0.0.2, length 28", Skip::NotIp),
            ("IP 10.0.0.1.4000 > 10.0.0.2.80: [|tcp]", Skip::Cut),
        ] {
            let segment = "10:00:00.100000 IP 10.0.0.1.4 > 10.0.0.2.80: Flags [.], seq 1:9, ack 1, \
                           win 64, length 8";
            let found = frames(&format!("10:00:00.000001 {packet}\n{segment}\n"));
            assert_eq!((found[0], found[1].0.is_ok()), ((Err(skip), false), true), "{packet}");
        }
    }
}
