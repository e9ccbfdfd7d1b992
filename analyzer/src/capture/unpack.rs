//! Unpacking, by whichever thread has time, ahead of the one that reads: it takes longer than what follows.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes per chunk: a block of zstd. What came before damage in one chunk is lost.
const CHUNK_LEN: usize = 128 << 10;
/// Unpacked bytes that wait: what is read at once, and the rest of its last record.
const AHEAD_LEN: usize = 10 * CHUNK_LEN;

/// A packed input, and what was unpacked of it but not read.
pub struct Unpacker {
    /// Held until what it gave is in `ahead`, so that all stays in order.
    source: Mutex<Box<dyn Read + Send>>,
    ahead: Mutex<Ahead>,
}

#[derive(Default)]
struct Ahead {
    /// An empty one marks the end.
    chunks: VecDeque<io::Result<Vec<u8>>>,
    len: usize,
    /// A thread fills it.
    claimed: bool,
    ended: bool,
    spare: Vec<Vec<u8>>,
}

impl Unpacker {
    pub fn new(source: Box<dyn Read + Send>) -> Arc<Self> {
        Arc::new(Self { source: Mutex::new(source), ahead: Mutex::default() })
    }

    /// Shall the caller [`Unpacker::fill`] it?
    pub fn claim(&self) -> bool {
        let mut ahead = lock(&self.ahead);
        let is_wanted = !ahead.is_full() && !ahead.claimed;
        ahead.claimed |= is_wanted;
        is_wanted
    }

    /// Is as much unpacked as is read at once, or all there is?
    pub fn is_full(&self) -> bool {
        lock(&self.ahead).is_full()
    }

    /// Unpacks until it is full: to wake another thread for each chunk would cost more than that gains.
    pub fn fill(&self) {
        while !self.is_full() {
            self.unpack();
        }
        lock(&self.ahead).claimed = false;
    }

    fn unpack(&self) {
        let mut source = lock(&self.source);
        let mut chunk = lock(&self.ahead).spare.pop().unwrap_or_default();
        chunk.resize(CHUNK_LEN, 0);
        let read = source.read(&mut chunk);
        chunk.truncate(*read.as_ref().unwrap_or(&0));
        let mut ahead = lock(&self.ahead);
        ahead.ended = chunk.is_empty();
        ahead.len += chunk.len();
        ahead.chunks.push_back(read.map(|_| chunk));
    }

    /// The next chunk, for one that was read.
    fn next(&self, used: Vec<u8>) -> io::Result<Vec<u8>> {
        loop {
            let mut ahead = lock(&self.ahead);
            if let Some(next) = ahead.chunks.pop_front() {
                ahead.len -= next.as_ref().map_or(0, Vec::len);
                ahead.spare.push(used);
                return next;
            }
            drop(ahead);
            self.unpack();
        }
    }
}

impl Ahead {
    fn is_full(&self) -> bool {
        self.ended || self.len >= AHEAD_LEN
    }
}

/// The end of a thread that panicked ends the others, too.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads what was unpacked, and unpacks what was not.
pub struct Unpacked {
    unpacker: Arc<Unpacker>,
    chunk: Vec<u8>,
    taken: usize,
}

impl Unpacked {
    pub fn new(unpacker: &Arc<Unpacker>) -> Self {
        Self { unpacker: Arc::clone(unpacker), chunk: Vec::new(), taken: 0 }
    }
}

impl Read for Unpacked {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.chunk.len() {
            self.taken = 0;
            self.chunk = self.unpacker.next(std::mem::take(&mut self.chunk))?;
        }
        let count = (&self.chunk[self.taken..]).read(into)?;
        self.taken += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn everything_comes_in_order_whoever_unpacks_it() {
        let bytes: Vec<u8> = (0..9 * AHEAD_LEN + 17).map(|index| (index % 251) as u8).collect();
        let unpacker = Unpacker::new(Box::new(io::Cursor::new(bytes.clone())));
        let mut read = Vec::new();
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !lock(&unpacker.ahead).ended {
                        if unpacker.claim() {
                            unpacker.fill();
                        }
                        thread::yield_now();
                    }
                });
            }
            Unpacked::new(&unpacker).read_to_end(&mut read).unwrap();
        });
        assert!(read == bytes);
    }

    /// Gives five bytes, then fails.
    struct Failing(bool);

    impl Read for Failing {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            match std::mem::replace(&mut self.0, true) {
                true => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
                false => [7; 5].as_slice().read(into),
            }
        }
    }

    #[test]
    fn what_came_before_an_error_comes_before_it() {
        let (unpacker, mut read) = (Unpacker::new(Box::new(Failing(false))), Vec::new());
        unpacker.fill();
        let error = Unpacked::new(&unpacker).read_to_end(&mut read).unwrap_err();
        assert_eq!((error.kind(), read), (io::ErrorKind::UnexpectedEof, vec![7; 5]));
    }

    #[test]
    fn what_unpacks_to_no_end_waits_in_little_memory() {
        let unpacker = Unpacker::new(Box::new(io::repeat(1)));
        unpacker.fill();
        assert!(lock(&unpacker.ahead).chunks.len() * CHUNK_LEN <= AHEAD_LEN + CHUNK_LEN);
    }
}
