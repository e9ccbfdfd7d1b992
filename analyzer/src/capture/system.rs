//! Differences of Unix and Windows: opening a file, standard input, and waiting for a pipe.

use std::fs::File;
use std::io;
use std::time::Duration;

/// Opens a file, without waiting for somebody who writes into a pipe.
#[cfg(unix)]
pub fn open(path: &str) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let at_once = rustix::fs::OFlags::NONBLOCK.bits();
    File::options().read(true).custom_flags(at_once.cast_signed()).open(path)
}

#[cfg(windows)]
pub fn open(path: &str) -> io::Result<File> {
    File::open(path)
}

#[cfg(unix)]
pub fn standard_input() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

#[cfg(windows)]
pub fn standard_input() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdin().as_handle().try_clone_to_owned()?))
}

/// Does a read of a pipe return at once? Asks for so long at most.
#[cfg(unix)]
pub fn is_ready(file: &File, most: Duration) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let most = Timespec { tv_sec: 0, tv_nsec: most.subsec_nanos().into() };
    match poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&most)) {
        Err(rustix::io::Errno::INTR) => Ok(false),
        other => Ok(other? > 0),
    }
}

/// Windows cannot tell: there Ctrl-C waits for a silent pipe.
#[cfg(windows)]
#[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
pub fn is_ready(_file: &File, _most: Duration) -> io::Result<bool> {
    Ok(true)
}
