//! The length of an HTTP message, as its first segment announces it (RFC 9112, section 6). Nothing else of a
//! payload is read.

use crate::decode::{SYN, Segment};
use memchr::memmem::Finder;
use std::sync::LazyLock;

/// First bytes of messages that may have content.
const BEGINNINGS: [&[u8; 4]; 4] = [b"HTTP", b"POST", b"PUT ", b"PATC"];
const CONTENT_LENGTH: &[u8] = b"\ncontent-length:";
/// RFC 9110, section 10.1.1.
const ASKS_LEAVE: &[u8] = b"\nexpect: 100-continue";
/// All fields that matter have it, whatever their case is elsewhere.
static HYPHEN_OF_LENGTH: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"ontent-"));
static END_OF_HEAD: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\r\n\r\n"));

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

/// Finds what messages announce. Those of one program mostly have it in one place.
#[derive(Debug, Clone, Copy, Default)]
pub struct Messages {
    /// Where the length of the last request and reply stood, and the end of its head.
    places: [(usize, usize); 2],
}

impl Messages {
    /// The message that begins in `frame` with this segment, if it announces more than that holds.
    #[inline]
    pub fn announced(&mut self, segment: &Segment<'_>, frame: &[u8]) -> Option<Announced> {
        if segment.len == 0 {
            return None;
        }
        let begins = (segment.tcp.as_ptr() as usize).checked_sub(frame.as_ptr() as usize)?;
        let payload = frame.get(begins + usize::from(segment.tcp[12] >> 4) * 4..)?;
        let is_one = BEGINNINGS.contains(&payload.first_chunk()?);
        if is_one && segment.tcp[13] & SYN == 0 { self.read(payload, segment.len) } else { None }
    }

    #[cold]
    fn read(&mut self, payload: &[u8], segment_len: u32) -> Option<Announced> {
        let is_request = payload[0] == b'P';
        let places = &mut self.places[usize::from(is_request)];
        if !begins(payload, places.0, CONTENT_LENGTH) {
            places.0 = place_of_length(payload)?;
        }
        let value = payload[places.0 + CONTENT_LENGTH.len()..].trim_ascii_start();
        let digits = value.iter().take_while(|byte| byte.is_ascii_digit());
        let length = digits.fold(0_u64, |sum, digit| {
            sum.saturating_mul(10).saturating_add(u64::from(digit - b'0'))
        });
        if payload.get(places.1..places.1 + 4) != Some(b"\r\n\r\n") {
            places.1 = END_OF_HEAD.find(payload)?;
        }
        let head = places.1 as u64 + 4;
        let len = head.saturating_add(length);
        (places.0 < places.1 && len > segment_len.into()).then(|| Announced {
            head,
            len,
            is_request,
            asks_leave: is_request && (0..places.1).any(|at| begins(payload, at, ASKS_LEAVE)),
        })
    }
}

fn begins(payload: &[u8], at: usize, name: &[u8]) -> bool {
    payload.get(at..at + name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
}

fn place_of_length(payload: &[u8]) -> Option<usize> {
    let places = HYPHEN_OF_LENGTH.find_iter(payload).filter_map(|at| at.checked_sub(2));
    places.into_iter().find(|&at| begins(payload, at, CONTENT_LENGTH))
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
        let found = Messages::default().announced(&segment, &bytes)?;
        let Announced { head, len, is_request, asks_leave } = found;
        Some((head, len, is_request, asks_leave))
    }

    #[test]
    fn a_message_that_goes_on_announces_its_length() {
        let reply = b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\nzz";
        assert_eq!(announced_by(reply, 42), Some((40, 940, false, false)));
        // The snap length cut it; the segment has all.
        assert_eq!(announced_by(reply, 940), None);
        let asks = b"PUT /a HTTP/1.1\r\nexpect: 100-Continue\r\ncontent-LENGTH:7\r\n\r\n";
        assert_eq!(announced_by(asks, 59), Some((59, 66, true, true)));
    }

    #[test]
    fn others_announce_nothing() {
        let cases: [&[u8]; 5] = [
            b"GET / HTTP/1.1\r\nContent-Length: 900\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n\r\nContent-Length: 900\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n",
            b"HTT",
        ];
        for payload in cases {
            assert_eq!(announced_by(payload, payload.len() as u16), None);
        }
    }
}
