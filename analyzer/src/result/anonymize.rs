//! Addresses that keep their structure and lose their identity.
//!
//! IP addresses are encrypted with ipcrypt-pfx (draft-denis-ipcrypt, 'Methods for IP Address
//! Encryption and Obfuscation'): deterministic, keyed, and prefix-preserving, so two addresses that
//! share their first n bits share them afterwards, and no more. There is no exception: private,
//! loopback and link-local addresses go the same way, or else an encrypted address could not be
//! distinguished from one that was spared.
//!
//! It does not hide ports, times, lengths, sequence numbers and TCP timestamps. Anyone with a
//! capture of the same traffic can match the connections, and anyone who knows some addresses
//! learns the prefixes of others (draft-denis-ipcrypt, security considerations).

use crate::result::scan::Scan;
use ipcrypt_rs::IpcryptPfx;
use std::net::IpAddr;
use std::sync::Arc;

pub const KEY_LEN: usize = 32;

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

    /// Replaces every address a scan can show, the names of its captures and its filter: they may
    /// hold addresses, hosts or people.
    pub fn anonymize(&self, scan: &mut Scan) {
        for end in scan.connections.iter_mut().flat_map(|judged| &mut judged.halves) {
            end.endpoint.addr = self.addr(end.endpoint.addr);
        }
        for server in &mut scan.servers {
            server.server.addr = self.addr(server.server.addr);
        }
        for text in scan.captures.iter().filter_map(|capture| capture.about_text.as_deref()) {
            scan.names.without_printed(&text.hosts);
        }
        // The user chose the other words, for the addresses as they were.
        scan.names = scan.names.moved(|addr| self.addr(addr));
        scan.is_anonymized = true;
        scan.calls = scan.calls.take().map(|calls| Arc::new(calls.anonymized()));
        for (index, capture) in scan.captures.iter_mut().enumerate() {
            capture.path = format!("capture-{}", index + 1);
            capture.filter = None;
            if let Some(text) = &mut capture.about_text {
                (text.hosts, text.ports) = Default::default();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_key_with_equal_halves_is_refused() {
        assert!(Anonymizer::new([7; KEY_LEN]).is_none());
    }
}
