//! A frame as it may leave: cut after the TCP header, or written anew with other addresses. Right
//! checksums stay right, wrong ones wrong.
//!
//! A checksum gives away up to two bytes of payload, and confirms a guess at more. So a segment
//! without its payload gets the checksum of zeros in its place. A wrong checksum gives away as
//! much: it becomes a fixed wrong one.

use crate::decode::layout::Layout;
use crate::frames::anew::{self, Packet};
use crate::frames::checksum::{self, ChecksumState, right};
use crate::result::anonymize::Anonymizer;
use etherparse::checksum::Sum16BitWords;

/// The parts of a frame that may leave.
#[derive(Clone, Copy)]
pub struct Policy<'a> {
    pub payload: bool,
    pub anonymizer: Option<&'a Anonymizer>,
}

/// The part of `frame` that may leave, and where its headers are then.
pub fn redacted(frame: &[u8], layout: &Layout, policy: Policy<'_>) -> Option<Packet> {
    let payload_lost =
        !policy.payload && (frame.len() > layout.payload_at() || layout.payload_len > 0);
    let before = RawSegment { data: frame, layout };
    let mut packet = match policy.anonymizer {
        Some(anonymizer) => anew::packet(frame, layout, anonymizer)?,
        None => Packet { data: frame.to_vec(), layout: layout.clone() },
    };
    if !payload_lost && policy.anonymizer.is_none() {
        return Some(packet);
    }
    if !policy.payload {
        packet.data.truncate(packet.layout.payload_at());
    }
    let after = RawSegment { data: &packet.data, layout: &packet.layout };
    let checksum = match before.state() {
        ChecksumState::Partial => after.partial(),
        ChecksumState::Right => after.right(),
        ChecksumState::Wrong => checksum::wrong(after.right()),
        // Missing bytes count as zeros.
        ChecksumState::Unknown if payload_lost => after.right(),
        ChecksumState::Unknown => {
            checksum::updated(before.checksum(), &before.replaceable(), &after.replaceable())
        }
    };
    write(&mut packet.data, packet.layout.tcp_checksum_at, checksum);
    Some(packet)
}

/// A segment and where its headers lie.
struct RawSegment<'a> {
    data: &'a [u8],
    layout: &'a Layout,
}

impl RawSegment<'_> {
    fn addresses(&self) -> &[u8] {
        &self.data[self.layout.ip_addresses.clone()]
    }

    /// The bytes that the TCP checksum covers and [`anew::packet`] may replace.
    fn replaceable(&self) -> Vec<u8> {
        [self.addresses(), &self.data[self.layout.tcp_options.clone()]].concat()
    }

    fn checksum(&self) -> u16 {
        read(self.data, self.layout.tcp_checksum_at)
    }

    fn pseudo_header(&self) -> Sum16BitWords {
        let tcp_len = self.layout.end() - self.layout.tcp_at;
        checksum::pseudo_header(self.addresses(), tcp_len as u64)
    }

    fn partial(&self) -> u16 {
        checksum::partial(self.pseudo_header())
    }

    /// The right checksum if all missing bytes are zeros.
    fn right(&self) -> u16 {
        let segment = &self.data[self.layout.tcp_at..self.data.len().min(self.layout.end())];
        let checksum_at = self.layout.tcp_checksum_at - self.layout.tcp_at;
        right(self.pseudo_header(), segment, checksum_at)
    }

    fn state(&self) -> ChecksumState {
        let whole = self.layout.end() <= self.data.len();
        match self.checksum() {
            right if whole && right == self.right() => ChecksumState::Right,
            partial if partial == self.partial() => ChecksumState::Partial,
            _ if whole => ChecksumState::Wrong,
            _ => ChecksumState::Unknown,
        }
    }
}

fn read(data: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([data[at], data[at + 1]])
}

