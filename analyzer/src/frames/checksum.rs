//! The Internet checksum (RFC 1071) and its incremental update (RFC 1624).

const TCP: u8 = 6;

/// The checksum of a captured segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChecksumState {
    Right,
    Wrong,
    /// The pseudo-header's only: checksum offload does the rest in the network card.
    Partial,
    /// The segment is cut.
    Unknown,
}

/// Adds `bytes` to `sum` as big-endian 16-bit words; an odd byte is padded with zero.
pub fn add(sum: u64, bytes: &[u8]) -> u64 {
    bytes.chunks(2).fold(sum, |sum, word| {
        sum + u64::from(u16::from_be_bytes([word[0], word.get(1).copied().unwrap_or(0)]))
    })
}

/// One's complement sum in 16 bits.
pub fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    sum as u16
}

/// Sum of the pseudo-header of a TCP segment of `tcp_len` bytes; `addresses` are both, adjacent.
pub fn pseudo_header(addresses: &[u8], tcp_len: u64) -> u64 {
    add(u64::from(TCP) + (tcp_len >> 16) + (tcp_len & 0xffff), addresses)
}

/// The right checksum of `bytes`, which have it at `at`, after `sum` of what stands before them.
pub fn right(sum: u64, bytes: &[u8], at: usize) -> u16 {
    let (head, rest) = bytes.split_at(at);
    !fold(add(add(sum, head), &rest[2..]))
}

/// A fixed checksum that is wrong where `right` is right.
pub fn wrong(right: u16) -> u16 {
    // 0 and 0xffff are the same number in one's complement.
    u16::from(matches!(right, 0 | 0xffff))
}

/// The checksum after `before` became `after` (RFC 1624, equation 3).
pub fn updated(checksum: u16, before: &[u8], after: &[u8]) -> u16 {
    let complement = |sum: u16| u64::from(!sum);
    !fold(complement(checksum) + complement(fold(add(0, before))) + add(0, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1071, section 3, and RFC 1624, section 4.
    #[test]
    fn the_examples_of_the_rfcs() {
        assert_eq!(fold(add(0, &[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7])), 0xddf2);
        assert_eq!(updated(0xdd2f, &[0x55, 0x55], &[0x32, 0x85]), 0x0000);
        assert_eq!(fold(add(0, &[1, 2, 3])), 0x0402);
    }

    #[test]
    fn a_wrong_checksum_is_never_right() {
        for right in [0, 1, 0x1234, 0xfffe, 0xffff] {
            let same = |a: u16, b: u16| a % 0xffff == b % 0xffff;
            assert!(!same(wrong(right), right), "{right:x}");
        }
    }
}
