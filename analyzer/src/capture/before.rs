//! Text before a capture: `kubectl debug ... > traffic.pcap` writes what it has to say into the same file.

use super::buffer::Buffer;
use std::io;

/// Bytes of text that are looked through.
const MOST: usize = 4 << 10;
const MAGICS: [[u8; 4]; 7] = [
    [0x0a, 0x0d, 0x0d, 0x0a],
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x4d, 0x3c, 0xb2, 0xa1],
    [0xa1, 0xb2, 0xcd, 0x34],
    [0x34, 0xcd, 0xb2, 0xa1],
];

/// Skips lines of text that a capture follows; how many there were.
///
/// # Errors
/// The read failed.
pub fn skip_lines(buffer: &mut Buffer) -> io::Result<u32> {
    if is_magic(buffer.at_least(MAGICS[0].len())?) {
        return Ok(0);
    }
    let ahead = buffer.at_least(MOST)?;
    let (mut at, mut lines) = (0, 0);
    for line in ahead[..ahead.len().min(MOST)].split_inclusive(|&byte| byte == b'\n') {
        if is_magic(&ahead[at..]) {
            buffer.consume(at);
            return Ok(lines);
        }
        if !is_text(line) {
            break;
        }
        at += line.len();
        lines += 1;
    }
    Ok(0)
}

fn is_magic(bytes: &[u8]) -> bool {
    MAGICS.iter().any(|magic| bytes.starts_with(magic))
}

fn is_text(line: &[u8]) -> bool {
    line.iter().all(|&byte| byte >= b' ' || byte.is_ascii_whitespace() || byte == 0x1b)
}
