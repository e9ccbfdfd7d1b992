//! Link types: one table holds all that the program knows about each.
//!
//! Header formats: <https://www.tcpdump.org/linktypes.html>.

use std::ops::Range;

/// `LINKTYPE_` numbers that the code names.
pub const ETHERNET: u32 = 1;
pub const LINUX_SLL: u32 = 113;

pub const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
/// 802.1Q, 802.1ad and the pre-standard `QinQ` tag.
const VLAN_TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];

/// A link type that can be read.
#[derive(Debug, PartialEq, Eq)]
pub struct Link {
    /// Its `LINKTYPE_` numbers in capture files.
    numbers: &'static [u32],
    /// libpcap's number on Linux, for which filters are compiled.
    dlt: i32,
    /// As in the JSON output.
    name: &'static str,
    /// As in messages.
    title: &'static str,
    network: Network,
    /// Every field with a hardware address: what `--anonymize` replaces in the header.
    pub addresses: &'static [AddressField],
}

/// How the header leads to the IP packet.
#[derive(Debug, PartialEq, Eq)]
enum Network {
    /// An `EtherType`; VLAN tags may follow the header.
    EtherType { type_at: usize, header_len: usize },
    /// An address family in four bytes.
    Family,
    /// No header.
    Ip,
}

/// A field of the link-layer header that holds a hardware address.
#[derive(Debug, PartialEq, Eq)]
pub struct AddressField {
    pub at: Range<usize>,
    /// The field that tells how many of its bytes are used; all of them where there is none.
    len_at: Option<Range<usize>>,
}

static LINKS: [Link; 8] = [
    Link {
        numbers: &[ETHERNET],
        dlt: 1,
        name: "EN10MB",
        title: "Ethernet",
        network: Network::EtherType { type_at: 12, header_len: 14 },
        addresses: &[
            AddressField { at: 0..6, len_at: None },
            AddressField { at: 6..12, len_at: None },
        ],
    },
    Link {
        numbers: &[LINUX_SLL],
        dlt: 113,
        name: "LINUX_SLL",
        title: "Linux cooked v1",
        network: Network::EtherType { type_at: 14, header_len: 16 },
        addresses: &[AddressField { at: 6..14, len_at: Some(4..6) }],
    },
    Link {
        numbers: &[276],
        dlt: 276,
        name: "LINUX_SLL2",
        title: "Linux cooked v2",
        network: Network::EtherType { type_at: 0, header_len: 20 },
        addresses: &[AddressField { at: 12..20, len_at: Some(11..12) }],
    },
    Link {
        numbers: &[0],
        dlt: 0,
        name: "NULL",
        title: "NULL",
        network: Network::Family,
        addresses: &[],
    },
    Link {
        numbers: &[108],
        dlt: 108,
        name: "LOOP",
        title: "LOOP",
        network: Network::Family,
        addresses: &[],
    },
    Link {
        // LINKTYPE_RAW, and DLT_RAW of most systems and of OpenBSD, which some writers leave as is.
        numbers: &[101, 12, 14],
        dlt: 12,
        name: "RAW",
        title: "RAW",
        network: Network::Ip,
        addresses: &[],
    },
    Link {
        numbers: &[228],
        dlt: 228,
        name: "IPV4",
        title: "IPv4",
        network: Network::Ip,
        addresses: &[],
    },
    Link {
        numbers: &[229],
        dlt: 229,
        name: "IPV6",
        title: "IPv6",
        network: Network::Ip,
        addresses: &[],
    },
];

/// What stands where an IP packet was looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inside<'a> {
    Ip(&'a [u8]),
    /// ARP, LLDP, MPLS and everything else that is not IP.
    NotIp,
    /// Captured too short to tell.
    Cut,
    UnknownLink,
}

/// The link type with this `LINKTYPE_` number; `None` where it cannot be read.
pub fn find(link_type: u32) -> Option<&'static Link> {
    LINKS.iter().find(|link| link.numbers.contains(&link_type))
}

/// The name users know, or `LINKTYPE_<n>`.
pub fn name(link_type: u32) -> String {
    match find(link_type) {
        Some(link) => link.name.to_owned(),
        None => format!("LINKTYPE_{link_type}"),
    }
}

/// libpcap's number on Linux: mostly the same.
pub fn dlt(link_type: u32) -> i32 {
    find(link_type).map_or(link_type as i32, |link| link.dlt)
}

/// All link types that can be read, for a message.
pub fn titles() -> String {
    LINKS.each_ref().map(|link| link.title).join(", ")
}

/// The IP packet inside a captured frame.
pub fn packet(link_type: u32, frame: &[u8]) -> Inside<'_> {
    match find(link_type) {
        Some(link) => link.packet(frame),
        None => Inside::UnknownLink,
    }
}

impl Link {
    /// The IP packet inside a captured frame of this link type.
    pub fn packet<'a>(&self, frame: &'a [u8]) -> Inside<'a> {
        match self.network {
            Network::EtherType { type_at, header_len } => by_ethertype(frame, type_at, header_len),
            Network::Family => by_family(frame),
            Network::Ip => Inside::Ip(frame),
        }
    }
}

impl AddressField {
    /// Bytes of the field that the address takes.
    pub fn address_len(&self, header: &[u8]) -> usize {
        match &self.len_at {
            Some(at) => {
                header[at.clone()].iter().fold(0, |len, &byte| len << 8 | usize::from(byte))
            }
            None => self.at.len(),
        }
    }
}

