//! Captures in forms that are not read: each is named, with the command that converts it.

use crate::capture::error::ScanError;

/// Bytes at the beginning of a file that are looked at.
pub const LOOKED_AT: usize = 24;

/// The way to handle a file.
#[derive(Clone, Copy)]
enum Remedy {
    /// Wireshark reads it, and writes a pcap.
    Convert,
    /// This command unpacks it.
    Unpack(&'static str),
    Decrypt,
}

use Remedy::{Convert, Decrypt, Unpack};

/// How files of each form begin (Wireshark's wiretap; file(1)).
const FORMS: [(&[u8], &str, Remedy); 25] = [
    (b"RTSS", "a capture of Microsoft Network Monitor 1.x", Convert),
    (b"GMBU", "a capture of Microsoft Network Monitor 2.x", Convert),
    (b"TRSNIFF data    \x1a", "a capture of Sniffer (DOS)", Convert),
    (b"XCP\0", "a capture of Sniffer (Windows) or NetXray", Convert),
    (b"VL\0\0", "a capture of NetXray", Convert),
    (b"snoop\0\0\0", "a capture of snoop (Solaris) or Surveyor", Convert),
    (b"iptrace 1.0", "a capture of iptrace (AIX)", Convert),
    (b"iptrace 2.0", "a capture of iptrace (AIX)", Convert),
    (b"TR\0\x64", "a capture of nettl (HP-UX)", Convert),
    (b"\x01\x10\x4c\0\x01\x05Trace", "a capture of LANalyzer", Convert),
    (b"\x05VNF", "a capture of Visual Networks", Convert),
    (b"ObserverPktBuffe", "a capture of Observer", Convert),
    (b"\x7fver", "a capture of EtherPeek or OmniPeek", Convert),
    (b"\xaa\xaa\xaa\xaa", "a capture of 5View", Convert),
    // Wireshark writes it (editcap --compress lz4) and reads it.
    (b"\x04\x22\x4d\x18", "packed with LZ4", Unpack("unlz4 -k")),
    (b"\xfd7zXZ", "packed with xz", Unpack("unxz -k")),
    (b"BZh", "packed with bzip2", Unpack("bunzip2 -k")),
    (b"\x1f\x9d", "packed with compress", Unpack("gunzip -k")),
    (b"PK\x03\x04", "a zip archive", Unpack("unzip")),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", Unpack("7z x")),
    (b"Rar!\x1a\x07", "a RAR archive", Unpack("unrar x")),
    (b"-----BEGIN PGP MESSAGE", "encrypted with PGP", Decrypt),
    (b"age-encryption.org/v1", "encrypted with age", Decrypt),
    (b"-----BEGIN AGE ENCRYPTED", "encrypted with age", Decrypt),
    (b"Salted__", "encrypted with OpenSSL", Decrypt),
];

/// The error for a file that begins so; `None` for one that may be read.
pub fn refused(start: &[u8], path: &str) -> Option<ScanError> {
    let (_, form, remedy) = FORMS.iter().find(|(begin, ..)| start.starts_with(begin))?;
    let reason = match remedy {
        Convert => {
            format!("{form}, which is not read: convert it first (editcap -F pcap FILE OUT.pcap)")
        }
        Unpack(command) => format!("{form}: unpack it first ({command})"),
        Decrypt => format!("{form}: decrypt it first"),
    };
    Some(ScanError::Unreadable { path: path.to_owned(), reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_is_named_with_what_to_do() {
        for (begin, form, _) in FORMS {
            let error = refused(&[begin, &[0; 9]].concat(), "a.cap").unwrap().to_string();
            assert!(
                begin.len() <= LOOKED_AT && error.starts_with(&format!("a.cap: {form}")),
                "{error}"
            );
            assert!(error.contains("first"), "{error}");
        }
        assert!(refused(&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0], "a.pcap").is_none());
    }
}
