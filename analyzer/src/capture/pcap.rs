//! Classic pcap files: microseconds and nanoseconds, both byte orders.
//!
//! `pcap-parser` parses the file header. Record headers are parsed here: its parser of them takes
//! as long as the rest of reading a record.

use super::buffer::Buffer;
use super::frame::{Frame, InputEnd, MAX_RECORD, words};
use crate::capture::error::ScanError;
use crate::capture::link;
use crate::capture::times::SECOND_NS;
use pcap_parser::{PcapHeader, parse_pcap_header};

const FILE_HEADER_LEN: usize = 24;
const RECORD_HEADER_LEN: usize = 16;
const MODIFIED_RECORD_HEADER_LEN: usize = 24;
/// The upper bits tell the length of the frame check sequence.
const LINK_TYPE_MASK: u32 = 0xffff;

/// How the numbers of a record's header lie, where it is not as most write them today.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Unusual {
    big_endian: bool,
    lengths: LengthOrder,
}

/// In which order the two lengths come (libpcap's `pcap_check_header`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LengthOrder {
    /// The captured one first.
    Usual,
    /// The one on the wire first: before version 2.3.
    Swapped,
    /// The smaller one is the captured one: version 2.3.
    Either,
}

impl Unusual {
    fn of(header: &PcapHeader) -> Option<Self> {
        let big_endian = !header.is_modified_format() && header.is_bigendian();
        let lengths = match (header.version_major, header.version_minor) {
            (2, ..3) => LengthOrder::Swapped,
            // 543.0 is AIX' (libpcap, sf-pcap.c).
            (2, 3) | (543, _) => LengthOrder::Either,
            _ => LengthOrder::Usual,
        };
        (big_endian || lengths != LengthOrder::Usual).then_some(Self { big_endian, lengths })
    }

    /// The numbers of a header, as those of a usual one.
    fn as_usual(self, header: [u32; 4]) -> [u32; 4] {
        let header = if self.big_endian { header.map(u32::swap_bytes) } else { header };
        let [seconds, fraction, first, second] = header;
        let is_swapped = match self.lengths {
            LengthOrder::Usual => false,
            LengthOrder::Swapped => true,
            LengthOrder::Either => first > second,
        };
        if is_swapped { [seconds, fraction, second, first] } else { header }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordFormat {
    unusual: Option<Unusual>,
    /// Kuznetzov's 'modified' pcap has eight bytes more per record.
    header_len: usize,
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
        let unusual = Unusual::of(&header);
        let header_len = if header.is_modified_format() {
            MODIFIED_RECORD_HEADER_LEN
        } else {
            RECORD_HEADER_LEN
        };
        let unit_ns = if header.is_nanosecond_precision() { 1 } else { 1_000 };
        buffer.consume(FILE_HEADER_LEN);
        Ok(Self { unusual, header_len, unit_ns, link_type })
    }

    /// The next frame, if its record begins before `until`; at the end of the input, `end` is set.
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
        buffer.consume(self.len_of(header));
        let data = buffer.consumed(captured_len as usize);
        Some(Frame {
            // 32 bits each: before 2106.
            time_ns: i64::from(seconds) * SECOND_NS + i64::from(fraction) * self.unit_ns,
            wire_len: wire_len.max(captured_len),
            link_type: self.link_type,
            data,
        })
    }

    /// Is this the header of a record that is there as a whole, and a usual one? Others take the
    /// way of a record that must be read first, which keeps the hot loop short.
    #[inline]
    fn is_at_hand(&self, header: [u32; 4], available: &[u8]) -> bool {
        self.unusual.is_none() && self.len_of(header) <= available.len()
    }

    /// The record header: seconds, fraction of a second, captured length, length on the wire.
    fn fields(&self, record: &[u8]) -> Option<[u32; 4]> {
        let header = words(record, false)?;
        Some(self.unusual.map_or(header, |unusual| unusual.as_usual(header)))
    }

    /// Length of the record with this header.
    #[inline]
    fn len_of(&self, [_, _, captured_len, _]: [u32; 4]) -> usize {
        self.header_len + captured_len as usize
    }

    /// Fills the buffer with the whole next record, unless it is there; returns its header.
    #[cold]
    fn fill(&self, buffer: &mut Buffer) -> Result<[u32; 4], InputEnd> {
        let start = buffer.at_least(self.header_len)?;
        let header = match self.fields(start) {
            _ if start.is_empty() => return Err(InputEnd::Complete),
            None => return Err(InputEnd::Cut),
            Some(header) if self.len_of(header) > MAX_RECORD => {
                return Err(InputEnd::Damaged("a record claims an impossible length"));
            }
            Some(header) => header,
        };
        match buffer.at_least(self.len_of(header))?.len() {
            available if available < self.len_of(header) => Err(InputEnd::Cut),
            _ => Ok(header),
        }
    }
}
