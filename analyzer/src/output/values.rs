//! Single values as text, for JSON and CSV, each after what comes before it, written straight into a
//! buffer.
//!
//! Rows are nearly all of a result, so they do not go through serde.

use crate::judge::words::evidence::ms;
use std::io::Write;
use std::net::IpAddr;

/// A name of this program: nothing to escape.
#[inline]
pub fn name(out: &mut Vec<u8>, before: &str, name: &str) {
    out.extend_from_slice(before.as_bytes());
    out.extend_from_slice(name.as_bytes());
}

/// A number, written as it is.
#[inline]
pub fn integer(out: &mut Vec<u8>, before: &str, value: impl itoa::Integer) {
    name(out, before, itoa::Buffer::new().format(value));
}

/// Yes or no.
#[inline]
pub fn flag(out: &mut Vec<u8>, before: &str, value: bool) {
    name(out, before, if value { "true" } else { "false" });
}

pub fn address(out: &mut Vec<u8>, before: &str, addr: IpAddr) {
    out.extend_from_slice(before.as_bytes());
    let IpAddr::V4(v4) = addr else {
        // Memory takes all that is written.
        let _ = write!(out, "{addr}");
        return;
    };
    let [first, rest @ ..] = v4.octets();
    integer(out, "", first);
    for octet in rest {
        integer(out, ".", octet);
    }
}

/// A duration in ms, as serde writes the float: the shortest decimal that gives it again.
#[inline]
pub fn duration(out: &mut Vec<u8>, before: &str, duration_ns: i64) {
    /// From here on floats are written without an exponent, and up to here with all their digits:
    /// two decimals of at most 15 digits are never the same float.
    const PLAIN_NS: std::ops::Range<i64> = 100..1_000_000_000_000_000;
    if !PLAIN_NS.contains(&duration_ns) {
        name(out, before, &serde_json::to_string(&ms(duration_ns)).unwrap_or_default());
        return;
    }
    // Both parts fit: 32 bits take fewer instructions.
    integer(out, before, (duration_ns / 1_000_000) as u32);
    out.push(b'.');
    let mut rest = (duration_ns % 1_000_000) as u32;
    let mut unit = 100_000;
    loop {
        out.push(b'0' + (rest / unit) as u8);
        rest %= unit;
        unit /= 10;
        if rest == 0 {
            return;
        }
    }
}

/// Writes `members`, each after a comma, in `brackets`.
#[inline]
pub fn enclosed(out: &mut Vec<u8>, brackets: [u8; 2], members: impl FnOnce(&mut Vec<u8>)) {
    let begin = out.len();
    members(out);
    opened(out, begin, brackets[0]);
    out.push(brackets[1]);
}

/// Puts `bracket` in place of the comma at `begin`, or there if nothing follows.
#[inline]
pub fn opened(out: &mut Vec<u8>, begin: usize, bracket: u8) {
    match out.get_mut(begin) {
        Some(comma) => *comma = bracket,
        None => out.push(bracket),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_the_standard_library_writes_them() {
        for addr in ["0.0.0.0", "10.200.3.255", "2001:db8::1", "::ffff:1.2.3.4"] {
            let mut written = Vec::new();
            address(&mut written, "", addr.parse().unwrap());
            assert_eq!(String::from_utf8(written).unwrap(), addr);
        }
    }

    #[test]
    fn durations_are_written_as_serde_writes_them() {
        let mut state = 1_u64;
        let random = (0..100_000).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> (1 + state % 61)) as i64
        });
        let edges = [0, 1, -1, 10, 99, 100, 1_000_000, 40_000_000, 40_100_000, 10_i64.pow(15) - 1];
        for duration_ns in edges.into_iter().chain(random) {
            let mut written = Vec::new();
            duration(&mut written, "", duration_ns);
            assert_eq!(written, serde_json::to_vec(&ms(duration_ns)).unwrap());
        }
    }

    #[test]
    fn members_are_enclosed_whether_there_are_any() {
        for (members, array) in [(&b""[..], "[]"), (b",1", "[1]"), (b",1,2", "[1,2]")] {
            let mut written = Vec::new();
            enclosed(&mut written, *b"[]", |out| out.extend_from_slice(members));
            assert_eq!(String::from_utf8(written).unwrap(), array);
        }
    }
}
