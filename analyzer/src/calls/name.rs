//! The calls that matter, and what they do to descriptors.

use std::collections::HashMap;
use std::sync::LazyLock;

/// What a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Writes to the descriptor at this place of its arguments.
    Write(u8),
    Read,
    Poll,
    Socket,
    Accept,
    Connect,
    Bind,
    Listen,
    LocalName,
    RemoteName,
    Duplicate,
    Control,
    Close,
    /// Opens what is no socket.
    Open,
    Option,
    Fork,
    /// Submits work that strace does not see.
    Ring,
    /// None that a list of network calls would name: all are traced.
    Plain,
}

/// Names as strace prints them, old ones too.
pub const NAMES: &[(&str, Kind)] = &[
    ("write", Kind::Write(0)),
    ("writev", Kind::Write(0)),
    ("send", Kind::Write(0)),
    ("sendto", Kind::Write(0)),
    ("sendmsg", Kind::Write(0)),
    ("sendmmsg", Kind::Write(0)),
    ("sendfile", Kind::Write(0)),
    ("sendfile64", Kind::Write(0)),
    ("splice", Kind::Write(2)),
    ("read", Kind::Read),
    ("readv", Kind::Read),
    ("recv", Kind::Read),
    ("recvfrom", Kind::Read),
    ("recvmsg", Kind::Read),
    ("recvmmsg", Kind::Read),
    ("poll", Kind::Poll),
    ("ppoll", Kind::Poll),
    ("select", Kind::Poll),
    ("_newselect", Kind::Poll),
    ("pselect6", Kind::Poll),
    ("epoll_wait", Kind::Poll),
    ("epoll_pwait", Kind::Poll),
    ("epoll_pwait2", Kind::Poll),
    ("socket", Kind::Socket),
    ("accept", Kind::Accept),
    ("accept4", Kind::Accept),
    ("connect", Kind::Connect),
    ("bind", Kind::Bind),
    ("listen", Kind::Listen),
    ("getsockname", Kind::LocalName),
    ("getpeername", Kind::RemoteName),
    ("dup", Kind::Duplicate),
    ("dup2", Kind::Duplicate),
    ("dup3", Kind::Duplicate),
    ("fcntl", Kind::Control),
    ("fcntl64", Kind::Control),
    ("close", Kind::Close),
    ("open", Kind::Open),
    ("openat", Kind::Open),
    ("creat", Kind::Open),
    ("pipe", Kind::Open),
    ("pipe2", Kind::Open),
    ("socketpair", Kind::Open),
    ("eventfd2", Kind::Open),
    ("epoll_create", Kind::Open),
    ("epoll_create1", Kind::Open),
    ("timerfd_create", Kind::Open),
    ("memfd_create", Kind::Open),
    ("setsockopt", Kind::Option),
    ("fork", Kind::Fork),
    ("vfork", Kind::Fork),
    ("clone", Kind::Fork),
    ("clone3", Kind::Fork),
    ("io_uring_setup", Kind::Ring),
    ("io_uring_enter", Kind::Ring),
    ("mmap", Kind::Plain),
    ("munmap", Kind::Plain),
    ("brk", Kind::Plain),
];

/// The place of a name in [`NAMES`].
pub fn place(name: &str) -> Option<u8> {
    static PLACES: LazyLock<HashMap<&str, u8>> =
        LazyLock::new(|| (0..).zip(NAMES).map(|(at, (name, _))| (*name, at)).collect());
    PLACES.get(name).copied()
}
