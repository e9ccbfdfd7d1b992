//! Progress of a scan and the request to stop it, shared by the reader and its observer.

use crate::pieces::Grouped;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Relaxed atomics: values may be slightly old, and synchronise nothing else.
#[derive(Debug, Default)]
pub struct Progress {
    read_bytes: AtomicU64,
    /// 0 if unknown.
    total_bytes: AtomicU64,
    packets: AtomicU64,
    connections: AtomicU64,
    stopped: AtomicBool,
}

impl Progress {
    /// Sums up the sizes of `paths`; unknown unless all are regular files.
    pub fn expect(&self, paths: &[String]) {
        let sizes = paths.iter().map(|path| match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => Some(metadata.len()),
            _ => None,
        });
        self.total_bytes.store(sizes.sum::<Option<u64>>().unwrap_or(0), Relaxed);
    }

    pub fn add_read_bytes(&self, count: usize) {
        self.read_bytes.fetch_add(count as u64, Relaxed);
    }

    #[inline]
    pub fn set_packets(&self, packets: u64) {
        self.packets.store(packets, Relaxed);
    }

    pub fn add_connections(&self, count: usize) {
        self.connections.fetch_add(count as u64, Relaxed);
    }

    /// Asks the reader to stop; what it has read is analysed.
    pub fn stop(&self) {
        self.stopped.store(true, Relaxed);
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    pub fn packets(&self) -> u64 {
        self.packets.load(Relaxed)
    }

    pub fn connections(&self) -> u64 {
        self.connections.load(Relaxed)
    }

    /// Bytes of the inputs as stored: compressed bytes if they are compressed.
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes.load(Relaxed)
    }

    pub fn total_bytes(&self) -> Option<u64> {
        Some(self.total_bytes.load(Relaxed)).filter(|&total| total > 0)
    }
}

/// The reader was asked to stop before the end of its input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopped {
    pub read_bytes: u64,
    pub total_bytes: Option<u64>,
}

impl Stopped {
    pub fn at(progress: &Progress) -> Self {
        Self { read_bytes: progress.read_bytes(), total_bytes: progress.total_bytes() }
    }
}

impl std::error::Error for Stopped {}

impl fmt::Display for Stopped {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.total_bytes {
            Some(total) => {
                write!(to, "{} of {} bytes", Grouped(self.read_bytes), Grouped(total))
            }
            None => write!(to, "{} bytes", Grouped(self.read_bytes)),
        }
    }
}
