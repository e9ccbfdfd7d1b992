//! The raw bytes of a file or pipe; reading can be stopped.

use crate::capture::error::ScanError;
use crate::capture::progress::{Progress, Stopped};
use crate::capture::system;
use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a pipe is still read after a stop. Ctrl-C reaches both sides of a pipe: what tcpdump
/// flushes then is part of the capture.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How often a silent pipe is checked for a stop.
const WAKE_UP: Duration = Duration::from_millis(50);

pub struct Input {
    file: File,
    /// `None` for a pipe, socket or terminal: a read may block.
    pub file_len: Option<u64>,
    progress: Arc<Progress>,
    stop_seen: Option<Instant>,
    /// A terminal would go on after its end (Ctrl-D).
    is_over: bool,
}

impl Input {
    /// Opens `path`; `-` is standard input.
    ///
    /// # Errors
    /// It cannot be opened, or is a directory.
    pub fn open(path: &str, progress: &Arc<Progress>) -> Result<Self, ScanError> {
        let unreadable = |error: io::Error| ScanError::unreadable(path, &error);
        let file = match path {
            "-" => system::standard_input().map_err(unreadable)?,
            _ => system::open(path).map_err(unreadable)?,
        };
        let metadata = file.metadata().map_err(unreadable)?;
        if metadata.is_dir() {
            let reason = "is a directory".to_owned();
            return Err(ScanError::Unreadable { path: path.to_owned(), reason });
        }
        let progress = Arc::clone(progress);
        let file_len = metadata.is_file().then_some(metadata.len());
        Ok(Self { file, file_len, progress, stop_seen: None, is_over: false })
    }

    /// Waits until the stream has bytes or ends.
    fn wait(&mut self) -> io::Result<()> {
        loop {
            if self.progress.is_stopped()
                && self.stop_seen.get_or_insert_with(Instant::now).elapsed() >= LAST_WORDS
            {
                return Err(self.stopped());
            }
            if system::is_ready(&self.file, WAKE_UP)? {
                return Ok(());
            }
        }
    }

    fn stopped(&self) -> io::Error {
        io::Error::other(Stopped::at(&self.progress))
    }
}

impl Read for Input {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.is_over {
            return Ok(0);
        }
        if self.file_len.is_none() {
            self.wait()?;
        } else if self.progress.is_stopped() {
            return Err(self.stopped());
        }
        let count = loop {
            match self.file.read(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait()?,
                count => break count?,
            }
        };
        self.is_over = count == 0 && !into.is_empty() && self.file_len.is_none();
        self.progress.add_read_bytes(count);
        Ok(count)
    }
}
