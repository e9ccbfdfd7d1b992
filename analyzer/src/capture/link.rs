//! Link layers: from a captured frame to the IP packet inside it.
//!
//! Layouts: <https://www.tcpdump.org/linktypes.html>.

/// `LINKTYPE_` numbers this program reads.
pub const NULL: u32 = 0;
pub const ETHERNET: u32 = 1;
pub const RAW_BSD: [u32; 2] = [12, 14];
pub const RAW: u32 = 101;
pub const LOOP: u32 = 108;
pub const LINUX_SLL: u32 = 113;
pub const IPV4: u32 = 228;
pub const IPV6: u32 = 229;
pub const LINUX_SLL2: u32 = 276;

pub const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
/// 802.1Q, 802.1ad and the pre-standard `QinQ` tag.
const VLAN_TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];

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

/// Can frames of this link type be read?
pub fn is_known(link_type: u32) -> bool {
    !matches!(packet(link_type, &[]), Inside::UnknownLink)
}

/// The name users know, or `LINKTYPE_<n>`.
pub fn name(link_type: u32) -> String {
    let known = match link_type {
        NULL => "NULL",
        ETHERNET => "EN10MB",
        RAW | 12 | 14 => "RAW",
        LOOP => "LOOP",
        LINUX_SLL => "LINUX_SLL",
        IPV4 => "IPV4",
        IPV6 => "IPV6",
        LINUX_SLL2 => "LINUX_SLL2",
        _ => return format!("LINKTYPE_{link_type}"),
    };
    known.to_owned()
}

/// The IP packet inside a captured frame.
pub fn packet(link_type: u32, frame: &[u8]) -> Inside<'_> {
    match link_type {
        ETHERNET => by_ethertype(frame, 12, 14),
        LINUX_SLL => by_ethertype(frame, 14, 16),
        LINUX_SLL2 => by_ethertype(frame, 0, 20),
        RAW | IPV4 | IPV6 | 12 | 14 => Inside::Ip(frame),
        // NULL: the capturing host's byte order, unknown here. The address families in use
        // (2 for IPv4; 10, 23, 24, 28, 30 for IPv6) all fit one byte, so either order will do;
        // the IP header itself tells the version.
        NULL | LOOP => match frame.get(..4) {
            Some(&[family, 0, 0, 0] | &[0, 0, 0, family]) => by_family(family, frame),
            Some(_) => Inside::NotIp,
            None => Inside::Cut,
        },
        _ => Inside::UnknownLink,
    }
}

fn by_family(family: u8, frame: &[u8]) -> Inside<'_> {
    match family {
        2 | 10 | 23 | 24 | 28 | 30 => Inside::Ip(&frame[4..]),
        _ => Inside::NotIp,
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
mod tests {
    use super::*;

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
        assert_eq!(packet(NULL, &[2, 0, 0, 0, 0x45]), Inside::Ip(&[0x45]));
        assert_eq!(packet(NULL, &[0, 0, 0, 30, 0x60]), Inside::Ip(&[0x60]));
        assert_eq!(packet(LOOP, &[0, 0, 0, 7, 0x60]), Inside::NotIp);
    }

    #[test]
    fn what_is_not_ip_is_told_from_what_is_cut() {
        assert_eq!(packet(ETHERNET, &ethernet(&[0x08, 0x06])), Inside::NotIp);
        assert_eq!(packet(ETHERNET, &[0; 13]), Inside::Cut);
        assert_eq!(packet(105, &[0; 64]), Inside::UnknownLink);
        assert!(is_known(LINUX_SLL2) && !is_known(105));
    }
}
