//! The flags of a TCP header (RFC 9293, section 3.1).

pub const FIN: u8 = 0x01;
pub const SYN: u8 = 0x02;
pub const RST: u8 = 0x04;
pub const PSH: u8 = 0x08;
pub const ACK: u8 = 0x10;
pub const URG: u8 = 0x20;

/// Their names, from the lowest bit on, and the letters that tcpdump prints for them. Its `e` (RFC
/// 9768) has no bit of this byte.
pub const NAMES: [&str; 8] = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];
pub const LETTERS: &str = "FSRP.UEWe";
