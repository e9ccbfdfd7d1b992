//! Addresses that keep their structure and lose their identity.
//!
//! IP addresses are encrypted with ipcrypt-pfx (draft-denis-ipcrypt, 'Methods for IP Address
//! Encryption and Obfuscation'): deterministic, keyed, and prefix-preserving, so two addresses that
//! share their first n bits share them afterwards, and no more. There is no exception: private,
//! loopback and link-local addresses go the same way, or else an encrypted address could not be
//! told from one that was spared.
//!
//! A MAC address is encrypted as the last 48 bits of an address in `100::/64` (RFC 6666: discard-only,
//! never on the wire), which keeps vendors apart without naming them; then it is marked as locally
//! administered. All zeros (loopback) and all ones (broadcast) name nobody and stay.
//!
//! What it does not hide: ports, times, lengths, sequence numbers and TCP timestamps. Anyone with
//! a capture of the same traffic can match the connections, and anyone who knows some addresses learns
//! the prefixes of others (draft-denis-ipcrypt, security considerations).

use crate::result::scan::Scan;
use ipcrypt_rs::IpcryptPfx;
use std::net::{IpAddr, Ipv6Addr};

/// What outputs say.
pub const SCHEME: &str = "ipcrypt-pfx";

pub const KEY_LEN: usize = 32;
pub const MAC_LEN: usize = 6;

const MAC_PREFIX: [u8; 10] = [0x01, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
/// IEEE 802, section 8: the two bits of the first octet that are no part of the number.
const GROUP: u8 = 0x01;
const LOCALLY_ADMINISTERED: u8 = 0x02;

/// Replaces addresses; the same key gives the same replacements.
pub struct Anonymizer {
    cipher: IpcryptPfx,
}

impl Anonymizer {
    /// `None` for a key that the scheme refuses: its two halves must differ.
    pub fn new(key: [u8; KEY_LEN]) -> Option<Self> {
        let (left, right) = key.split_at(KEY_LEN / 2);
        (left != right).then(|| Self { cipher: IpcryptPfx::new(key) })
    }

    pub fn addr(&self, addr: IpAddr) -> IpAddr {
        match (addr, self.cipher.encrypt_ipaddr(addr)) {
            // The crate reads ::ffff:0:0/96 as IPv4; a frame must keep its IP version.
            (IpAddr::V6(_), IpAddr::V4(replaced)) => IpAddr::V6(replaced.to_ipv6_mapped()),
            (_, replaced) => replaced,
        }
    }

    pub fn mac(&self, mac: [u8; MAC_LEN]) -> [u8; MAC_LEN] {
        if mac == [0; MAC_LEN] || mac == [0xff; MAC_LEN] {
            return mac;
        }
        let mut address = [0; 16];
        address[..10].copy_from_slice(&MAC_PREFIX);
        address[10..].copy_from_slice(&mac);
        let IpAddr::V6(replaced) = self.addr(IpAddr::V6(Ipv6Addr::from(address))) else {
            return [0; MAC_LEN];
        };
        let mut replaced_mac = [0; MAC_LEN];
        replaced_mac.copy_from_slice(&replaced.octets()[10..]);
        replaced_mac[0] = replaced_mac[0] & !GROUP | mac[0] & GROUP | LOCALLY_ADMINISTERED;
        replaced_mac
    }

    /// Replaces every address a scan can show, the names of its captures and its filter: they may
    /// hold addresses, hosts or people.
    pub fn anonymize(&self, scan: &mut Scan) {
        for end in scan.connections.iter_mut().flat_map(|judged| &mut judged.halves) {
            end.endpoint.addr = self.addr(end.endpoint.addr);
        }
        for server in &mut scan.servers {
            server.server.addr = self.addr(server.server.addr);
        }
        // The user chose the words, for the addresses as they were.
        scan.names = scan.names.moved(|addr| self.addr(addr));
        scan.anonymized = Some(SCHEME);
        for (index, capture) in scan.captures.iter_mut().enumerate() {
            capture.path = format!("capture-{}", index + 1);
            capture.filter = None;
            capture.about_text.iter_mut().for_each(|text| text.made_up.clear());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anonymizer() -> Anonymizer {
        let key: Vec<u8> = (0..32).map(|index| index * 7 + 1).collect();
        Anonymizer::new(key.try_into().unwrap()).unwrap()
    }

    fn key_of_the_draft() -> [u8; KEY_LEN] {
        let hex = "0123456789abcdeffedcba98765432101032547698badcfeefcdab8967452301";
        let byte = |index: usize| u8::from_str_radix(&hex[index * 2..index * 2 + 2], 16).unwrap();
        std::array::from_fn(byte)
    }

    /// Test vectors of draft-denis-ipcrypt, appendix 'ipcrypt-pfx Test Vectors'.
    #[test]
    fn the_vectors_of_the_draft() {
        let draft = Anonymizer::new(key_of_the_draft()).unwrap();
        for (plain, encrypted) in [
            ("0.0.0.0", "151.82.155.134"),
            ("255.255.255.255", "94.185.169.89"),
            ("192.0.2.1", "100.115.72.131"),
            ("2001:db8::1", "c180:5dd4:2587:3524:30ab:fa65:6ab6:f88"),
        ] {
            let replaced = draft.addr(plain.parse().unwrap());
            assert_eq!(replaced, encrypted.parse::<IpAddr>().unwrap(), "{plain}");
        }
    }

    #[test]
    fn macs_keep_their_kind_and_their_vendors_apart() {
        let anonymizer = anonymizer();
        let [one, two, other, group] = [
            [0, 0x1b, 0x21, 1, 2, 3],
            [0, 0x1b, 0x21, 9, 2, 3],
            [0x3c, 0x22, 0xfb, 1, 2, 3],
            [1, 0, 0x5e, 1, 2, 3],
        ]
        .map(|mac| anonymizer.mac(mac));
        assert_eq!(one[..3], two[..3]);
        assert_ne!(one[3..], two[3..]);
        assert_ne!(one[..3], other[..3]);
        assert!([one, two, other].iter().all(|mac| mac[0] & 3 == LOCALLY_ADMINISTERED));
        assert_eq!(group[0] & 3, LOCALLY_ADMINISTERED | GROUP);
        assert_eq!(anonymizer.mac([0; 6]), [0; 6]);
        assert_eq!(anonymizer.mac([0xff; 6]), [0xff; 6]);
    }

    #[test]
    fn a_key_with_equal_halves_is_refused() {
        assert!(Anonymizer::new([7; KEY_LEN]).is_none());
    }
}
