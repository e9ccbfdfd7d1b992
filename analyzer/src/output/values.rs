//! Single values as text, for JSON and CSV, each after what comes before it, written straight into a
//! buffer.
//!
//! Rows are nearly all of a result, so they do not go through serde as a whole.

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
    // Memory takes all that is written.
    let _ = write!(out, "{before}{addr}");
}

/// A duration in ms: the shortest decimal that gives it again.
#[inline]
pub fn duration(out: &mut Vec<u8>, before: &str, duration_ns: i64) {
    out.extend_from_slice(before.as_bytes());
    let _ = serde_json::to_writer(out, &ms(duration_ns));
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
    fn members_are_enclosed_whether_there_are_any() {
        for (members, array) in [(&b""[..], "[]"), (b",1", "[1]"), (b",1,2", "[1,2]")] {
            let mut written = Vec::new();
            enclosed(&mut written, *b"[]", |out| out.extend_from_slice(members));
            assert_eq!(String::from_utf8(written).unwrap(), array);
        }
    }
}
