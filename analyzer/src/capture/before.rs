//! Text before a capture: `kubectl debug ... > traffic.pcap` writes messages into it.

use super::buffer::Buffer;
use std::io;

/// Bytes of text that are looked through.
const MOST: usize = 4 << 10;
/// The words that pcapng and the kinds of pcap begin with, in either byte order.
const MAGICS: [u32; 4] = [0x0a0d_0d0a, 0xa1b2_c3d4, 0xa1b2_3c4d, 0xa1b2_cd34];

/// Skips lines of text that a capture follows; how many there were.
///
/// # Errors
/// The read failed.
pub fn skip_lines(buffer: &mut Buffer) -> io::Result<u32> {
    if is_magic(buffer.at_least(size_of::<u32>())?) {
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
    let word = bytes.first_chunk().map(|word| u32::from_be_bytes(*word));
    word.is_some_and(|word| MAGICS.contains(&word) || MAGICS.contains(&word.swap_bytes()))
}

fn is_text(line: &[u8]) -> bool {
    line.iter().all(|&byte| byte >= b' ' || byte.is_ascii_whitespace() || byte == 0x1b)
}
