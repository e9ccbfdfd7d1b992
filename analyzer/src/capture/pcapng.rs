//! pcapng files: several sections, interfaces, link types and timestamp resolutions.

use super::{Fraction, Frame, InputEnd, MAX_RECORD, buffer::Buffer};
use pcap_parser::InterfaceDescriptionBlock;
use pcap_parser::pcapng::{Block, parse_block_be, parse_block_le};
use pcap_parser::traits::PcapNGPacketBlock;

const SECTION_HEADER: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// Each takes memory; real captures have a handful.
const MAX_INTERFACES: usize = 1 << 20;
const OBSOLETE_PACKET: u32 = 2;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// Type, length and, in a section header, byte-order magic: needed to size a block.
const BLOCK_START_LEN: usize = 12;

/// Bytes of an enhanced packet without options, beside the frame.
pub const PACKET_OVERHEAD: usize = 32;

struct Interface {
    link_type: u32,
    /// `None`: an impossible resolution; an error only if a packet uses it.
    fraction: Option<Fraction>,
    /// `if_tsoffset`: seconds to add to each timestamp.
    offset_s: i64,
    snap_len: u32,
}

pub struct Blocks {
    big_endian: bool,
    interfaces: Vec<Interface>,
}

/// What one block gave.
enum Read {
    Other,
    Packet { interface: usize, timestamp: u64, wire_len: u32, at: usize, captured_len: usize },
}

impl Blocks {
    pub fn new() -> Self {
        Self { big_endian: false, interfaces: Vec::new() }
    }

