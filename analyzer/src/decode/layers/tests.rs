//! Every encapsulation around the same packet, with the answers of tshark 4.0 to the same bytes.

use super::*;
use crate::capture::Frame;
use crate::capture::link::tests::{framed, numbers};
use crate::capture::samples::random;
use crate::decode::tests::packet;
use crate::decode::{layout, segment};

const ETHERNET: u32 = crate::capture::link::ETHERNET;
const MAC: [u8; 12] = [0; 12];
const SNAP: [u8; 6] = [0xaa, 0xaa, 3, 0, 0, 0];

fn inner() -> Vec<u8> {
    packet(45, &[], 5)
}

fn ethernet(kind: u16, payload: &[u8]) -> Vec<u8> {
    [&MAC[..], &kind.to_be_bytes(), payload].concat()
}

fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let [high, low] = (20 + payload.len() as u16).to_be_bytes();
    let header = [0x45, 0, high, low, 0, 0, 0, 0, 64, protocol, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
    [&header, payload].concat()
}

fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let [high, low] = (payload.len() as u16).to_be_bytes();
    [&[0x60, 0, 0, 0, high, low, next, 64], &[7; 32][..], payload].concat()
}

fn over_udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let [high, low] = port.to_be_bytes();
    let header = [0x80, 0, high, low, 0, 0, 0, 0];
    ethernet(0x0800, &ipv4(17, &[&header, payload].concat()))
}

fn gre(header: &[u8], payload: &[u8]) -> Vec<u8> {
    ethernet(0x0800, &ipv4(47, &[header, payload].concat()))
}

/// An identifier of 24 bits at its place in VXLAN and Geneve.
fn vxlan(vni: u8) -> Vec<u8> {
    over_udp(4789, &[&[8, 0, 0, 0, 0, 0, vni, 0][..], &ethernet(0x0800, &inner())].concat())
}

fn geneve(vni: u8) -> Vec<u8> {
    // One option of eight bytes.
    let header = [2, 0, 0x65, 0x58, 0, 0, vni, 0, 1, 2, 3, 1, 0, 0, 0, 1];
    over_udp(6081, &[&header[..], &ethernet(0x0800, &inner())].concat())
}

fn gtp(teid: u8) -> Vec<u8> {
    over_udp(2152, &[&[0x30, 255, 0, 45, 0, 0, 0, teid][..], &inner()].concat())
}

fn gre_key(key: u8) -> Vec<u8> {
    gre(&[0x20, 0, 0x08, 0, 0, 0, 0, key], &inner())
}

fn erspan(session: u8) -> Vec<u8> {
    let header = [0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 7, 0, session, 0, 0, 0, 0];
    gre(&header, &ethernet(0x0800, &inner()))
}

