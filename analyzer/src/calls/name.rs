//! The calls that matter, and what they do to descriptors.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The effects of calls on descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Writes to the descriptor at this place of its arguments.
    Write(u8),
    Read,
    Poll,
    Socket,
    Accept,
    Listen,
    /// Its address is that of the socket's own end.
    LocalName,
    /// Its address is that of the other end.
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
const GROUPS: &[(Kind, &str)] = &[
    (Kind::Write(0), "write writev send sendto sendmsg sendmmsg sendfile sendfile64"),
    (Kind::Write(2), "splice"),
    (Kind::Read, "read readv recv recvfrom recvmsg recvmmsg"),
    (Kind::Poll, "poll ppoll select _newselect pselect6 epoll_wait epoll_pwait epoll_pwait2"),
    (Kind::Socket, "socket"),
    (Kind::Accept, "accept accept4"),
    (Kind::RemoteName, "connect getpeername"),
    (Kind::LocalName, "bind getsockname"),
    (Kind::Listen, "listen"),
    (Kind::Duplicate, "dup dup2 dup3"),
    (Kind::Control, "fcntl fcntl64"),
    (Kind::Close, "close"),
    (Kind::Open, "open openat creat pipe pipe2 socketpair eventfd2 epoll_create epoll_create1"),
    (Kind::Open, "timerfd_create memfd_create"),
    (Kind::Option, "setsockopt"),
    (Kind::Fork, "fork vfork clone clone3"),
    (Kind::Ring, "io_uring_setup io_uring_enter"),
    (Kind::Plain, "mmap munmap brk"),
];

/// All names, each with what it does.
pub static NAMES: LazyLock<Vec<(&str, Kind)>> = LazyLock::new(|| {
    let each = |(kind, names): &(Kind, &'static str)| {
        names.split(' ').map(|name| (name, *kind)).collect::<Vec<_>>()
    };
    GROUPS.iter().flat_map(each).collect()
});

/// The effect of the call with the name at this place of [`NAMES`].
pub fn kind(place: u8) -> Kind {
    NAMES[usize::from(place)].1
}

/// The place of a name in [`NAMES`].
pub fn place(name: &str) -> Option<u8> {
    static PLACES: LazyLock<HashMap<&str, u8>> =
        LazyLock::new(|| (0..).zip(NAMES.iter()).map(|(at, (name, _))| (*name, at)).collect());
    PLACES.get(name).copied()
}
