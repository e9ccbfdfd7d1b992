//! The Internet checksum (RFC 1071) and its incremental update (RFC 1624).

use etherparse::checksum::Sum16BitWords as Sum;

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

/// The checksum of words with this sum.
fn of(sum: Sum) -> u16 {
    sum.ones_complement().to_be()
}

/// Sum of the pseudo-header of a TCP segment of `tcp_len` bytes; `addresses` are both, adjacent.
pub fn pseudo_header(addresses: &[u8], tcp_len: u64) -> Sum {
    const PROTOCOL: [u8; 2] = [0, 6];
    Sum::new().add_slice(addresses).add_2bytes(PROTOCOL).add_8bytes(tcp_len.to_be_bytes())
}

/// The checksum that offload gives the network card: the sum of the pseudo-header alone.
pub fn partial(pseudo_header: Sum) -> u16 {
    !of(pseudo_header)
}

/// The right checksum of `bytes`, which have it at `at`, after `sum` of what stands before them.
pub fn right(sum: Sum, bytes: &[u8], at: usize) -> u16 {
    let (head, rest) = bytes.split_at(at);
    of(sum.add_slice(head).add_slice(&rest[2..]))
}

/// A fixed checksum that is wrong where `right` is right.
pub fn wrong(right: u16) -> u16 {
    // 0 and 0xffff are the same number in one's complement.
    u16::from(matches!(right, 0 | 0xffff))
}

/// The checksum after `before` became `after` (RFC 1624, equation 3).
pub fn updated(checksum: u16, before: &[u8], after: &[u8]) -> u16 {
    let without = [!checksum, of(Sum::new().add_slice(before))].map(u16::to_be_bytes);
    of(Sum::new().add_slice(without.as_flattened()).add_slice(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_is_that_of_rfc_1624_section_4() {
        assert_eq!(updated(0xdd2f, &[0x55, 0x55], &[0x32, 0x85]), 0x0000);
    }

    #[test]
    fn a_wrong_checksum_is_never_right() {
        for right in [0, 1, 0x1234, 0xfffe, 0xffff] {
            let same = |a: u16, b: u16| a % 0xffff == b % 0xffff;
            assert!(!same(wrong(right), right), "{right:x}");
        }
    }
}
