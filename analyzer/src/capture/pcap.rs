//! Classic pcap files: microseconds and nanoseconds, both byte orders.
//!
//! `pcap-parser` parses the file header. Record headers are parsed here: its parser of them takes
//! as long as the rest of reading a record.

use super::buffer::Buffer;
use super::frame::{Frame, InputEnd, MAX_RECORD, words};
use crate::capture::error::ScanError;
use crate::capture::link;
use pcap_parser::parse_pcap_header;

const FILE_HEADER_LEN: usize = 24;
const RECORD_HEADER_LEN: usize = 16;
/// The upper bits tell the length of the frame check sequence.
const LINK_TYPE_MASK: u32 = 0xffff;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordFormat {
    big_endian: bool,
    /// Resolution of the timestamps: 1000 or 1.
    unit_ns: i64,
    link_type: u32,
}

impl RecordFormat {
    /// Reads the file header.
    ///
    /// # Errors
    /// Not a pcap header, or an unsupported link type.
    pub fn open(buffer: &mut Buffer, path: &str) -> Result<Self, ScanError> {
        let start = buffer
            .at_least(FILE_HEADER_LEN)
            .map_err(|error| ScanError::unreadable(path, &error))?;
        let header = match parse_pcap_header(start) {
            Ok((_, header)) => header,
            Err(pcap_parser::nom::Err::Incomplete(_)) => {
                return Err(ScanError::no_header(path, "it ends inside the file header"));
            }
            Err(_) => {
                return Err(ScanError::not_a_capture(
                    path,
                    "neither pcap nor pcapng, nor text that tcpdump or tshark printed",
                ));
            }
        };
        let link_type = header.network.0 as u32 & LINK_TYPE_MASK;
        if link::find(link_type).is_none() {
            return Err(ScanError::UnknownLinkType { path: path.to_owned(), link_type });
        }
        let big_endian = header.is_bigendian();
        let unit_ns = if header.is_nanosecond_precision() { 1 } else { 1_000 };
        buffer.consume(FILE_HEADER_LEN);
        Ok(Self { big_endian, unit_ns, link_type })
    }

    /// The next frame whose record begins before `until`; at the end of the input, `end` is set.
    #[expect(clippy::inline_always, reason = "as Capture::next_before")]
    #[inline(always)]
    pub fn next_frame<'a>(
        &self,
        buffer: &'a mut Buffer,
        until: u64,
        end: &mut Option<InputEnd>,
    ) -> Option<Frame<'a>> {
        if buffer.at() >= until {
            return None;
        }
        let available = buffer.available();
        let header = match words(available, false) {
            Some(header) if self.is_at_hand(header, available) => header,
            _ => match self.fill(buffer) {
                Ok(header) => header,
                Err(stop) => {
                    *end = Some(stop);
                    return None;
                }
            },
        };
        let [seconds, fraction, captured_len, wire_len] = header;
        buffer.consume(len_of(header));
        let data = buffer.consumed(captured_len as usize);
        Some(Frame {
            // 32 bits each: before 2106.
            time_ns: i64::from(seconds) * 1_000_000_000 + i64::from(fraction) * self.unit_ns,
            wire_len: wire_len.max(captured_len),
            link_type: self.link_type,
            data,
        })
    }

    /// Is this the header of a record that is there as a whole, in the usual byte order? Others take the way of
    /// a record that must be read first, which keeps the hot loop short.
    #[inline]
    fn is_at_hand(&self, header: [u32; 4], available: &[u8]) -> bool {
        !self.big_endian && len_of(header) <= available.len()
    }

    /// The record header: seconds, fraction of a second, captured length, length on the wire.
    fn fields(&self, record: &[u8]) -> Option<[u32; 4]> {
        words(record, self.big_endian)
    }

    /// Fills the buffer with the whole next record, unless it is there; returns its header.
    #[cold]
    fn fill(&self, buffer: &mut Buffer) -> Result<[u32; 4], InputEnd> {
        let start = buffer.at_least(RECORD_HEADER_LEN)?;
        let header = match self.fields(start) {
            _ if start.is_empty() => return Err(InputEnd::Complete),
            None => return Err(InputEnd::Cut),
            Some(header) if len_of(header) > MAX_RECORD => {
                return Err(InputEnd::Damaged("a record claims an impossible length"));
            }
            Some(header) => header,
        };
        match buffer.at_least(len_of(header))?.len() {
            available if available < len_of(header) => Err(InputEnd::Cut),
            _ => Ok(header),
        }
    }
}

/// Length of the record with this header.
#[inline]
fn len_of([_, _, captured_len, _]: [u32; 4]) -> usize {
    RECORD_HEADER_LEN + captured_len as usize
}
