//! Link types: one table holds all that the program knows about each.
//!
//! Header formats: <https://www.tcpdump.org/linktypes.html>.

/// `LINKTYPE_` numbers that the code names.
pub const ETHERNET: u32 = 1;
pub const LINUX_SLL: u32 = 113;
pub const RAW: u32 = 101;

/// Set in the link type of a frame if its place or length was inferred from what was printed around
/// it. No file has it: the numbers take 16 bits there.
pub const INFERRED: u32 = 1 << 31;

/// A link type that can be read.
#[derive(Debug, PartialEq, Eq)]
pub struct Link {
    /// Its `LINKTYPE_` numbers in capture files; filters are for the first one, libpcap's on Linux.
    numbers: &'static [u32],
    /// Its name in the JSON output.
    name: &'static str,
    /// Its name in messages.
    title: &'static str,
    pub network: Network,
}

/// How the header leads to what it carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// An `EtherType`.
    EtherType {
        type_at: usize,
        header_len: usize,
    },
    /// Linux's protocol number: an `EtherType`, or a small number (`linux/if_ether.h`).
    Cooked {
        type_at: usize,
        header_len: usize,
    },
    /// An address family in four bytes.
    Family,
    /// No header.
    Ip,
    Ppp,
    Pppoe,
    /// IEEE 802.11, without or after a header of its radio.
    Wlan,
    Radiotap,
    Prism,
    Avs,
    Nflog,
    Pktap,
}

static LINKS: [Link; 17] = [
    link(&[ETHERNET], "EN10MB", "Ethernet", Network::EtherType { type_at: 12, header_len: 14 }),
    link(
        &[LINUX_SLL],
        "LINUX_SLL",
        "Linux cooked v1",
        Network::Cooked { type_at: 14, header_len: 16 },
    ),
    link(&[276], "LINUX_SLL2", "Linux cooked v2", Network::Cooked { type_at: 0, header_len: 20 }),
    link(&[0], "NULL", "NULL", Network::Family),
    link(&[108], "LOOP", "LOOP", Network::Family),
    // DLT_RAW of most systems, LINKTYPE_RAW, and DLT_RAW of OpenBSD: some writers leave theirs.
    link(&[12, RAW, 14], "RAW", "RAW", Network::Ip),
    link(&[228], "IPV4", "IPv4", Network::Ip),
    link(&[229], "IPV6", "IPv6", Network::Ip),
    link(&[9], "PPP", "PPP", Network::Ppp),
    link(&[50], "PPP_SERIAL", "PPP in HDLC", Network::Ppp),
    link(&[51], "PPP_ETHER", "PPPoE", Network::Pppoe),
    link(&[105], "IEEE802_11", "802.11", Network::Wlan),
    link(&[127], "IEEE802_11_RADIO", "802.11 with radiotap", Network::Radiotap),
    link(&[119], "PRISM_HEADER", "802.11 with Prism", Network::Prism),
    link(&[163], "IEEE802_11_RADIO_AVS", "802.11 with AVS", Network::Avs),
    link(&[239], "NFLOG", "NFLOG", Network::Nflog),
    // LINKTYPE_PKTAP, and its DLT on macOS, which is the first one for users' own elsewhere.
    link(&[258, 149], "PKTAP", "PKTAP", Network::Pktap),
];

const fn link(
    numbers: &'static [u32],
    name: &'static str,
    title: &'static str,
    network: Network,
) -> Link {
    Link { numbers, name, title, network }
}

/// Link types without network packets that can be found: an error names them.
const REFUSED: [(u32, &str); 14] = [
    (165, "BACNET_MS_TP"),
    (187, "BLUETOOTH_HCI_H4"),
    (189, "USB_LINUX"),
    (195, "IEEE802_15_4_WITHFCS"),
    (201, "BLUETOOTH_HCI_H4_WITH_PHDR"),
    (220, "USB_LINUX_MMAPPED"),
    (227, "CAN_SOCKETCAN"),
    (230, "IEEE802_15_4_NOFCS"),
    (249, "USBPCAP"),
    (251, "BLUETOOTH_LE_LL"),
    (253, "NETLINK"),
    (254, "BLUETOOTH_LINUX_MONITOR"),
    (256, "BLUETOOTH_LE_LL_WITH_PHDR"),
    (266, "USB_DARWIN"),
];

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

