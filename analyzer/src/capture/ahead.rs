//! Decompression in its own thread: it takes longer than everything after it.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

/// Bytes per chunk: small enough for the L2 cache.
const CHUNK: usize = 128 << 10;
/// Chunks that may wait in the queue.
const CHUNKS_AHEAD: usize = 3;

/// Reads `source` ahead. An empty chunk marks its end.
pub struct Ahead {
    chunks: Receiver<io::Result<Vec<u8>>>,
    recycled: Sender<Vec<u8>>,
    chunk: Vec<u8>,
    taken: usize,
    ended: bool,
}

impl Ahead {
    pub fn new(mut source: impl Read + Send + 'static) -> Self {
        let (full, chunks) = sync_channel(CHUNKS_AHEAD);
        let (recycled, empty) = channel();
        thread::spawn(move || read_all(&mut source, &full, &empty));
        Self { chunks, recycled, chunk: Vec::new(), taken: 0, ended: false }
    }

    fn next_chunk(&mut self) -> io::Result<()> {
        let next = self.chunks.recv().map_err(|_| io::Error::other("unpacking ended abruptly"))?;
        let used = std::mem::replace(&mut self.chunk, next?);
        self.taken = 0;
        self.ended = self.chunk.is_empty();
        // Fails only when the thread has ended.
        let _ = self.recycled.send(used);
        Ok(())
    }
}

impl Read for Ahead {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.chunk.len() && !self.ended {
            self.next_chunk()?;
        }
        let count = (&self.chunk[self.taken..]).read(into)?;
        self.taken += count;
        Ok(count)
    }
}

/// Reads until the end, an error, or until the receiver is gone.
fn read_all(
    source: &mut impl Read,
    full: &SyncSender<io::Result<Vec<u8>>>,
    empty: &Receiver<Vec<u8>>,
) {
    loop {
        let mut chunk = empty.try_recv().unwrap_or_default();
        chunk.resize(CHUNK, 0);
        let read = fill(source, &mut chunk);
        let goes_on = matches!(read, Ok(1..));
        chunk.truncate(*read.as_ref().unwrap_or(&0));
        if full.send(read.map(|_| chunk)).is_err() || !goes_on {
            return;
        }
    }
}

/// One read, repeated if a signal interrupts it.
fn fill(source: &mut impl Read, chunk: &mut [u8]) -> io::Result<usize> {
    loop {
        match source.read(chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives its bytes, then fails.
    struct Failing(Vec<u8>);

    impl Read for Failing {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            match (&self.0[..]).read(into)? {
                0 => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
                count => {
                    self.0.drain(..count);
                    Ok(count)
                }
            }
        }
    }

    struct Panicking;

    impl Read for Panicking {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            std::panic::resume_unwind(Box::new("a decoder's bug"))
        }
    }

    #[test]
    fn everything_comes_in_order() {
        let bytes: Vec<u8> = (0..3 * CHUNK + 17).map(|index| (index % 251) as u8).collect();
        let mut read = Vec::new();
        let mut ahead = Ahead::new(io::Cursor::new(bytes.clone()));
        ahead.read_to_end(&mut read).unwrap();
        assert!(read == bytes);
        assert_eq!(ahead.read(&mut [0; 8]).unwrap(), 0);
    }

    #[test]
    fn what_came_before_an_error_comes_before_it() {
        let mut read = Vec::new();
        let mut ahead = Ahead::new(Failing(vec![7; 5]));
        let error = ahead.read_to_end(&mut read).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(read, [7; 5]);
    }

    #[test]
    fn a_panic_is_not_taken_for_the_end() {
        assert!(Ahead::new(Panicking).read(&mut [0; 8]).is_err());
    }

    #[test]
    fn nobody_needs_to_read_on() {
        let mut ahead = Ahead::new(io::repeat(1));
        ahead.read_exact(&mut [0; 8]).unwrap();
        drop(ahead);
    }
}
