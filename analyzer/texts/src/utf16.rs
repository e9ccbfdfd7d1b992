//! Text in UTF-16, as PowerShell writes what it redirects: read as UTF-8.

use std::collections::VecDeque;
use std::io::{self, Read};

/// The unit that two bytes are, in one of both orders.
type Unit = fn([u8; 2]) -> u16;

/// Byte order of a text in UTF-16: by its mark, or the zeros of its first signs; else `None`.
pub fn order(start: &[u8]) -> Option<Unit> {
    match *start {
        [0xff, 0xfe, first, 0, ..] if first != 0 => Some(u16::from_le_bytes),
        [0xfe, 0xff, 0, first, ..] if first != 0 => Some(u16::from_be_bytes),
        [first @ b'\t'..0x7f, 0, second @ b'\t'..0x7f, 0, ..]
            if first != second || first > b' ' =>
        {
            Some(u16::from_le_bytes)
        }
        _ => None,
    }
}

/// Reads UTF-16 as UTF-8.
pub struct Utf16<R> {
    input: R,
    unit: Unit,
    /// Bytes of a character that is not there as a whole yet.
    ahead: Vec<u8>,
    text: VecDeque<u8>,
}

impl<R: Read> Utf16<R> {
    pub fn new(input: R, unit: Unit) -> Self {
        Self { input, unit, ahead: Vec::new(), text: VecDeque::new() }
    }

    /// Reads on; false at the end.
    fn fill(&mut self) -> io::Result<bool> {
        let mut bytes = [0; 8 << 10];
        let len = self.input.read(&mut bytes)?;
        self.ahead.extend(&bytes[..len]);
        let mut units: Vec<u16> = self.ahead.as_chunks().0.iter().copied().map(self.unit).collect();
        // The first half of a pair waits for the second one.
        let waits = len > 0 && units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit));
        units.truncate(units.len() - usize::from(waits));
        self.ahead.drain(..2 * units.len());
        for read in char::decode_utf16(units) {
            let read = read.unwrap_or(char::REPLACEMENT_CHARACTER);
            self.text.extend(read.encode_utf8(&mut [0; 4]).as_bytes());
        }
        Ok(len > 0)
    }
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.text.is_empty() && self.fill()? {}
        self.text.read(into)
    }
}