fn write(data: &mut [u8], at: usize, value: u16) {
    data[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Frame;
    use crate::capture::link::tests::{MARKS, framed, numbers};
    use crate::capture::link::{ETHERNET, RAW};
    use crate::decode::tests;
    use crate::result::anonymize::Anonymizer;

    const TCP_CHECKSUM_AT: usize = 16;

    /// An IPv4 packet with right checksums.
    fn packet(payload: &[u8]) -> Vec<u8> {
        with_options(&[], payload)
    }

    fn with_options(options: &[u8], payload: &[u8]) -> Vec<u8> {
        let len = 40 + options.len() + payload.len();
        let mut data = [&tests::packet(len as u16, options, 0), payload].concat();
        let checksum = ipv4_checksum(&data[..20]);
        write(&mut data, 10, checksum);
        set_checksum(&mut data, ChecksumState::Right);
        data
    }

    fn ipv4_checksum(header: &[u8]) -> u16 {
        right(Sum16BitWords::new(), header, 10)
    }

    fn set_checksum(data: &mut [u8], state: ChecksumState) {
        let layout = layout(data);
        let segment = RawSegment { data, layout: &layout };
        let value = if state == ChecksumState::Right { segment.right() } else { segment.partial() };
        write(data, 20 + TCP_CHECKSUM_AT, value);
    }

    fn frame(data: &[u8]) -> Frame<'_> {
        let wire_len = u32::from(u16::from_be_bytes([data[2], data[3]]));
        Frame { time_ns: 0, wire_len, link_type: RAW, data }
    }

    fn layout(data: &[u8]) -> Layout {
        Layout::of(&frame(data)).unwrap()
    }

    fn state(data: &[u8]) -> ChecksumState {
        RawSegment { data, layout: &layout(data) }.state()
    }

    fn anonymizer() -> Anonymizer {
        Anonymizer::new(std::array::from_fn(|index| index as u8)).unwrap()
    }

    fn redact(data: &[u8], payload: bool, anonymizer: Option<&Anonymizer>) -> Vec<u8> {
        redacted(data, &layout(data), Policy { payload, anonymizer }).unwrap().data
    }

    #[test]
    fn what_needs_no_change_stays_as_it_is() {
        let ack = packet(b"");
        assert_eq!(redact(&ack, false, None), ack);
        let data = packet(b"secret");
        assert_eq!(redact(&data, true, None), data);
    }

    #[test]
    fn right_stays_right_wrong_stays_wrong_and_unfinished_stays_unfinished() {
        let anonymizer = anonymizer();
        let mut broken = packet(b"abc");
        broken[20 + TCP_CHECKSUM_AT] ^= 0x55;
        let mut unfinished = packet(b"abc");
        set_checksum(&mut unfinished, ChecksumState::Partial);
        for (data, expected) in [
            (packet(b"abc"), ChecksumState::Right),
            (broken, ChecksumState::Wrong),
            (unfinished, ChecksumState::Partial),
        ] {
            assert_eq!(state(&data), expected);
            let kept = redact(&data, true, Some(&anonymizer));
            assert_eq!(state(&kept), expected);
            assert_eq!(kept[40..], *b"abc");
            let mut refilled = redact(&data, false, Some(&anonymizer));
            assert_eq!(refilled.len(), 40);
            refilled.extend([0; 3]);
            assert_eq!(state(&refilled), expected);
            let ip = |data: &[u8]| ipv4_checksum(&data[..20]).to_be_bytes() == data[10..12];
            assert!(ip(&kept) && ip(&refilled));
        }
    }

    #[test]
    fn a_wrong_ip_checksum_stays_wrong() {
        let mut data = packet(b"abc");
        data[10] ^= 0x55;
        let out = redact(&data, true, Some(&anonymizer()));
        assert_ne!(ipv4_checksum(&out[..20]).to_be_bytes(), out[10..12]);
    }

    /// A whole frame of this link type, anonymised.
    fn anonymised(link_type: u32, data: &[u8]) -> Option<Packet> {
        let wire_len = data.len() as u32;
        let layout = Layout::of(&Frame { time_ns: 0, wire_len, link_type, data })?;
        redacted(data, &layout, Policy { payload: true, anonymizer: Some(&anonymizer()) })
    }

    #[test]
    fn every_link_type_gives_the_same_packet_without_its_hardware_addresses_and_padding() {
        let expected = redact(&packet(b"abc"), true, Some(&anonymizer()));
        for link_type in numbers() {
            let mut data = framed(link_type, &packet(b"abc"));
            data.extend(MARKS.concat());
            let out = anonymised(link_type, &data).unwrap();
            assert_eq!(out.data, expected, "{link_type}");
            assert_eq!(out.layout, layout(&expected));
        }
    }

    #[test]
    fn a_length_that_its_field_cannot_hold_is_that_of_the_frame() {
        let data = framed(ETHERNET, &packet(b"abc"));
        let mut data = data.clone();
        data[16..18].fill(0);
        let frame = Frame { time_ns: 0, wire_len: 80_014, link_type: ETHERNET, data: &data };
        let policy = Policy { payload: true, anonymizer: Some(&anonymizer()) };
        let out = redacted(&data, &Layout::of(&frame).unwrap(), policy).unwrap();
        assert_eq!((out.layout.payload_len, out.layout.end()), (79_960, 80_000));
        assert_eq!((&out.data[2..4], out.data.len()), (&[0, 0][..], 43));
    }

    #[test]
    fn a_link_type_that_is_not_known_is_refused() {
        for link_type in (0..512).filter(|number| !numbers().any(|known| known == *number)) {
            assert!(anonymised(link_type, &packet(b"abc")).is_none());
            assert!(anonymised(link_type, &framed(ETHERNET, &packet(b"abc"))).is_none());
        }
    }

    /// An MPTCP option that names an address, and timestamps.
    const OPTIONS: [u8; 20] = [30, 8, 0x30, 1, 10, 0, 0, 1, 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];

    #[test]
    fn tcp_options_that_may_hold_an_address_are_blanked_only_when_addresses_are() {
        let data = with_options(&OPTIONS, b"");
        assert_eq!(redact(&data, false, None), data);
        let out = redact(&data, false, Some(&anonymizer()));
        assert_eq!(out[40..48], [1; 8]);
        assert_eq!(out[48..], data[48..]);
        assert_eq!(state(&out), ChecksumState::Right);
    }

    #[test]
    fn a_cut_segment_keeps_a_checksum_that_is_right_for_its_whole() {
        for data in [packet(b"abcdef"), with_options(&OPTIONS, b"abcdef")] {
            let cut = &data[..data.len() - 3];
            assert_eq!(state(cut), ChecksumState::Unknown);
            let mut kept = redact(cut, true, Some(&anonymizer()));
            kept.extend(b"def");
            assert_eq!(state(&kept), ChecksumState::Right);
        }
    }
}
