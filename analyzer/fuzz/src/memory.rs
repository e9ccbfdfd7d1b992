//! Files that are in memory only, and have a path.

use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::fd::AsRawFd as _;

pub struct InMemory {
    file: File,
    pub path: String,
}

impl InMemory {
    pub fn new(bytes: &[u8]) -> Self {
        let mut file = File::from(memfd_create("fuzz", MemfdFlags::CLOEXEC).unwrap());
        file.write_all(bytes).unwrap();
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        Self { file, path }
    }

    /// The bytes that were written to the path.
    pub fn content(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.file.rewind().unwrap();
        self.file.read_to_end(&mut bytes).unwrap();
        bytes
    }
}
