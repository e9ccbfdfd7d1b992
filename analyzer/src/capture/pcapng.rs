//! pcapng files: several sections, interfaces, link types and timestamp resolutions.
//!
//! `pcap-parser` parses the blocks, but those of packets: it makes a list of their options, and
//! takes longer than the rest of reading them.

use super::buffer::Buffer;
use super::frame::{Fraction, Frame, InputEnd, MAX_RECORD, words};
use crate::capture::times::SECOND_NS;
use pcap_parser::pcapng::{Block, parse_block_be, parse_block_le};
use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{InterfaceDescriptionBlock, SimplePacketBlock};
use std::sync::Arc;

/// A palindrome: the same in both byte orders.
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
/// Each takes memory; real captures have a handful.
const MAX_INTERFACES: usize = 1 << 16;
const OBSOLETE_PACKET: u32 = 2;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// Type, length and, in a section header, byte-order magic: needed to size a block.
const BLOCK_START_LEN: usize = 12;
/// Type, length, interface, timestamp (two), two lengths, each in a word.
const PACKET_START_LEN: usize = 28;
/// Blocks begin and end at words.
const WORD_LEN: usize = 4;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Interface {
    link_type: u32,
    /// `None`: an impossible resolution; an error only if a packet uses it.
    fraction: Option<Fraction>,
    /// To add to each timestamp.
    offset_ns: i64,
    snap_len: u32,
}

/// State from the blocks so far that those to come need.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Blocks {
    big_endian: bool,
    interfaces: Arc<Vec<Interface>>,
}

/// A block with a frame.
struct FrameBlock {
    block_len: usize,
    interface: usize,
    timestamp: u64,
    wire_len: u32,
    at: usize,
    captured_len: usize,
}

