//! Values of fields, and how JSON and CSV write them: straight into a buffer.
//!
//! Rows are nearly all of a result, so they do not go through serde as a whole.

use crate::judge::words::evidence::ms;
use std::io::Write;
use std::net::IpAddr;

/// The kind of a field's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// Counts, lengths, frames, ports.
    Integer,
    /// An integer that may be unknown.
    MaybeInteger,
    /// In ns since the epoch.
    Time,
    /// Given in ns, shown in ms.
    Duration,
    /// A duration that may be unknown.
    MaybeDuration,
    Flag,
    /// One of these names: a category in a table, a string elsewhere.
    Category(&'static [&'static str]),
    Text,
    Address,
    /// A row of this name: an object in JSON; in a table its columns.
    Nested(&'static str),
    /// An array or an object, in JSON only.
    Json,
}

impl ValueKind {
    /// With its unit.
    pub fn name(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::MaybeInteger => "float",
            Self::Time => "integer, ns since the epoch",
            Self::Duration | Self::MaybeDuration => "float, ms",
            Self::Flag => "true or false",
            Self::Category(_) => "enum",
            Self::Text => "text",
            Self::Address => "IP address",
            Self::Nested(row) => row,
            Self::Json => "array or object",
        }
    }
}

/// A value of a row.
#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    Integer(u64),
    Time(i64),
    Duration(i64),
    Flag(bool),
    /// The place among the names of its kind, and the name.
    Category(u8, &'static str),
    Text(&'a str),
    Address(IpAddr),
    /// An integer, a duration or a name that is not known.
    Unknown,
}

impl Value<'_> {
    /// Does JSON leave it out of a sparse field: unknown, or 0 or false where nothing is unknown?
    #[inline]
    pub fn is_nothing(&self, kind: ValueKind) -> bool {
        match self {
            Self::Integer(0) | Self::Flag(false) | Self::Unknown => true,
            Self::Duration(0) => kind == ValueKind::Duration,
            Self::Category(_, name) => *name == "unknown",
            _ => false,
        }
    }
}

/// Any value, without quotes; nothing where it is unknown.
#[expect(clippy::inline_always, reason = "its kind is known where it is called")]
#[inline(always)]
pub fn value(out: &mut Vec<u8>, value: Value<'_>) {
    match value {
        Value::Integer(number) => integer(out, "", number),
        Value::Time(time_ns) => integer(out, "", time_ns),
        Value::Duration(duration_ns) => duration(out, "", duration_ns),
        Value::Flag(is_true) => name(out, "", if is_true { "true" } else { "false" }),
        Value::Category(_, text) | Value::Text(text) => name(out, "", text),
        Value::Address(addr) => {
            // Memory takes all that is written.
            let _ = write!(out, "{addr}");
        }
        Value::Unknown => {}
    }
}

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