/// The number, with the name of one that is known to be of no use here.
pub fn refused(link_type: u32) -> String {
    match REFUSED.iter().find(|(number, _)| *number == link_type) {
        Some((_, name)) => format!("{link_type} ({name})"),
        None => link_type.to_string(),
    }
}

/// libpcap's number on Linux: mostly the same.
pub fn dlt(link_type: u32) -> i32 {
    find(link_type).map_or(link_type, |link| link.numbers[0]).cast_signed()
}

/// All link types that can be read, for a message.
pub fn titles() -> String {
    LINKS.each_ref().map(|link| link.title).join(", ")
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub const LINUX_SLL2: u32 = 276;
    pub const IPV6: u32 = 229;

    /// The two halves of every hardware address in [`framed`].
    pub const MARKS: [[u8; 3]; 2] = [[0x3c, 0x22, 0xfb], [0x51, 0x52, 0x53]];

    /// RFC 1042.
    const SNAP: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0, 0x08, 0x00];

    /// Every number that can be read.
    pub fn numbers() -> impl Iterator<Item = u32> {
        LINKS.iter().flat_map(|link| link.numbers).copied()
    }

    /// An IPv4 packet as this link type carries it, each hardware address made of [`MARKS`].
    pub fn framed(link_type: u32, packet: &[u8]) -> Vec<u8> {
        let mac = MARKS.concat();
        let wlan = [&[0x08, 0x01, 0, 0], &mac[..], &mac, &mac, &[0, 0], &SNAP].concat();
        let header: &[&[u8]] = match link_type {
            ETHERNET => &[&mac, &mac, &[0x08, 0x00]],
            LINUX_SLL => &[&[0, 0, 0, 1, 0, 6], &mac, &MARKS[0][..2], &[0x08, 0x00]],
            LINUX_SLL2 => &[&[0x08, 0x00, 0, 0, 0, 0, 0, 2, 0, 1, 0, 6], &mac, &MARKS[0][..2]],
            0 => &[&[2, 0, 0, 0]],
            108 => &[&[0, 0, 0, 2]],
            12 | 14 | RAW | 228 | IPV6 => &[],
            9 | 50 => &[&[0xff, 3, 0, 0x21]],
            51 => &[&[0x11, 0, 0, 7, 0, 42, 0, 0x21]],
            105 => &[&wlan],
            127 => &[&[0, 0, 8, 0, 0, 0, 0, 0], &wlan],
            119 => &[&[0x44, 0, 0, 0, 144, 0, 0, 0], &[0; 136], &wlan],
            163 => &[&[0x80, 0x21, 0x10, 1, 0, 0, 0, 12, 0, 0, 0, 0], &wlan],
            239 => &[&[2, 0, 0, 0, 14, 0, 8, 0], &mac, &MARKS[0], &[0, 0, 0, 44, 0, 9, 0]],
            258 | 149 => &[&[12, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0], &mac, &mac, &[0x08, 0x00]],
            _ => panic!("a frame of link type {link_type} is needed here"),
        };
        [&header.concat(), packet].concat()
    }

    #[test]
    fn no_two_link_types_share_a_number_or_a_title() {
        for (index, link) in LINKS.iter().enumerate() {
            assert!(REFUSED.iter().all(|(number, _)| !link.numbers.contains(number)));
            for other in &LINKS[..index] {
                assert!(link.title != other.title && link.name != other.name);
                assert!(!link.numbers.iter().any(|number| other.numbers.contains(number)));
            }
        }
        assert!(titles().starts_with("Ethernet, Linux cooked v1, "));
        assert_eq!(name(12), "RAW");
        assert_eq!(name(189), "LINKTYPE_189");
    }
}
