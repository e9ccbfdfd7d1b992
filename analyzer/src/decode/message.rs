//! The length of an HTTP message, as its first segment announces it (RFC 9112, section 6). Nothing else of a
//! payload is read.

use crate::decode::{SYN, Segment};
use memchr::{memchr_iter, memmem};

/// First bytes of messages that may have content.
const BEGINNINGS: [&[u8; 4]; 4] = [b"HTTP", b"POST", b"PUT ", b"PATC"];
const CONTENT_LENGTH: &[u8] = b"content-length:";
/// RFC 9110, section 10.1.1.
const ASKS_LEAVE: &[u8] = b"expect: 100-continue";

/// The length that a message announces, which its first segment does not hold all of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Announced {
    /// Up to its content. A reply may have none of what it announces (RFC 9110, section 9.3.2).
    pub head: u64,
    /// With its content.
    pub len: u64,
    pub is_request: bool,
    /// The client sends the content when the server gives leave.
    pub asks_leave: bool,
}

/// The message that begins in `frame` with this segment, if it announces more than that holds.
#[inline]
pub fn announced(segment: &Segment<'_>, frame: &[u8]) -> Option<Announced> {
    if segment.len == 0 || segment.tcp[13] & SYN != 0 {
        return None;
    }
    let begins = (segment.tcp.as_ptr() as usize).checked_sub(frame.as_ptr() as usize)?;
    let payload = frame.get(begins + usize::from(segment.tcp[12] >> 4) * 4..)?;
    let beginning = payload.first_chunk()?;
    if BEGINNINGS.contains(&beginning) { read(payload, segment.len) } else { None }
}

#[cold]
fn read(payload: &[u8], segment_len: u32) -> Option<Announced> {
    let head = memmem::find(payload, b"\r\n\r\n")? + 4;
    let mut announced = Announced {
        head: head as u64,
        len: 0,
        is_request: !payload.starts_with(b"HTTP"),
        asks_leave: false,
    };
    let fields = &payload[..head];
    for end in memchr_iter(b'\n', fields) {
        let field = &fields[end + 1..];
        let begins = |name: &[u8]| {
            field.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
        };
        if begins(CONTENT_LENGTH) {
            let value = field[CONTENT_LENGTH.len()..].trim_ascii_start();
            let digits = value.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let length: u64 = str::from_utf8(&value[..digits]).ok()?.parse().ok()?;
            announced.len = announced.head.checked_add(length)?;
        }
        announced.asks_leave |= begins(ASKS_LEAVE);
    }
    (announced.len > segment_len.into()).then_some(announced)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::link::RAW;
    use crate::decode::segment;
    use crate::decode::tests::packet;

    fn announced_by(payload: &[u8], len: u16) -> Option<(u64, u64, bool, bool)> {
        let bytes = [packet(40 + len, &[], 0), payload.to_vec()].concat();
        let segment = segment(RAW, &bytes, 40 + u32::from(len)).unwrap();
        let Announced { head, len, is_request, asks_leave } = announced(&segment, &bytes)?;
        Some((head, len, is_request, asks_leave))
    }

    #[test]
    fn a_message_that_goes_on_announces_its_length() {
        let reply = b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\nzz";
        assert_eq!(announced_by(reply, 42), Some((40, 940, false, false)));
        // The snap length cut it; the segment has all.
        assert_eq!(announced_by(reply, 940), None);
        let asks = b"PUT /a HTTP/1.1\r\nexpect: 100-Continue\r\ncontent-length:7\r\n\r\n";
        assert_eq!(announced_by(asks, 59), Some((59, 66, true, true)));
    }

    #[test]
    fn others_announce_nothing() {
        let cases: [&[u8]; 5] = [
            b"GET / HTTP/1.1\r\nContent-Length: 900\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n",
            b"HTT",
        ];
        for payload in cases {
            assert_eq!(announced_by(payload, payload.len() as u16), None);
        }
    }
}
