//! Unpacking, chunk by chunk, ahead of the thread that reads, if possible: it takes longest.

use std::io::{self, Read};
use std::mem;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread;

/// Bytes per chunk: a block of zstd. What came before damage in one chunk is lost.
const CHUNK_LEN: usize = 128 << 10;
/// Chunks that wait: what is read at once.
const AHEAD: usize = 8;

/// Reads what is unpacked.
pub struct Unpacked {
    source: Source,
    chunk: Vec<u8>,
    taken: usize,
}

enum Source {
    Here(Box<dyn Read + Send>),
    /// Chunks of another thread, which takes them back: fresh memory takes as long as unpacking.
    Ahead(Receiver<io::Result<Vec<u8>>>, Sender<Vec<u8>>),
    /// An empty chunk came, or an error.
    Ended,
}

impl Unpacked {
    pub fn here(source: Box<dyn Read + Send>) -> Self {
        Self { source: Source::Here(source), chunk: Vec::new(), taken: 0 }
    }

    /// Unpacks in a thread of its own. It ends with its input, or once nobody reads any more.
    pub fn ahead(mut source: Box<dyn Read + Send>) -> Self {
        let (sender, chunks) = sync_channel(AHEAD);
        let (used, returned) = channel();
        thread::spawn(move || {
            loop {
                let chunk = next(&mut source, returned.try_recv().unwrap_or_default());
                let is_last = chunk.as_ref().map_or(true, Vec::is_empty);
                if sender.send(chunk).is_err() || is_last {
                    break;
                }
            }
        });
        Self { source: Source::Ahead(chunks, used), chunk: Vec::new(), taken: 0 }
    }
}

/// The next chunk, in the memory of a used one.
fn next(source: &mut Box<dyn Read + Send>, mut chunk: Vec<u8>) -> io::Result<Vec<u8>> {
    chunk.resize(CHUNK_LEN, 0);
    let len = loop {
        match source.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => break read?,
        }
    };
    chunk.truncate(len);
    Ok(chunk)
}

impl Read for Unpacked {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.chunk.len() {
            let used = mem::take(&mut self.chunk);
            self.taken = 0;
            let chunk = match &mut self.source {
                Source::Here(source) => next(source, used),
                Source::Ahead(chunks, returned) => {
                    // One that has ended needs none.
                    let _ = returned.send(used);
                    chunks.recv().unwrap_or_else(|gone| Err(io::Error::other(gone)))
                }
                Source::Ended => return Ok(0),
            };
            if chunk.as_ref().map_or(true, Vec::is_empty) {
                self.source = Source::Ended;
            }
            self.chunk = chunk?;
        }
        let count = (&self.chunk[self.taken..]).read(into)?;
        self.taken += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [fn(Box<dyn Read + Send>) -> Unpacked; 2] = [Unpacked::here, Unpacked::ahead];

    #[test]
    fn everything_comes_in_order() {
        let bytes: Vec<u8> = (0..20 * CHUNK_LEN + 17).map(|index| (index % 251) as u8).collect();
        for unpacked in BOTH {
            let mut read = Vec::new();
            unpacked(Box::new(io::Cursor::new(bytes.clone()))).read_to_end(&mut read).unwrap();
            assert!(read == bytes);
        }
    }

    /// Gives five bytes, then fails.
    struct Failing(bool);

    impl Read for Failing {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            if std::mem::replace(&mut self.0, true) {
                Err(io::Error::from(io::ErrorKind::UnexpectedEof))
            } else {
                [7; 5].as_slice().read(into)
            }
        }
    }

    #[test]
    fn what_came_before_an_error_comes_before_it() {
        for unpacked in BOTH {
            let mut read = Vec::new();
            let mut unpacked = unpacked(Box::new(Failing(false)));
            let error = unpacked.read_to_end(&mut read).unwrap_err();
            assert_eq!((error.kind(), read), (io::ErrorKind::UnexpectedEof, vec![7; 5]));
            assert_eq!(unpacked.read(&mut [0]).unwrap(), 0);
        }
    }

    /// Does a bug in a decompressor end in an error, and not as if all had come?
    #[test]
    fn a_thread_that_dies_is_no_end() {
        struct Bug;
        impl Read for Bug {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                panic!("a bug")
            }
        }
        assert!(Unpacked::ahead(Box::new(Bug)).read(&mut [0]).is_err());
    }
}