    /// # Errors
    /// How the frames ended.
    pub fn next_frame<'a>(&mut self, buffer: &'a mut Buffer) -> Result<Frame<'a>, InputEnd> {
        loop {
            let block_len = self.block_len(buffer)?;
            let read = self.block(&buffer.available()[..block_len])?;
            buffer.consume(block_len);
            if let Read::Packet { interface, timestamp, wire_len, at, captured_len } = read {
                let Some(interface) = self.interfaces.get(interface) else {
                    return Err(InputEnd::Damaged(
                        "a packet names an interface that is not described",
                    ));
                };
                let block = buffer.consumed(block_len);
                return Ok(Frame {
                    time_ns: interface.time_ns(timestamp)?,
                    wire_len,
                    link_type: interface.link_type,
                    data: &block[at..at + captured_len],
                });
            }
        }
    }

    /// Length of the next block, which is then all in the buffer.
    fn block_len(&mut self, buffer: &mut Buffer) -> Result<usize, InputEnd> {
        let start = buffer.at_least(BLOCK_START_LEN)?;
        if start.is_empty() {
            return Err(InputEnd::Complete);
        }
        let Some(&[kind @ .., l0, l1, l2, l3, m0, m1, m2, m3]) =
            start.first_chunk::<BLOCK_START_LEN>()
        else {
            return Err(InputEnd::Cut);
        };
        if kind == SECTION_HEADER {
            self.big_endian = match u32::from_le_bytes([m0, m1, m2, m3]) {
                BYTE_ORDER_MAGIC => false,
                magic if magic.swap_bytes() == BYTE_ORDER_MAGIC => true,
                _ => return Err(InputEnd::Damaged("a section without a byte order")),
            };
        }
        let length = match self.big_endian {
            true => u32::from_be_bytes([l0, l1, l2, l3]),
            false => u32::from_le_bytes([l0, l1, l2, l3]),
        } as usize;
        if length < BLOCK_START_LEN || !length.is_multiple_of(4) || length > MAX_RECORD {
            return Err(InputEnd::Damaged("a block claims an impossible length"));
        }
        match buffer.at_least(length)?.len() {
            available if available < length => Err(InputEnd::Cut),
            _ => Ok(length),
        }
    }

    fn block(&mut self, bytes: &[u8]) -> Result<Read, InputEnd> {
        let parse = match self.big_endian {
            true => parse_block_be,
            false => parse_block_le,
        };
        match parse(bytes) {
            Ok((_, Block::SectionHeader(_))) => self.interfaces.clear(),
            Ok((_, Block::InterfaceDescription(block))) => {
                if self.interfaces.len() == MAX_INTERFACES {
                    return Err(InputEnd::Damaged("a section with over a million interfaces"));
                }
                self.interfaces.push(Interface::new(&block, self.big_endian));
            }
            Ok((_, Block::EnhancedPacket(block))) => {
                return Ok(Read::Packet {
                    interface: block.if_id as usize,
                    timestamp: u64::from(block.ts_high) << 32 | u64::from(block.ts_low),
                    wire_len: block.origlen.max(block.caplen),
                    // Seven words: type, length, interface, timestamp (two), two lengths.
                    at: 28,
                    captured_len: block.packet_data().len(),
                });
            }
            Ok((_, Block::SimplePacket(block))) => return Ok(self.simple_packet(&block)),
            Ok((_, Block::Unknown(block))) if self.is_obsolete_packet(block.block_type) => {
                return self.obsolete_packet(block.data);
            }
            // Name resolution, statistics, custom blocks: no packet.
            Ok(_) => {}
            Err(_) => return Err(InputEnd::Damaged("a block cannot be parsed")),
        }
        Ok(Read::Other)
    }

    fn is_obsolete_packet(&self, little_endian_type: u32) -> bool {
        OBSOLETE_PACKET
            == match self.big_endian {
                true => little_endian_type.swap_bytes(),
                false => little_endian_type,
            }
    }

    /// The obsolete Packet Block: an enhanced packet with a 16-bit interface and a 16-bit drop
    /// count. Wireshark numbers it as a frame, so it counts as one here.
    fn obsolete_packet(&self, data: &[u8]) -> Result<Read, InputEnd> {
        let word = |at: usize| {
            let bytes = data.get(at..).and_then(|rest| rest.first_chunk::<4>())?;
            Some(match self.big_endian {
                true => u32::from_be_bytes(*bytes),
                false => u32::from_le_bytes(*bytes),
            })
        };
        let read = || {
            let interface = match self.big_endian {
                true => word(0)? >> 16,
                false => word(0)? & 0xffff,
            };
            let captured_len = word(12)? as usize;
            (data.len() >= 20 + captured_len).then_some(Read::Packet {
                interface: interface as usize,
                timestamp: u64::from(word(4)?) << 32 | u64::from(word(8)?),
                wire_len: word(16)?.max(captured_len as u32),
                at: 28,
                captured_len,
            })
        };
        read().ok_or(InputEnd::Damaged("a block cannot be parsed"))
    }

    /// A simple packet has no timestamp and no captured length: it is the first interface's, cut at
    /// its snap length.
    fn simple_packet(&self, block: &pcap_parser::SimplePacketBlock<'_>) -> Read {
        let snap_len = match self.interfaces.first() {
            Some(interface) if interface.snap_len > 0 => interface.snap_len,
            _ => u32::MAX,
        };
        let captured_len = block.packet_data().len().min(snap_len as usize);
        Read::Packet { interface: 0, timestamp: 0, wire_len: block.origlen, at: 12, captured_len }
    }
}

const IMPOSSIBLE_RESOLUTION: InputEnd =
    InputEnd::Damaged("an interface with an impossible time resolution");

impl Interface {
    fn new(block: &InterfaceDescriptionBlock<'_>, big_endian: bool) -> Self {
        let exponent = u32::from(block.if_tsresol & 0x7f);
        let units = match block.if_tsresol & 0x80 {
            0 => 10_u64.checked_pow(exponent),
            _ => 1_u64.checked_shl(exponent),
        };
        Self {
            link_type: block.linktype.0 as u32,
            fraction: units.map(Fraction::new),
            // pcap-parser always reads this option as little-endian.
            offset_s: match big_endian {
                true => block.if_tsoffset.swap_bytes(),
                false => block.if_tsoffset,
            },
            snap_len: block.snaplen,
        }
    }

    fn time_ns(&self, timestamp: u64) -> Result<i64, InputEnd> {
        let fraction = self.fraction.ok_or(IMPOSSIBLE_RESOLUTION)?;
        Ok(fraction.to_ns(self.offset_s, timestamp))
    }
}
