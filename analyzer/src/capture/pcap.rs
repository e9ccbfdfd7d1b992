//! Classic pcap files: microseconds and nanoseconds, both byte orders.

use super::{End, Frame, MAX_RECORD, buffer::Buffer, not_a_capture, to_ns};
use crate::error::ScanError;
use crate::link;
use pcap_parser::pcap::{parse_pcap_frame, parse_pcap_frame_be, parse_pcap_frame_modified};
use pcap_parser::{LegacyPcapBlock, PcapError, parse_pcap_header};

const FILE_HEADER_LEN: usize = 24;
const RECORD_HEADER_LEN: usize = 16;
/// The low bits of the link type field; the high ones tell the length of a frame check sequence.
const LINK_TYPE_MASK: u32 = 0xffff;

type Parsed<'a> = Result<(&'a [u8], LegacyPcapBlock<'a>), pcap_parser::nom::Err<PcapError<&'a [u8]>>>;

pub struct Records {
    parse: fn(&[u8]) -> Parsed<'_>,
    /// Bytes before a record's data.
    header_len: usize,
    big_endian: bool,
    /// Units of the fraction field per second.
    units: u64,
    link_type: u32,
}

impl Records {
    /// Reads the file header.
    ///
    /// # Errors
    /// It is not one, or names a link type that cannot be read.
    pub fn open(buffer: &mut Buffer, path: &str) -> Result<Self, ScanError> {
        let start = buffer
            .at_least(FILE_HEADER_LEN)
            .map_err(|error| ScanError::unreadable(path, &error))?;
        let header = match parse_pcap_header(start) {
            Ok((_, header)) => header,
            Err(pcap_parser::nom::Err::Incomplete(_)) => {
                return Err(not_a_capture(path, "it ends inside the file header"));
            }
            Err(_) => return Err(not_a_capture(path, "neither pcap nor pcapng")),
        };
        let link_type = header.network.0 as u32 & LINK_TYPE_MASK;
        if !link::is_known(link_type) {
            return Err(ScanError::UnknownLinkType {
                path: path.to_owned(),
                link_type,
            });
        }
        let modified = header.is_modified_format();
        let big_endian = header.is_bigendian();
        buffer.consume(FILE_HEADER_LEN);
        Ok(Self {
            parse: match (modified, big_endian) {
                (true, _) => parse_pcap_frame_modified,
                (_, true) => parse_pcap_frame_be,
                _ => parse_pcap_frame,
            },
            header_len: if modified { 24 } else { RECORD_HEADER_LEN },
            big_endian,
            units: match header.is_nanosecond_precision() {
                true => 1_000_000_000,
                false => 1_000_000,
            },
            link_type,
        })
    }

    /// # Errors
    /// How the frames ended.
    #[inline]
    pub fn next_frame<'a>(&self, buffer: &'a mut Buffer) -> Result<Frame<'a>, End> {
        let needed = self.record_len(buffer)?;
        if buffer.available().len() < needed {
            buffer.at_least(needed).map_err(|error| End::Failed(error.to_string()))?;
        }
        let available = buffer.available().len();
        if available < needed {
            return Err(if available == 0 { End::Complete } else { End::Cut });
        }
        self.parse(buffer, needed)
    }

    /// Length of the next record with its header; the header's own length at the end of the file.
    #[inline]
    fn record_len(&self, buffer: &mut Buffer) -> Result<usize, End> {
        let start = buffer
            .at_least(self.header_len)
            .map_err(|error| End::Failed(error.to_string()))?;
        let Some(&field) = start.get(8..).and_then(|rest| rest.first_chunk::<4>()) else {
            return Ok(self.header_len);
        };
        let captured_len = match self.big_endian {
            true => u32::from_be_bytes(field),
            false => u32::from_le_bytes(field),
        } as usize;
        if captured_len > MAX_RECORD {
            return Err(End::Damaged("a record claims an impossible length"));
        }
        Ok(self.header_len + captured_len)
    }

    #[inline]
    fn parse<'a>(&self, buffer: &'a mut Buffer, record_len: usize) -> Result<Frame<'a>, End> {
        buffer.consume(record_len);
        let Ok((_, record)) = (self.parse)(buffer.consumed(record_len)) else {
            return Err(End::Damaged("a record cannot be parsed"));
        };
        Ok(Frame {
            time_ns: to_ns(i64::from(record.ts_sec), u64::from(record.ts_usec), self.units),
            wire_len: record.origlen.max(record.caplen),
            link_type: self.link_type,
            data: record.data,
        })
    }
}