/// Frames of Ethernet with a segment in them: all are found, and tshark finds them.
fn wrapped() -> Vec<(&'static str, Vec<u8>)> {
    let (ip, frame) = (inner(), ethernet(0x0800, &inner()));
    let snap = |oui: u8| [&SNAP[..5], &[oui, 0x08, 0], &ip].concat();
    let with = |header: &[u8], payload: &[u8]| [header, payload].concat();
    let label = [0, 1, 0x01, 64];
    let upper = [0, 1, 0x00, 64];
    let pppoe = [0x11, 0, 0, 5, 0, 47];
    let gtp_with = |header: &[u8]| over_udp(2152, &with(header, &ip));
    let pptp = [0x30, 0x81, 0x88, 0x0b, 0, 49, 0, 7, 0, 0, 0, 1, 0, 0, 0, 2, 0xff, 3, 0, 0x21];
    let erspan_iii = [0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 7, 0, 5, 0, 0, 0, 1, 0, 0, 0];
    vec![
        ("mpls", ethernet(0x8847, &with(&label, &ip))),
        ("mpls multicast", ethernet(0x8848, &with(&label, &ip))),
        ("mpls, two labels", ethernet(0x8847, &with(&[upper, label].concat(), &ip))),
        ("mpls, ethernet", ethernet(0x8847, &with(&label, &frame))),
        ("mpls, control word", ethernet(0x8847, &[&label[..], &[0; 4], &frame].concat())),
        ("vlan, mpls", ethernet(0x8100, &[&[0, 7, 0x88, 0x47][..], &label, &ip].concat())),
        ("pppoe", ethernet(0x8864, &[&pppoe[..], &[0, 0x21], &ip].concat())),
        ("pppoe, short protocol", ethernet(0x8864, &[&pppoe[..], &[0x21], &ip].concat())),
        ("llc, snap", ethernet(53, &snap(0))),
        ("llc, 802.1H", ethernet(53, &snap(0xf8))),
        ("llc, ip", ethernet(48, &with(&[6, 6, 3], &ip))),
        ("vlan, llc", ethernet(0x8100, &with(&[0, 7, 0, 53], &snap(0)))),
        ("ip in ip", ethernet(0x0800, &ipv4(4, &ip))),
        ("4 in 6", ethernet(0x86dd, &ipv6(4, &ip))),
        ("6 in 4, 4 in 6", ethernet(0x0800, &ipv4(41, &ipv6(4, &ip)))),
        ("6 in 6, 4 in 6", ethernet(0x86dd, &ipv6(41, &ipv6(4, &ip)))),
        ("mpls in ip", ethernet(0x0800, &ipv4(137, &with(&label, &ip)))),
        ("etherip", ethernet(0x0800, &ipv4(97, &with(&[0x30, 0], &frame)))),
        ("gre", gre(&[0, 0, 0x08, 0], &ip)),
        ("gre, ethernet", gre(&[0, 0, 0x65, 0x58], &frame)),
        ("gre, checksum", gre(&[0x80, 0, 0x08, 0, 0, 0, 0, 0], &ip)),
        ("gre, key", gre_key(7)),
        ("gre, sequence", gre(&[0x10, 0, 0x08, 0, 0, 0, 0, 1], &ip)),
        ("gre, all", gre(&[0xb0, 0, 0x08, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 1], &ip)),
        ("gre, route", gre(&[0x40, 0, 8, 0, 0, 0, 0, 0, 8, 0, 0, 4, 1, 2, 3, 4, 0, 0, 0, 0], &ip)),
        ("gre, mpls", gre(&[0, 0, 0x88, 0x47], &with(&label, &ip))),
        ("gre of pptp", gre(&pptp, &ip)),
        ("erspan i", gre(&[0, 0, 0x88, 0xbe], &frame)),
        ("erspan ii", erspan(5)),
        ("erspan iii", gre(&with(&erspan_iii, &[0]), &frame)),
        ("erspan iii, optional", gre(&with(&erspan_iii, &[1, 0, 0, 0, 0, 0, 0, 0, 0]), &frame)),
        ("vxlan", vxlan(5)),
        ("geneve", geneve(5)),
        ("geneve, ip", over_udp(6081, &with(&[0, 0, 0x08, 0, 0, 0, 5, 0], &ip))),
        ("gtp", gtp(1)),
        ("gtp, number", gtp_with(&[0x32, 255, 0, 49, 0, 0, 0, 1, 0, 1, 0, 0])),
        (
            "gtp, extensions",
            gtp_with(&[
                0x36, 255, 0, 61, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 16, 5, 0xc0, 2, 0, 0, 0, 0, 0, 0, 0,
            ]),
        ),
        (
            "vxlan, port of Linux",
            over_udp(8472, &with(&[8, 0, 0, 0, 0, 0, 5, 0], &ethernet(0x0800, &ip))),
        ),
        ("vxlan, gre", over_udp(4789, &with(&[8, 0, 0, 0, 0, 0, 5, 0], &gre_key(7)))),
    ]
}

fn of(link_type: u32, data: &[u8]) -> Result<Innermost<'_>, Skip> {
    innermost(link_type, data, data.len() as u32)
}

#[test]
fn the_segment_is_found_in_every_encapsulation() {
    for (name, data) in wrapped() {
        let found = of(ETHERNET, &data).unwrap_or_else(|skip| panic!("{name}: {skip:?}"));
        assert_eq!(found.packet, inner(), "{name}");
        assert_eq!((found.segment.ports().dst, found.segment.header().len), (80, 5), "{name}");
        assert!(found.is_wrapped, "{name}");
        assert_eq!(segment(ETHERNET, &data, data.len() as u32), Ok(found.segment), "{name}");
    }
}

