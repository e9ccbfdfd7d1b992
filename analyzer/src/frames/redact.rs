//! A frame as it may leave: cut after the TCP header, its addresses replaced. Right checksums stay
//! right, wrong ones wrong.
//!
//! A checksum gives away up to two bytes of payload, and confirms a guess at more. So a segment
//! without its payload gets the checksum of zeros in its place. A wrong checksum gives away as
//! much: it becomes a fixed wrong one.

use crate::capture::link::AddressField;
use crate::decode::blank_addresses;
use crate::decode::layout::Layout;
use crate::frames::Policy;
use crate::frames::checksum::{self, State};
use crate::result::anonymize::{Anonymizer, MAC_LEN};
use std::net::IpAddr;

/// The bytes of `frame` that may leave; `None` if not all of its addresses can be replaced (IPv6
/// routing headers). A link type that is not in the table has no [`Layout`], so never gets here.
pub fn redacted(frame: &[u8], layout: &Layout, policy: Policy<'_>) -> Option<Vec<u8>> {
    let payload_lost =
        !policy.payload && (frame.len() > layout.payload_at() || layout.payload_len > 0);
    if !payload_lost && policy.anonymizer.is_none() {
        return Some(frame.to_vec());
    }
    let before = Segment { data: frame, layout };
    let end = if policy.payload { frame.len() } else { layout.payload_at() };
    let mut data = frame[..end].to_vec();
    if let Some(anonymizer) = policy.anonymizer {
        anonymize(&mut data, layout, anonymizer)?;
    }
    let after = Segment { data: &data, layout };
    let checksum = match before.state() {
        State::Partial => after.partial(),
        State::Right => after.right(),
        State::Wrong => checksum::wrong(after.right()),
        // What is missing counts as zeros.
        State::Unknown if payload_lost => after.right(),
        State::Unknown => {
            checksum::updated(before.checksum(), &before.replaceable(), &after.replaceable())
        }
    };
    write(&mut data, layout.tcp_checksum_at, checksum);
    Some(data)
}

/// A segment and where its headers lie.
struct Segment<'a> {
    data: &'a [u8],
    layout: &'a Layout,
}

impl Segment<'_> {
    fn addresses(&self) -> &[u8] {
        &self.data[self.layout.ip_addresses.clone()]
    }

    /// What the TCP checksum covers and [`anonymize`] may replace.
    fn replaceable(&self) -> Vec<u8> {
        [self.addresses(), &self.data[self.layout.tcp_options.clone()]].concat()
    }

    fn checksum(&self) -> u16 {
        read(self.data, self.layout.tcp_checksum_at)
    }

    fn pseudo_header(&self) -> u64 {
        let tcp_len = self.layout.end() - self.layout.tcp_at;
        checksum::pseudo_header(self.addresses(), tcp_len as u64)
    }

    /// What checksum offload gives the network card.
    fn partial(&self) -> u16 {
        checksum::fold(self.pseudo_header())
    }

    /// The right checksum if all missing bytes are zeros.
    fn right(&self) -> u16 {
        let segment = &self.data[self.layout.tcp_at..self.data.len().min(self.layout.end())];
        let checksum_at = self.layout.tcp_checksum_at - self.layout.tcp_at;
        right(self.pseudo_header(), segment, checksum_at)
    }

    fn state(&self) -> State {
        let whole = self.layout.end() <= self.data.len();
        match self.checksum() {
            right if whole && right == self.right() => State::Right,
            partial if partial == self.partial() => State::Partial,
            _ if whole => State::Wrong,
            _ => State::Unknown,
        }
    }
}

/// The right checksum of `bytes`, which have it at `at`.
fn right(sum: u64, bytes: &[u8], at: usize) -> u16 {
    let (head, rest) = bytes.split_at(at);
    !checksum::fold(checksum::add(checksum::add(sum, head), &rest[2..]))
}

fn read(data: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([data[at], data[at + 1]])
}