impl Blocks {
    /// The next frame, if its block begins before `until`; at the end of the input, `end` is set.
    #[expect(clippy::inline_always, reason = "as Capture::next_before")]
    #[inline(always)]
    pub fn next_frame<'a>(
        &mut self,
        buffer: &'a mut Buffer,
        until: u64,
        end: &mut Option<InputEnd>,
    ) -> Option<Frame<'a>> {
        if buffer.at() >= until {
            return None;
        }
        let packet = match self.packet(buffer.available()) {
            Some(packet) => Ok(packet),
            None => self.next_packet(buffer, until).transpose()?,
        };
        let frame = packet.and_then(|packet| self.frame(buffer, packet));
        frame.map_err(|stop| *end = Some(stop)).ok()
    }

    #[inline]
    fn frame<'a>(&self, buffer: &'a mut Buffer, packet: FrameBlock) -> Result<Frame<'a>, InputEnd> {
        let Some(interface) = self.interfaces.get(packet.interface) else {
            return Err(InputEnd::Damaged("a packet names an interface that is not described"));
        };
        let time_ns = interface.time_ns(packet.timestamp)?;
        buffer.consume(packet.block_len);
        let block = buffer.consumed(packet.block_len);
        Ok(Frame {
            time_ns,
            wire_len: packet.wire_len,
            link_type: interface.link_type,
            data: &block[packet.at..packet.at + packet.captured_len],
        })
    }

    /// The packet of the block that `bytes` begin with, if it is whole and valid. An obsolete
    /// Packet Block has a 16-bit interface and a 16-bit drop count; Wireshark numbers it as a
    /// frame, so it counts as one here.
    #[inline]
    fn packet(&self, bytes: &[u8]) -> Option<FrameBlock> {
        let [kind, _, interface, ts_high, ts_low, captured_len, wire_len] =
            words(bytes, self.big_endian)?;
        let interface = match kind {
            ENHANCED_PACKET => interface,
            OBSOLETE_PACKET if self.big_endian => interface >> 16,
            OBSOLETE_PACKET => interface & 0xffff,
            _ => return None,
        };
        let block_len = self.plausible_len(bytes)?;
        let needed = PACKET_START_LEN + captured_len as usize + WORD_LEN;
        (needed <= block_len && block_len <= bytes.len()).then_some(FrameBlock {
            block_len,
            interface: interface as usize,
            timestamp: u64::from(ts_high) << 32 | u64::from(ts_low),
            wire_len: wire_len.max(captured_len),
            at: PACKET_START_LEN,
            captured_len: captured_len as usize,
        })
    }

    /// Length of a block, if that is plausible, and the same at its end, if that is there.
    #[inline]
    fn plausible_len(&self, bytes: &[u8]) -> Option<usize> {
        let [_, len] = words(bytes, self.big_endian)?;
        let block_len = possible_len(len)?;
        let end = bytes.get(block_len - WORD_LEN..).and_then(|end| words(end, self.big_endian));
        end.is_none_or(|[end]| end == len).then_some(block_len)
    }

    /// The next packet that begins before `until`, after blocks of any kind.
    #[cold]
    fn next_packet(
        &mut self,
        buffer: &mut Buffer,
        until: u64,
    ) -> Result<Option<FrameBlock>, InputEnd> {
        while buffer.at() < until {
            let len = self.block_len(buffer)?;
            match self.block(&buffer.available()[..len])? {
                Some(packet) => return Ok(Some(packet)),
                None => buffer.consume(len),
            }
        }
        Ok(None)
    }

    /// Length of the next block, which is then all in the buffer.
    fn block_len(&mut self, buffer: &mut Buffer) -> Result<usize, InputEnd> {
        let start = buffer.at_least(BLOCK_START_LEN)?;
        let Some([kind, len, magic]) = words(start, false) else {
            return Err(if start.is_empty() { InputEnd::Complete } else { InputEnd::Cut });
        };
        if kind == SECTION_HEADER {
            self.big_endian = match magic {
                BYTE_ORDER_MAGIC => false,
                _ if magic.swap_bytes() == BYTE_ORDER_MAGIC => true,
                _ => return Err(InputEnd::Damaged("a section without a byte order")),
            };
        }
        let len = if self.big_endian { len.swap_bytes() } else { len };
        let Some(len) = possible_len(len) else {
            return Err(InputEnd::Damaged("a block claims an impossible length"));
        };
        match buffer.at_least(len)?.len() {
            available if available < len => Err(InputEnd::Cut),
            _ => Ok(len),
        }
    }

    fn block(&mut self, bytes: &[u8]) -> Result<Option<FrameBlock>, InputEnd> {
        let parse = if self.big_endian { parse_block_be } else { parse_block_le };
        if let Some([ENHANCED_PACKET | OBSOLETE_PACKET]) = words(bytes, self.big_endian) {
            return self.packet(bytes).map(Some).ok_or(UNPARSABLE);
        }
        match parse(bytes) {
            Ok((_, Block::SectionHeader(_))) => self.interfaces = Arc::default(),
            Ok((_, Block::InterfaceDescription(block))) => {
                if self.interfaces.len() == MAX_INTERFACES {
                    return Err(InputEnd::Damaged("a section with over 65,536 interfaces"));
                }
                let interface = Interface::new(&block, self.big_endian);
                Arc::make_mut(&mut self.interfaces).push(interface);
            }
            Ok((_, Block::SimplePacket(block))) => return Ok(Some(self.simple_packet(&block))),
            // Name resolution, statistics, custom blocks: no packet.
            Ok(_) => {}
            Err(_) => return Err(UNPARSABLE),
        }
        Ok(None)
    }

    /// A simple packet has no timestamp or captured length: its cut is the first interface's.
    fn simple_packet(&self, block: &SimplePacketBlock<'_>) -> FrameBlock {
        let snap_len = match self.interfaces.first() {
            Some(interface) if interface.snap_len > 0 => interface.snap_len,
            _ => u32::MAX,
        };
        FrameBlock {
            block_len: block.block_len1 as usize,
            interface: 0,
            timestamp: 0,
            wire_len: block.origlen,
            at: 12,
            captured_len: block.packet_data().len().min(snap_len as usize),
        }
    }
}

/// Length of a block with this number in its header, if it is possible.
fn possible_len(len: u32) -> Option<usize> {
    let len = len as usize;
    let is_possible = (BLOCK_START_LEN..=MAX_RECORD).contains(&len) && len.is_multiple_of(WORD_LEN);
    is_possible.then_some(len)
}

const UNPARSABLE: InputEnd = InputEnd::Damaged("a block cannot be parsed");
const IMPOSSIBLE_RESOLUTION: InputEnd =
    InputEnd::Damaged("an interface with an impossible time resolution");

impl Interface {
    fn new(block: &InterfaceDescriptionBlock<'_>, big_endian: bool) -> Self {
        let exponent = u32::from(block.if_tsresol & 0x7f);
        let units = match block.if_tsresol & 0x80 {
            0 => 10_u64.checked_pow(exponent),
            _ => 1_u64.checked_shl(exponent),
        };
        // pcap-parser always reads this option as little-endian.
        let offset_s = if big_endian { block.if_tsoffset.swap_bytes() } else { block.if_tsoffset };
        Self {
            link_type: block.linktype.0 as u32,
            fraction: units.map(Fraction::new),
            offset_ns: offset_s.saturating_mul(SECOND_NS),
            snap_len: block.snaplen,
        }
    }

    fn time_ns(&self, timestamp: u64) -> Result<i64, InputEnd> {
        let fraction = self.fraction.ok_or(IMPOSSIBLE_RESOLUTION)?;
        Ok(fraction.to_ns(self.offset_ns, timestamp))
    }
}