#[test]
fn every_link_type_leads_to_its_packet() {
    let bare = [ETHERNET, 113, 276, 0, 108, 101, 12, 14, 228, 229];
    for number in numbers() {
        let data = framed(number, &inner());
        let found = of(number, &data).unwrap_or_else(|skip| panic!("{number}: {skip:?}"));
        assert_eq!(found.packet, inner(), "{number}");
        assert_eq!(found.is_wrapped, !bare.contains(&number), "{number}");
    }
}

/// Like [`over_udp`], with the length in the header, and in IPv6.
fn over_udp_in_full(port: u16, payload: &[u8]) -> [Vec<u8>; 2] {
    let [high, low] = port.to_be_bytes();
    let [l0, l1] = (8 + payload.len() as u16).to_be_bytes();
    let packet = [&[0x80, 0, high, low, l0, l1, 0, 0], payload].concat();
    [ethernet(0x0800, &ipv4(17, &packet)), ethernet(0x86dd, &ipv6(17, &packet))]
}

#[test]
fn tunnels_on_any_port_are_known_by_header_and_a_packet_that_fits() {
    let frame = ethernet(0x0800, &inner());
    let vxlan = [&[8, 0, 0, 0, 0, 0, 5, 0][..], &frame].concat();
    let geneve = [&[1, 0, 0x65, 0x58, 0, 0, 5, 0, 1, 2, 3, 0][..], &frame].concat();
    let geneve_ip = [&[0, 0, 0x08, 0, 0, 0, 5, 0][..], &inner()].concat();
    for payload in [vxlan.clone(), geneve, geneve_ip] {
        for around in over_udp_in_full(7777, &payload) {
            let found = of(ETHERNET, &around).unwrap();
            assert_eq!((found.packet, found.segment.tunnel.is_none()), (&inner()[..], false));
        }
    }
    let with = |at: usize, byte: u8| {
        let mut other = vxlan.clone();
        other[at] = byte;
        other
    };
    let longer = [&vxlan[..], &[0; 40]].concat();
    for payload in [with(0, 0), with(2, 1), with(7, 1), with(8 + 13, 6), with(8 + 14, 0x30), longer]
    {
        for around in over_udp_in_full(7777, &payload) {
            assert_eq!(of(ETHERNET, &around), Err(Skip::NotTcp));
        }
    }
}

#[test]
fn tags_are_no_wrapping_and_no_tunnel() {
    let tags = [0, 9, 0x81, 0, 0, 7, 0x91, 0, 0, 3, 0x08, 0];
    let data = ethernet(0x88a8, &[&tags[..], &inner()].concat());
    let found = of(ETHERNET, &data).unwrap();
    assert!(!found.is_wrapped && found.segment.tunnel.is_none());
}

#[test]
fn an_identifier_makes_a_tunnel_another_one() {
    let make: [fn(u8) -> Vec<u8>; 5] = [vxlan, geneve, gtp, gre_key, erspan];
    for make in make {
        let tunnel = |id: u8| of(ETHERNET, &make(id)).unwrap().segment.tunnel;
        assert_eq!(tunnel(1), tunnel(1));
        assert!(tunnel(1) != tunnel(2) && !tunnel(1).is_none());
    }
    let (in_gre, in_gtp) = (gre_key(1), gtp(1));
    let tunnel = |data| of(ETHERNET, data).unwrap().segment.tunnel;
    assert_ne!(tunnel(&in_gre), tunnel(&in_gtp));
    let plain = ethernet(0x0800, &ipv4(4, &inner()));
    assert!(tunnel(&plain).is_none());
}

/// The frame in the frame: a fourth address, `QoS`, HT control.
fn wlan(kind: u8, flags: u8, more: &[u8]) -> Vec<u8> {
    [&[kind, flags], &[0; 22][..], more, &SNAP, &[0x08, 0], &inner()].concat()
}