fn write(data: &mut [u8], at: usize, value: u16) {
    data[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Replaces the addresses of all layers and blanks options that may hold more, such as record
/// route. VLAN tags stay.
fn anonymize(data: &mut [u8], layout: &Layout, anonymizer: &Anonymizer) -> Option<()> {
    let ip_was_right = ip_checksum(data, layout).map(|(at, right)| read(data, at) == right);
    for field in layout.hardware_addresses {
        replace_mac(field, data, anonymizer);
    }
    let addresses = &mut data[layout.ip_addresses.clone()];
    let (source, destination) = addresses.split_at_mut(addresses.len() / 2);
    replace_ip(source, anonymizer)?;
    replace_ip(destination, anonymizer)?;
    for options in layout.ip_options(data)? {
        // End of options list (RFC 791, section 3.1), Pad1 (RFC 8200, section 4.2).
        data[options].fill(0);
    }
    blank_addresses(&mut data[layout.tcp_options.clone()]);
    if let Some((at, right)) = ip_checksum(data, layout) {
        let kept = if ip_was_right == Some(true) { right } else { checksum::wrong(right) };
        write(data, at, kept);
    }
    Some(())
}

/// Offset of the IPv4 header checksum, and its right value.
fn ip_checksum(data: &[u8], layout: &Layout) -> Option<(usize, u16)> {
    let at = layout.ip_checksum_at?;
    Some((at, right(0, &data[layout.ip_header.clone()], at - layout.ip_header.start)))
}

/// Replaces a MAC address; other addresses and unused bytes are zeroed.
fn replace_mac(field: &AddressField, data: &mut [u8], anonymizer: &Anonymizer) {
    let is_mac = field.address_len(data) == MAC_LEN;
    let field = &mut data[field.at.clone()];
    let mac = field.first_chunk().filter(|_| is_mac).map(|mac| anonymizer.mac(*mac));
    field.fill(0);
    if let (Some(mac), Some(to)) = (mac, field.first_chunk_mut()) {
        *to = mac;
    }
}

fn replace_ip(address: &mut [u8], anonymizer: &Anonymizer) -> Option<()> {
    let before = match <[u8; 4]>::try_from(&*address) {
        Ok(v4) => IpAddr::from(v4),
        Err(_) => IpAddr::from(<[u8; 16]>::try_from(&*address).ok()?),
    };
    match anonymizer.addr(before) {
        IpAddr::V4(v4) => address.copy_from_slice(&v4.octets()),
        IpAddr::V6(v6) => address.copy_from_slice(&v6.octets()),
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Frame;
    use crate::capture::link::tests::{LINUX_SLL2, MARKS, framed, numbers};
    use crate::capture::link::{ETHERNET, LINUX_SLL, RAW};

    const TCP_CHECKSUM_AT: usize = 16;
    const ADDRESSES: [u8; 8] = [10, 0, 0, 1, 10, 0, 0, 2];

    /// An IPv4 packet with right checksums.
    fn packet(payload: &[u8]) -> Vec<u8> {
        let mut data = vec![0x45, 0, 0, 40 + payload.len() as u8, 0, 1, 0x40, 0, 64, 6, 0, 0];
        data.extend(ADDRESSES);
        let checksum = ipv4_checksum(&data);
        write(&mut data, 10, checksum);
        data.extend([0x1f, 0x90, 0, 80, 0, 0, 0, 7, 0, 0, 0, 9, 0x50, 0x18, 1, 0, 0, 0, 0, 0]);
        data.extend(payload);
        set_checksum(&mut data, State::Right);
        data
    }

    fn ipv4_checksum(header: &[u8]) -> u16 {
        right(0, header, 10)
    }

    fn set_checksum(data: &mut [u8], state: State) {
        let layout = layout(data);
        let segment = Segment { data, layout: &layout };
        let value = if state == State::Right { segment.right() } else { segment.partial() };
        write(data, 20 + TCP_CHECKSUM_AT, value);
    }

    fn frame(data: &[u8]) -> Frame<'_> {
        let wire_len = u32::from(u16::from_be_bytes([data[2], data[3]]));
        Frame { time_ns: 0, wire_len, link_type: RAW, data }
    }

    fn layout(data: &[u8]) -> Layout {
        Layout::of(&frame(data)).unwrap()
    }

    fn state(data: &[u8]) -> State {
        Segment { data, layout: &layout(data) }.state()
    }

    fn anonymizer() -> Anonymizer {
        Anonymizer::new(std::array::from_fn(|index| index as u8)).unwrap()
    }

    fn redact(data: &[u8], payload: bool, anonymizer: Option<&Anonymizer>) -> Vec<u8> {
        redacted(data, &layout(data), Policy { payload, anonymizer }).unwrap()
    }

    #[test]
    fn what_needs_no_change_stays_as_it_is() {
        let ack = packet(b"");
        assert_eq!(redact(&ack, false, None), ack);
        let data = packet(b"secret");
        assert_eq!(redact(&data, true, None), data);
    }

    #[test]
    fn the_checksum_tells_nothing_of_a_payload_that_was_cut() {
        let [one, other] = [packet(b"k"), packet(b"q")].map(|data| redact(&data, false, None));
        assert_eq!(one.len(), 40);
        assert_eq!(one, other);
        assert_eq!(one, packet(&[0])[..40]);
    }

    #[test]
    fn right_stays_right_wrong_stays_wrong_and_unfinished_stays_unfinished() {
        let anonymizer = anonymizer();
        let mut broken = packet(b"abc");
        broken[20 + TCP_CHECKSUM_AT] ^= 0x55;
        let mut unfinished = packet(b"abc");
        set_checksum(&mut unfinished, State::Partial);
        for (data, expected) in
            [(packet(b"abc"), State::Right), (broken, State::Wrong), (unfinished, State::Partial)]
        {
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
    fn a_cut_segment_keeps_a_checksum_that_is_right_for_its_whole() {
        let anonymizer = anonymizer();
        let data = packet(b"abcdef");
        let cut = &data[..43];
        assert_eq!(state(cut), State::Unknown);
        let mut kept = redact(cut, true, Some(&anonymizer));
        kept.extend_from_slice(b"def");
        assert_eq!(state(&kept), State::Right);
    }

    #[test]
    fn a_wrong_ip_checksum_stays_wrong_and_options_are_blanked() {
        let mut data = packet(b"");
        data[0] = 0x46;
        data[3] += 4;
        // Record route, with one address.
        data.splice(20..20, [7, 7, 4, 10]);
        let out = redact(&data, false, Some(&anonymizer()));
        assert_eq!(out[20..24], [0; 4]);
        assert_ne!(ipv4_checksum(&out[..24]).to_be_bytes(), out[10..12]);
        assert!(!out.windows(4).any(|bytes| bytes == &ADDRESSES[..4] || bytes == &ADDRESSES[4..]));
    }

    fn over_ipv6(extension: &[u8]) -> Vec<u8> {
        let mut data = vec![0x60, 0, 0, 0, 0, 20 + extension.len() as u8, 6, 64];
        data.extend([0x20; 16]);
        data.extend([0x30; 16]);
        if let Some(&kind) = extension.first() {
            data[6] = kind;
            data.push(6);
            data.extend(&extension[1..]);
        }
        data.extend(&packet(b"")[20..]);
        data
    }

    #[test]
    fn ipv6_options_become_padding_and_routing_headers_are_refused() {
        let anonymizer = anonymizer();
        let options = [60, 0, 1, 4, 0x20, 0x20, 0x20, 0x20];
        let out = redact(&over_ipv6(&options), false, Some(&anonymizer));
        assert_eq!(out[40..48], [6, 0, 0, 0, 0, 0, 0, 0]);
        assert!(!out.windows(4).any(|bytes| bytes == [0x20; 4] || bytes == [0x30; 4]));
        let routed = over_ipv6(&[43, 0, 2, 0, 0, 0, 0, 0]);
        let policy = Policy { payload: false, anonymizer: Some(&anonymizer) };
        let whole = Frame { wire_len: routed.len() as u32, ..frame(&routed) };
        let layout = Layout::of(&whole).unwrap();
        assert!(redacted(&routed, &layout, policy).is_none());
    }

    /// A whole frame of this link type, anonymised.
    fn anonymised(link_type: u32, data: &[u8]) -> Option<Vec<u8>> {
        let wire_len = data.len() as u32;
        let frame = Frame { time_ns: 0, wire_len, link_type, data };
        let policy = Policy { payload: true, anonymizer: Some(&anonymizer()) };
        crate::frames::excerpt(&frame, 1, policy).map(|excerpt| excerpt.data)
    }

    #[test]
    fn no_link_layer_keeps_a_hardware_address() {
        let replaced = anonymizer().mac(MARKS.concat().try_into().unwrap());
        for link_type in numbers() {
            let data = framed(link_type, &packet(b"abc"));
            let out = anonymised(link_type, &data).unwrap();
            let holds = |bytes: &[u8]| out.windows(bytes.len()).any(|window| window == bytes);
            assert!(!MARKS.iter().any(|mark| holds(mark)), "{link_type}: {out:x?}");
            assert_eq!(holds(&replaced), [ETHERNET, LINUX_SLL, LINUX_SLL2].contains(&link_type));
        }
    }

    #[test]
    fn a_link_type_that_is_not_known_is_refused() {
        for link_type in (0..512).filter(|number| !numbers().any(|known| known == *number)) {
            assert_eq!(anonymised(link_type, &packet(b"abc")), None);
            assert_eq!(anonymised(link_type, &framed(ETHERNET, &packet(b"abc"))), None);
        }
    }

    #[test]
    fn a_hardware_address_that_is_no_mac_and_unused_bytes_are_blanked() {
        let mut data = framed(LINUX_SLL, &packet(b""));
        data[5] = 8;
        assert_eq!(anonymised(LINUX_SLL, &data).unwrap()[6..14], [0; 8]);
        data[5] = 6;
        let out = anonymised(LINUX_SLL, &data).unwrap();
        assert!(out[6..12] != [0; 6] && out[12..14] == [0; 2]);
    }

    /// An empty segment with an MPTCP option that names an address, and timestamps.
    fn with_tcp_options() -> Vec<u8> {
        let mut data = packet(b"");
        data.extend([30, 8, 0x30, 1]);
        data.extend(&ADDRESSES[..4]);
        data.extend([1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
        data[3] += 20;
        data[32] = 0xa0;
        let checksum = ipv4_checksum(&data[..20]);
        write(&mut data, 10, checksum);
        set_checksum(&mut data, State::Right);
        data
    }

    #[test]
    fn tcp_options_that_may_hold_an_address_are_blanked_only_when_addresses_are() {
        let data = with_tcp_options();
        assert_eq!(redact(&data, false, None), data);
        let out = redact(&data, false, Some(&anonymizer()));
        assert_eq!(out[40..48], [1; 8]);
        assert_eq!(out[48..], data[48..]);
        assert_eq!(state(&out), State::Right);
    }

    #[test]
    fn a_cut_segment_with_blanked_options_keeps_a_checksum_that_is_right_for_its_whole() {
        let mut data = with_tcp_options();
        data.extend(b"abcdef");
        data[3] += 6;
        set_checksum(&mut data, State::Right);
        let cut = &data[..63];
        assert_eq!(state(cut), State::Unknown);
        let mut kept = redact(cut, true, Some(&anonymizer()));
        kept.extend(b"def");
        assert_eq!(state(&kept), State::Right);
    }
}
