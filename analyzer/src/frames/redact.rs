//! A frame as it may leave: cut after its TCP header, its addresses replaced, its checksums as
//! right or wrong as they were.
//!
//! The checksum of a segment tells up to two bytes of its payload, and a guess at a longer one can
//! be tested with it. So a segment whose payload is cut gets the checksum that zeros in its place
//! would have. What a wrong checksum was tells as much: it becomes another wrong one.

use crate::capture::Frame;
use crate::capture::link;
use crate::decode::layout::Layout;
use crate::frames::Policy;
use crate::frames::checksum::{self, State};
use crate::result::anonymize::{Anonymizer, MAC_LEN};
use std::net::IpAddr;

const IPV4_HEADER_LEN: usize = 20;
const IPV4_CHECKSUM_AT: usize = 10;
const IPV6_HEADER_LEN: usize = 40;
const TCP_CHECKSUM_AT: usize = 16;
/// Extension headers that are nothing but options, which may be padding (RFC 8200, section 4.2).
const HOP_BY_HOP: u8 = 0;
const DESTINATION_OPTIONS: u8 = 60;
const TCP: u8 = 6;

/// The bytes of `frame` that may leave; `None` if its addresses cannot all be replaced (IPv6
/// routing headers).
pub fn redacted(frame: &Frame<'_>, layout: &Layout, policy: Policy<'_>) -> Option<Vec<u8>> {
    let cut = !policy.payload && frame.data.len() > layout.payload_at;
    let payload_lost = cut || (!policy.payload && layout.payload_len > 0);
    if !payload_lost && policy.anonymizer.is_none() {
        return Some(frame.data.to_vec());
    }
    let before = Segment { data: frame.data, layout };
    let state = before.state();
    let end = if policy.payload { frame.data.len() } else { layout.payload_at };
    let mut data = frame.data[..end].to_vec();
    if let Some(anonymizer) = policy.anonymizer {
        replace_macs(frame.link_type, &mut data, anonymizer);
        replace_addresses(&mut data, layout, anonymizer)?;
    }
    let after = Segment { data: &data, layout };
    let checksum = match state {
        State::Partial => after.partial(),
        State::Right => after.right(),
        State::Wrong => checksum::wrong(after.right()),
        // All that is missing counts as zeros.
        State::Unknown if payload_lost => after.right(),
        State::Unknown => {
            checksum::updated(before.checksum(), before.addresses(), after.addresses())
        }
    };
    write(&mut data, layout.tcp_at + TCP_CHECKSUM_AT, checksum);
    Some(data)
}

/// A segment and where its headers lie.
struct Segment<'a> {
    data: &'a [u8],
    layout: &'a Layout,
}

impl Segment<'_> {
    fn is_ipv4(&self) -> bool {
        self.data[self.layout.ip_at] >> 4 == 4
    }

    /// Source and destination, one after the other.
    fn addresses(&self) -> &[u8] {
        let (at, len) = if self.is_ipv4() { (12, 8) } else { (8, 32) };
        &self.data[self.layout.ip_at + at..][..len]
    }

    fn tcp_len(&self) -> usize {
        self.layout.tcp_header_len + self.layout.payload_len as usize
    }

    fn checksum(&self) -> u16 {
        let at = self.layout.tcp_at + TCP_CHECKSUM_AT;
        u16::from_be_bytes([self.data[at], self.data[at + 1]])
    }

    /// What a card that completes the checksum is given.
    fn partial(&self) -> u16 {
        checksum::fold(checksum::pseudo_header(self.addresses(), self.tcp_len() as u64))
    }

    /// The right checksum, if all bytes that are missing are zeros.
    fn right(&self) -> u16 {
        let end = self.data.len().min(self.layout.tcp_at + self.tcp_len());
        let (head, rest) = self.data[self.layout.tcp_at..end].split_at(TCP_CHECKSUM_AT);
        let pseudo = checksum::pseudo_header(self.addresses(), self.tcp_len() as u64);
        !checksum::fold(checksum::add(checksum::add(pseudo, head), &rest[2..]))
    }

    fn state(&self) -> State {
        let whole = self.layout.is_whole(self.data.len());
        match self.checksum() {
            right if whole && right == self.right() => State::Right,
            partial if partial == self.partial() => State::Partial,
            _ if whole => State::Wrong,
            _ => State::Unknown,
        }
    }
}