/// The family is in the byte order of the host that captured (NULL) or of the network (LOOP).
/// Those in use (2 for IPv4; 10, 23, 24, 28, 30 for IPv6) fit one byte, so both orders can be
/// read; the IP header tells the version.
fn by_family(frame: &[u8]) -> Inside<'_> {
    match *frame {
        [2 | 10 | 23 | 24 | 28 | 30, 0, 0, 0, ..] | [0, 0, 0, 2 | 10 | 23 | 24 | 28 | 30, ..] => {
            Inside::Ip(&frame[4..])
        }
        [_, _, _, _, ..] => Inside::NotIp,
        _ => Inside::Cut,
    }
}

fn by_ethertype(frame: &[u8], mut type_at: usize, mut payload_at: usize) -> Inside<'_> {
    loop {
        let (Some(&[high, low]), Some(payload)) =
            (frame.get(type_at..type_at + 2), frame.get(payload_at..))
        else {
            return Inside::Cut;
        };
        match u16::from_be_bytes([high, low]) {
            ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => return Inside::Ip(payload),
            tag if VLAN_TAGS.contains(&tag) => {
                type_at = payload_at + 2;
                payload_at += 4;
            }
            _ => return Inside::NotIp,
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub const RAW: u32 = 101;
    pub const LINUX_SLL2: u32 = 276;
    pub const IPV6: u32 = 229;

    /// The two halves of every hardware address in [`framed`].
    pub const MARKS: [[u8; 3]; 2] = [[0x3c, 0x22, 0xfb], [0x51, 0x52, 0x53]];

    /// Every number that can be read.
    pub fn numbers() -> impl Iterator<Item = u32> {
        LINKS.iter().flat_map(|link| link.numbers).copied()
    }

    /// An IPv4 packet as this link type carries it, each hardware address made of [`MARKS`].
    pub fn framed(link_type: u32, packet: &[u8]) -> Vec<u8> {
        let mac = MARKS.concat();
        let header: &[&[u8]] = match link_type {
            ETHERNET => &[&mac, &mac, &[0x08, 0x00]],
            LINUX_SLL => &[&[0, 0, 0, 1, 0, 6], &mac, &MARKS[0][..2], &[0x08, 0x00]],
            LINUX_SLL2 => &[&[0x08, 0x00, 0, 0, 0, 0, 0, 2, 0, 1, 0, 6], &mac, &MARKS[0][..2]],
            0 => &[&[2, 0, 0, 0]],
            108 => &[&[0, 0, 0, 2]],
            12 | 14 | RAW | 228 | IPV6 => &[],
            _ => panic!("a frame of link type {link_type} is needed here"),
        };
        [&header.concat(), packet].concat()
    }

    #[test]
    fn every_link_type_leads_to_its_packet_and_its_addresses() {
        for number in numbers() {
            let frame = framed(number, &[0x45, 0x46]);
            assert_eq!(packet(number, &frame), Inside::Ip(&[0x45, 0x46]), "{number}");
            let link = find(number).unwrap();
            let mut rest = frame.clone();
            for field in link.addresses {
                assert_eq!(field.address_len(&frame), 6, "{number}");
                assert_eq!(frame[field.at.clone()][..6], MARKS.concat(), "{number}");
                rest[field.at.clone()].fill(0);
            }
            for mark in MARKS {
                assert!(!rest.windows(3).any(|bytes| bytes == mark), "{number}: {rest:x?}");
            }
        }
    }

    #[test]
    fn no_two_link_types_share_a_number_or_a_title() {
        for (index, link) in LINKS.iter().enumerate() {
            for other in &LINKS[..index] {
                assert!(link.title != other.title && link.name != other.name);
                assert!(!link.numbers.iter().any(|number| other.numbers.contains(number)));
            }
        }
        assert!(titles().starts_with("Ethernet, Linux cooked v1, "));
        assert_eq!(name(12), "RAW");
        assert_eq!(name(105), "LINKTYPE_105");
    }

    fn ethernet(middle: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; 12];
        frame.extend_from_slice(middle);
        frame.push(0x45);
        frame
    }

    #[test]
    fn vlan_tags_are_walked() {
        let plain = ethernet(&[0x08, 0x00]);
        let qinq = ethernet(&[0x88, 0xa8, 0, 1, 0x81, 0x00, 0, 2, 0x86, 0xdd]);
        assert_eq!(packet(ETHERNET, &plain), Inside::Ip(&[0x45]));
        assert_eq!(packet(ETHERNET, &qinq), Inside::Ip(&[0x45]));
    }

    #[test]
    fn null_is_read_in_both_byte_orders() {
        assert_eq!(packet(0, &[2, 0, 0, 0, 0x45]), Inside::Ip(&[0x45]));
        assert_eq!(packet(0, &[0, 0, 0, 30, 0x60]), Inside::Ip(&[0x60]));
        assert_eq!(packet(108, &[0, 0, 0, 7, 0x60]), Inside::NotIp);
    }

    #[test]
    fn what_is_not_ip_is_told_from_what_is_cut() {
        assert_eq!(packet(ETHERNET, &ethernet(&[0x08, 0x06])), Inside::NotIp);
        assert_eq!(packet(ETHERNET, &[0; 13]), Inside::Cut);
        assert_eq!(packet(105, &[0; 64]), Inside::UnknownLink);
    }
}
