//! The calls that matter, and what they do to descriptors.

use crate::named::named;
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::sync::LazyLock;

named! {
    /// The effects of calls on descriptors, each with its calls as strace names them, old ones too.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum CallKind {
        Write = "write writev send sendto sendmsg sendmmsg sendfile sendfile64",
        /// Writes to the descriptor that is its third argument.
        Splice = "splice",
        Read = "read readv recv recvfrom recvmsg recvmmsg",
        Poll = "poll ppoll select _newselect pselect6 epoll_wait epoll_pwait epoll_pwait2",
        Socket = "socket",
        Accept = "accept accept4",
        /// Its address is that of the other end.
        RemoteName = "connect getpeername",
        /// Its address is that of the socket's own end.
        LocalName = "bind getsockname",
        Listen = "listen",
        Duplicate = "dup dup2 dup3",
        Control = "fcntl fcntl64",
        Close = "close",
        /// Opens something else than a socket.
        Open = "open openat creat pipe pipe2 socketpair eventfd2 epoll_create epoll_create1 \
            timerfd_create memfd_create",
        Option = "setsockopt",
        Fork = "fork vfork clone clone3",
        /// Submits work that strace does not see.
        Ring = "io_uring_setup io_uring_enter",
        /// None that a list of network calls would name: all are traced.
        Plain = "mmap munmap brk",
    }
}

/// All names, each with what it does.
pub static NAMES: LazyLock<Vec<(&str, CallKind)>> = LazyLock::new(|| {
    let each = |kind: CallKind| kind.name().split(' ').map(move |name| (name, kind));
    CallKind::MEMBERS.into_iter().flat_map(each).collect()
});

/// The effect of the call with the name at this place of [`NAMES`].
pub fn kind(place: u8) -> CallKind {
    NAMES[usize::from(place)].1
}

/// The place of a name in [`NAMES`].
pub fn place(name: &str) -> Option<u8> {
    static PLACES: LazyLock<HashMap<&str, u8, RandomState>> =
        LazyLock::new(|| (0..).zip(NAMES.iter()).map(|(at, (name, _))| (*name, at)).collect());
    PLACES.get(name).copied()
}