fn write(data: &mut [u8], at: usize, value: u16) {
    data[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Replaces the addresses of the link layer; VLAN tags stay.
fn replace_macs(link_type: u32, data: &mut [u8], anonymizer: &Anonymizer) {
    match link_type {
        link::ETHERNET => {
            replace_mac(&mut data[..MAC_LEN], anonymizer);
            replace_mac(&mut data[MAC_LEN..2 * MAC_LEN], anonymizer);
        }
        link::LINUX_SLL => {
            let len = usize::from(data[4]) << 8 | usize::from(data[5]);
            replace_link_address(&mut data[6..14], len, anonymizer);
        }
        link::LINUX_SLL2 => {
            let len = usize::from(data[11]);
            replace_link_address(&mut data[12..20], len, anonymizer);
        }
        _ => {}
    }
}

/// An address field of eight bytes of which `len` are used; what is no MAC address is blanked.
fn replace_link_address(field: &mut [u8], len: usize, anonymizer: &Anonymizer) {
    let (mac, unused) = field.split_at_mut(MAC_LEN);
    unused.fill(0);
    match len == MAC_LEN {
        true => replace_mac(mac, anonymizer),
        false => mac.fill(0),
    }
}

fn replace_mac(field: &mut [u8], anonymizer: &Anonymizer) {
    if let Some(mac) = field.first_chunk_mut::<MAC_LEN>() {
        *mac = anonymizer.mac(*mac);
    }
}

/// Replaces source and destination, and blanks options, which may hold addresses (record route).
fn replace_addresses(data: &mut [u8], layout: &Layout, anonymizer: &Anonymizer) -> Option<()> {
    let ip = &mut data[layout.ip_at..layout.tcp_at];
    if ip[0] >> 4 == 4 {
        ipv4(ip, anonymizer);
        return Some(());
    }
    for at in [8, 24] {
        let address: [u8; 16] = *ip[at..].first_chunk()?;
        if let IpAddr::V6(replaced) = anonymizer.addr(IpAddr::from(address)) {
            ip[at..at + 16].copy_from_slice(&replaced.octets());
        }
    }
    blank_extensions(ip)
}

fn ipv4(ip: &mut [u8], anonymizer: &Anonymizer) {
    let was_right = ipv4_checksum(ip) == u16::from_be_bytes([ip[10], ip[11]]);
    for at in [12, 16] {
        let address = [ip[at], ip[at + 1], ip[at + 2], ip[at + 3]];
        if let IpAddr::V4(replaced) = anonymizer.addr(IpAddr::from(address)) {
            ip[at..at + 4].copy_from_slice(&replaced.octets());
        }
    }
    // Zeros end the list of options (RFC 791, section 3.1).
    ip[IPV4_HEADER_LEN..].fill(0);
    let right = ipv4_checksum(ip);
    write(ip, IPV4_CHECKSUM_AT, if was_right { right } else { checksum::wrong(right) });
}

/// The right checksum of an IPv4 header.
fn ipv4_checksum(ip: &[u8]) -> u16 {
    let (head, rest) = ip.split_at(IPV4_CHECKSUM_AT);
    !checksum::fold(checksum::add(checksum::add(0, head), &rest[2..]))
}

/// Turns the options of IPv6 extension headers into padding; `None` for headers of other kinds.
fn blank_extensions(ip: &mut [u8]) -> Option<()> {
    let mut next = ip[6];
    let mut rest = &mut ip[IPV6_HEADER_LEN..];
    while next != TCP {
        if !matches!(next, HOP_BY_HOP | DESTINATION_OPTIONS) {
            return None;
        }
        let len = (usize::from(*rest.get(1)?) + 1) * 8;
        next = rest[0];
        rest.get_mut(2..len)?.fill(0);
        rest = &mut rest[len..];
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Frame;

    const ADDRESSES: [u8; 8] = [10, 0, 0, 1, 10, 0, 0, 2];

    /// An IPv4 packet with `payload`, its checksums right.
    fn packet(payload: &[u8]) -> Vec<u8> {
        let mut data = vec![0x45, 0, 0, 40 + payload.len() as u8, 0, 1, 0x40, 0, 64, 6, 0, 0];
        data.extend(ADDRESSES);
        let right = ipv4_checksum(&data);
        write(&mut data, IPV4_CHECKSUM_AT, right);
        data.extend([0x1f, 0x90, 0, 80, 0, 0, 0, 7, 0, 0, 0, 9, 0x50, 0x18, 1, 0, 0, 0, 0, 0]);
        data.extend(payload);
        set_checksum(&mut data, State::Right);
        data
    }

    fn set_checksum(data: &mut [u8], state: State) {
        let layout = layout(data);
        let segment = Segment { data, layout: &layout };
        let value = if state == State::Right { segment.right() } else { segment.partial() };
        write(data, 20 + TCP_CHECKSUM_AT, value);
    }

    fn frame(data: &[u8]) -> Frame<'_> {
        let wire_len = u32::from(u16::from_be_bytes([data[2], data[3]]));
        Frame { time_ns: 0, wire_len, link_type: link::RAW, data }
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
        redacted(&frame(data), &layout(data), Policy { payload, anonymizer }).unwrap()
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
            data.push(TCP);
            data.extend(&extension[1..]);
        }
        data.extend(&packet(b"")[20..]);
        data
    }

    #[test]
    fn ipv6_options_become_padding_and_routing_headers_are_refused() {
        let anonymizer = anonymizer();
        let options = [DESTINATION_OPTIONS, 0, 1, 4, 0x20, 0x20, 0x20, 0x20];
        let out = redact(&over_ipv6(&options), false, Some(&anonymizer));
        assert_eq!(out[40..48], [TCP, 0, 0, 0, 0, 0, 0, 0]);
        assert!(!out.windows(4).any(|bytes| bytes == [0x20; 4] || bytes == [0x30; 4]));
        let routed = over_ipv6(&[43, 0, 2, 0, 0, 0, 0, 0]);
        let policy = Policy { payload: false, anonymizer: Some(&anonymizer) };
        let whole = Frame { wire_len: routed.len() as u32, ..frame(&routed) };
        let layout = Layout::of(&whole).unwrap();
        assert!(redacted(&whole, &layout, policy).is_none());
    }

    #[test]
    fn link_addresses_are_replaced_where_there_are_any() {
        let anonymizer = anonymizer();
        let mac = [0, 0x1b, 0x21, 1, 2, 3];
        let mut cooked = vec![0, 0, 0, 1, 0, 6];
        cooked.extend(mac);
        cooked.extend([9, 9, 8, 0]);
        let mut cooked2 = vec![8, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 6];
        cooked2.extend(mac);
        cooked2.extend([9, 9]);
        for (link_type, mut data, at) in
            [(link::LINUX_SLL, cooked, 6), (link::LINUX_SLL2, cooked2, 12)]
        {
            replace_macs(link_type, &mut data, &anonymizer);
            assert_eq!(data[at..at + 6], anonymizer.mac(mac));
            assert_eq!(data[at + 6..at + 8], [0, 0]);
        }
    }
}
