//! Text in UTF-16, as PowerShell writes what it redirects: read as UTF-8.

use std::io::{self, Read};

/// The order of the two bytes of each unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrder {
    Little,
    Big,
}

/// Byte order of a text in UTF-16: by its mark, or by the zeros of two digits or letters; `None` for another text.
pub fn order(start: &[u8]) -> Option<ByteOrder> {
    match *start {
        [0xff, 0xfe, first, 0, ..] if first != 0 => Some(ByteOrder::Little),
        [0xfe, 0xff, 0, first, ..] if first != 0 => Some(ByteOrder::Big),
        [first @ b'\t'..0x7f, 0, second @ b'\t'..0x7f, 0, ..]
            if first != second || first > b' ' =>
        {
            Some(ByteOrder::Little)
        }
        _ => None,
    }
}

/// Reads UTF-16 as UTF-8.
pub struct Utf16<R> {
    input: R,
    order: ByteOrder,
    units: Vec<u16>,
    bytes: Vec<u8>,
    taken: usize,
    /// The first byte of a unit of which the second one is not there yet.
    half: Option<u8>,
}

impl<R: Read> Utf16<R> {
    pub fn new(input: R, order: ByteOrder) -> Self {
        Self { input, order, units: Vec::new(), bytes: Vec::new(), taken: 0, half: None }
    }

    /// Reads on; false at the end.
    fn fill(&mut self) -> io::Result<bool> {
        let mut bytes = [0; 8 << 10];
        let len = self.input.read(&mut bytes)?;
        for &byte in &bytes[..len] {
            let Some(first) = self.half.take() else {
                self.half = Some(byte);
                continue;
            };
            self.units.push(match self.order {
                ByteOrder::Little => u16::from_le_bytes([first, byte]),
                ByteOrder::Big => u16::from_be_bytes([first, byte]),
            });
        }
        self.bytes.clear();
        self.taken = 0;
        // The first half of a pair waits for the second one.
        let waits =
            len > 0 && self.units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit));
        let kept = self.units.len() - usize::from(waits);
        for read in char::decode_utf16(self.units.drain(..kept)) {
            let read = read.unwrap_or(char::REPLACEMENT_CHARACTER);
            self.bytes.extend(read.encode_utf8(&mut [0; 4]).as_bytes());
        }
        Ok(len > 0)
    }
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.bytes.len() && self.fill()? {}
        let count = (&self.bytes[self.taken..]).read(into)?;
        self.taken += count;
        Ok(count)
    }
}
