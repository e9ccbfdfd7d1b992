//! The read buffer.

use std::io::{self, Cursor, Read};
use std::mem;

/// Bytes per read. 256 KiB is 10 % slower with large packets; mmap costs twice as much.
const CAPACITY: usize = 1 << 20;

pub struct Buffer {
    input: Box<dyn Read + Send>,
    bytes: Vec<u8>,
    /// Where in the input `bytes` begins.
    offset: u64,
    start: usize,
    end: usize,
}

impl Buffer {
    pub fn new(input: Box<dyn Read + Send>) -> Self {
        Self { input, bytes: vec![0; CAPACITY], offset: 0, start: 0, end: 0 }
    }

    /// Where in the input the first unread byte is.
    #[inline]
    pub fn at(&self) -> u64 {
        self.offset + self.start as u64
    }

    /// Takes the input, from the first unread byte on.
    pub fn take_input(&mut self) -> impl Read + Send + use<> {
        let unread = Cursor::new(self.available().to_vec());
        self.start = self.end;
        unread.chain(mem::replace(&mut self.input, Box::new(io::empty())))
    }

    /// The bytes at hand.
    #[inline]
    pub fn available(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// At least `wanted` unread bytes; fewer only at the end of the input.
    ///
    /// # Errors
    /// The read failed.
    #[inline]
    pub fn at_least(&mut self, wanted: usize) -> io::Result<&[u8]> {
        if self.end - self.start < wanted {
            self.fill(wanted)?;
        }
        Ok(self.available())
    }

    /// Marks `count` buffered bytes as read.
    #[inline]
    pub fn consume(&mut self, count: usize) {
        debug_assert!(self.start + count <= self.end);
        self.start += count;
    }

    /// The last `count` bytes consumed; valid until the next fill.
    #[inline]
    pub fn consumed(&self, count: usize) -> &[u8] {
        &self.bytes[self.start - count..self.start]
    }

    #[cold]
    fn fill(&mut self, wanted: usize) -> io::Result<()> {
        self.bytes.copy_within(self.start..self.end, 0);
        self.offset += self.start as u64;
        self.end -= self.start;
        self.start = 0;
        while self.end < wanted {
            if self.end == self.bytes.len() {
                self.bytes.resize(self.bytes.len() * 2, 0);
            }
            match self.input.read(&mut self.bytes[self.end..]) {
                Ok(0) => break,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