#[test]
fn data_of_wireless_networks_is_read_if_it_is_whole_and_not_encrypted() {
    for data in [
        wlan(0x08, 0x01, &[]),
        wlan(0x18, 0x01, &[]),
        wlan(0x08, 0x03, &[0; 6]),
        wlan(0x88, 0x01, &[0; 2]),
        wlan(0x88, 0x81, &[0; 6]),
        wlan(0x08, 0x81, &[]),
    ] {
        assert_eq!(of(105, &data).unwrap().packet, inner());
    }
    for (data, reason) in [
        (wlan(0x80, 0, &[]), Skip::WlanNoData),
        (vec![0xd4, 0, 0, 0, 1, 1, 1, 1, 1, 1], Skip::WlanNoData),
        (wlan(0x48, 0x01, &[]), Skip::WlanNoData),
        (wlan(0x08, 0x41, &[]), Skip::WlanEncrypted),
        (wlan(0x08, 0x05, &[]), Skip::WlanPiece),
        (wlan(0x88, 0x01, &[0x80, 0]), Skip::WlanPiece),
    ] {
        assert_eq!(of(105, &data).unwrap_err(), reason);
    }
}

#[test]
fn radiotap_tells_of_bytes_between_header_and_data() {
    let frame = wlan(0x88, 0x01, &[0; 4]);
    let flags = [0, 0, 10, 0, 2, 0, 0, 0, 0x20, 0];
    let time = [&[0, 0, 18, 0, 3, 0, 0, 0][..], &[0; 8], &[0x20, 0]].concat();
    let words = [&[0, 0, 26, 0, 3, 0, 0, 0x80, 0, 0, 0, 0][..], &[0; 12], &[0x20, 0]].concat();
    for header in [&flags[..], &time, &words] {
        assert_eq!(of(127, &[header, &frame].concat()).unwrap().packet, inner(), "{header:?}");
    }
    let without = [&[0, 0, 8, 0, 0, 0, 0, 0][..], &wlan(0x88, 0x01, &[0; 2])].concat();
    assert_eq!(of(127, &without).unwrap().packet, inner());
}

#[test]
fn other_headers_of_links_are_read() {
    let attributes = [10, 0, 0, 0, 7, 0, 10, 0, b'n', b'f', 0, 0, 49, 0, 9, 0];
    let big_endian = [2, 0, 0, 0, 0, 8, 0, 1, 8, 0, 1, 0, 0, 49, 0, 9];
    let cooked = |kind: u8| [&[0; 15][..], &[kind]].concat();
    for (link_type, header) in [
        (239, attributes.to_vec()),
        (239, big_endian.to_vec()),
        (113, [&cooked(4)[..], &SNAP, &[0x08, 0]].concat()),
        (113, [&cooked(7)[..], &[0xff, 3, 0, 0x21]].concat()),
        (50, vec![0x0f, 0, 0x08, 0]),
        (9, vec![0xff, 3, 0x21]),
        (258, vec![12, 0, 0, 0, 1, 0, 0, 0, 12, 0, 0, 0]),
        (119, vec![0, 0, 0, 0x44, 0, 0, 0, 8]),
        (119, vec![0x80, 0x21, 0x10, 1, 0, 0, 0, 8]),
    ] {
        let payload = if link_type == 119 { wlan(0x08, 1, &[]) } else { inner() };
        let data = [header, payload].concat();
        assert_eq!(
            of(link_type, &data).map(|found| found.packet.to_vec()),
            Ok(inner()),
            "{data:?}"
        );
    }
}

