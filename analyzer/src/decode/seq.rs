//! 32-bit sequence arithmetic (RFC 9293, section 3.4): comparisons modulo 2^32, which never panic.

/// `a` comes before `b` on the sequence circle.
pub fn lt(a: u32, b: u32) -> bool {
    distance(a, b) > 0
}

/// `a` comes before `b` or is `b`.
pub fn le(a: u32, b: u32) -> bool {
    distance(a, b) >= 0
}

/// Signed distance from `from` to `to`, in -2^31 .. 2^31 - 1.
pub fn distance(from: u32, to: u32) -> i32 {
    to.wrapping_sub(from) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_holds_across_the_wrap() {
        assert!(lt(u32::MAX, 0) && lt(u32::MAX - 5, 3) && !lt(3, u32::MAX - 5) && le(7, 7));
        assert_eq!([distance(u32::MAX, 1), distance(1, u32::MAX)], [2, -2]);
        assert!(distance(0, 1 << 31) == i32::MIN && !lt(0, 1 << 31));
    }
}