#[test]
fn what_is_not_read_has_its_name() {
    let mut fragment = ipv4(4, &inner());
    fragment[6] = 0x20;
    let mut of_udp = ipv4(17, &[0; 30]);
    of_udp[6] = 0x20;
    let label = [0, 1, 0x01, 64];
    for (data, reason) in [
        (ethernet(0x0806, &[0; 28]), Skip::NotIp),
        (ethernet(0x8863, &[0; 28]), Skip::NotIp),
        (
            ethernet(0x8864, &[&[0x11, 0, 0, 5, 0, 6, 0xc0, 0x21][..], &[0; 9]].concat()),
            Skip::NotIp,
        ),
        (ethernet(38, &[0x42, 0x42, 3, 0, 0]), Skip::NotIp),
        (gre(&[0, 0, 0, 0], &inner()), Skip::NotIp),
        (ethernet(0x8847, &[&label[..], &[0x10; 40]].concat()), Skip::Mpls),
        (ethernet(0x88e5, &inner()), Skip::Macsec),
        (ethernet(0x0800, &ipv4(50, &inner())), Skip::Esp),
        (ethernet(0x86dd, &ipv6(50, &inner())), Skip::Esp),
        (ethernet(0x0800, &ipv4(51, &inner())), Skip::Ah),
        (ethernet(0x0800, &fragment), Skip::Fragment),
        (ethernet(0x0800, &of_udp), Skip::NotTcp),
        (over_udp(8471, &inner()), Skip::NotTcp),
        (over_udp(2152, &[0x32, 1, 0, 4, 0, 0, 0, 0, 0, 1, 0, 0]), Skip::NotTcp),
        (over_udp(4789, &[8, 0, 0]), Skip::Cut),
        (ethernet(0x0800, &[]), Skip::Cut),
        (vec![0; 13], Skip::Cut),
    ] {
        assert_eq!(of(ETHERNET, &data).unwrap_err(), reason, "{data:?}");
    }
    assert_eq!(of(189, &[0; 64]).unwrap_err(), Skip::UnknownLink);
    assert_eq!(of(108, &[0, 0, 0, 7, 0x60]).unwrap_err(), Skip::NotIp);
}

#[test]
fn only_so_many_layers_are_walked_through() {
    let nested = |count: usize| (0..count).fold(inner(), |packet, _| ipv4(4, &packet));
    let found = |count| of(ETHERNET, &ethernet(0x0800, &nested(count))).map(|_| ());
    assert_eq!(found(MOST_LAYERS - 3), Ok(()));
    assert_eq!(found(MOST_LAYERS - 2), Err(Skip::TooDeep));
    // A header of no length, and frames in frames.
    let pktap = [12, 0, 0, 0, 1, 0, 0, 0, 2, 1, 0, 0].repeat(1000);
    assert_eq!(of(258, &pktap).unwrap_err(), Skip::TooDeep);
    let tags = [&MAC[..], &[0x81, 0, 0, 7].repeat(1000)].concat();
    assert_eq!(of(ETHERNET, &tags).unwrap_err(), Skip::TooDeep);
    assert_eq!(of(119, &[0; 64]).unwrap_err(), Skip::WlanNoData);
}

/// Every frame of the tests, with its link type.
fn all() -> Vec<(u32, Vec<u8>)> {
    let frames = numbers().map(|number| (number, framed(number, &inner())));
    frames.chain(wrapped().into_iter().map(|(_, data)| (ETHERNET, data))).collect()
}

#[test]
fn frames_cut_at_any_byte_are_no_segments_and_do_no_harm() {
    for (link_type, data) in all() {
        let headers_end = data.len() - 5;
        for cut in 0..headers_end {
            let found = innermost(link_type, &data[..cut], data.len() as u32);
            assert!(found.is_err(), "{link_type}: {cut} of {data:?}");
        }
        let found = innermost(link_type, &data[..headers_end], data.len() as u32).unwrap();
        assert_eq!(found.segment.header().len, 5);
    }
}

#[test]
fn flipped_bits_do_no_harm() {
    let mut random = random(1);
    for (link_type, data) in all() {
        for _ in 0..2000 {
            let mut data = data.clone();
            for _ in 0..=random(3) {
                let at = random(data.len());
                data[at] ^= 1 << random(8);
            }
            data.truncate(random(data.len() * 4).max(1));
            let (wire_len, data) = (data.len() as u32, &data[..]);
            let frame = Frame { time_ns: 0, wire_len, link_type, data };
            let Some(found) = layout::Layout::of(&frame) else { continue };
            assert!(found.payload_at() <= data.len());
            let bare = layout::bare(&frame, &found);
            let again = layout::Layout::of(&bare).unwrap();
            assert!(!again.is_wrapped && again.payload_at() <= bare.data.len());
            assert_eq!(again.payload_len, found.payload_len);
        }
    }
}
