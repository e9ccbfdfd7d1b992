//! Processes, their descriptors, and the sockets behind these, as the calls of a trace make them.
//!
//! Bytes and options belong to a socket, not to a number: `accept` gives 5, `close` takes it back,
//! and the next `accept` gives 5 again; `dup` and `fork` give one socket several numbers. Where
//! strace prints what a number stands for (`-yy`), that is believed.

use super::line::{self, EndedCall};
use super::name::CallKind;
use crate::named::named;
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::net::{IpAddr, SocketAddr};

/// Beyond these numbers a trace's sockets, processes and copied descriptors are merged: 200 MB.
const MOST_SOCKETS: usize = 200_000;
const MOST_PROCESSES: usize = 50_000;
const MOST_COPIES: usize = 1_000_000;

/// Facts of a write, or of what let written data go.
pub mod flag {
    /// The first since something was read.
    pub const FIRST: u8 = 1;
    /// More is to come, as `MSG_MORE` or `TCP_CORK` say.
    pub const MORE: u8 = 1 << 1;
    pub const NODELAY: u8 = 1 << 2;
    /// An option that lets go what was held: no bytes.
    pub const PUSH: u8 = 1 << 3;
    /// `TCP_CORK` is set.
    pub const CORK: u8 = 1 << 4;
}

/// One call that wrote to a socket.
#[derive(Debug, Clone, Copy)]
pub struct Write {
    /// When it was called, by the trace's clock; meaningless without times.
    pub time_ns: i64,
    /// Bytes that were written to the socket before.
    pub offset: u64,
    pub bytes: u32,
    pub line: u32,
    /// Which of the trace's stacks; 0 for none.
    pub stack: u32,
    /// From the call until data had been read, in us; `u32::MAX` where something else came first.
    pub answered_us: u32,
    pub file: u16,
    /// The place of its name.
    pub name: u8,
    pub flags: u8,
}

impl Write {
    /// By what it said that more was to come.
    pub fn more(&self) -> &'static str {
        match self.flags & (flag::MORE | flag::CORK) {
            0 => "",
            flag::MORE => "MSG_MORE",
            _ => "TCP_CORK",
        }
    }
}

named! {
    /// Facts known of a descriptor.
    #[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    enum Protocol {
        #[default]
        Unknown = "unknown",
        /// A socket of which no more is known.
        Socket = "socket",
        Tcp = "tcp",
    }
}

#[derive(Debug, Default)]
pub struct Socket {
    pub protocol: Protocol,
    pub descriptor: i32,
    pub local: Option<SocketAddr>,
    pub remote: Option<SocketAddr>,
    pub is_listening: bool,
    /// Does the trace show its bytes from the beginning? And all options, a listener's too?
    pub is_whole: bool,
    pub has_all_options: bool,
    pub is_server: bool,
    pub bytes: u64,
    pub writes: Vec<Write>,
    /// Flags that its next write has.
    pub state: u8,
    /// Was `TCP_NODELAY` ever set?
    pub had_nodelay: bool,
    /// The thread that was given its number.
    opener: Thread,
    /// The line of a write that has not returned.
    pub blocked: u32,
}

impl Socket {
    pub fn ends(&self) -> Option<(SocketAddr, SocketAddr)> {
        Some((self.local.filter(|local| !local.ip().is_unspecified())?, self.remote?))
    }
}

/// The text in angle brackets that strace prints behind a descriptor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DescriptorText<'a> {
    Nothing,
    Tcp(Option<SocketAddr>, Option<SocketAddr>),
    /// `socket:[123]`.
    Socket,
    Other(&'a str),
}

/// A descriptor's number and what it stands for.
pub fn descriptor(text: &str) -> Option<(i32, DescriptorText<'_>)> {
    let (number, shown) = text.split_once('<').unwrap_or((text, ""));
    let shown = shown.strip_suffix('>').unwrap_or(shown);
    let tcp = shown.strip_prefix("TCP:[").or_else(|| shown.strip_prefix("TCPv6:["));
    let shown = match tcp.and_then(|rest| rest.strip_suffix(']')) {
        Some(ends) => {
            let (local, remote) = ends.split_once("->").unwrap_or((ends, ""));
            DescriptorText::Tcp(address(local), address(remote))
        }
        None if shown.is_empty() => DescriptorText::Nothing,
        None if shown.starts_with("socket:") => DescriptorText::Socket,
        None => DescriptorText::Other(shown),
    };
    Some((line::number(number.trim())?.try_into().ok()?, shown))
}

/// IPv4 that is mapped into IPv6 is IPv4.
fn address(text: &str) -> Option<SocketAddr> {
    let (addr, port) = text.rsplit_once(':')?;
    let addr: IpAddr = addr.trim_matches(['[', ']']).split('%').next()?.parse().ok()?;
    Some(SocketAddr::new(addr.to_canonical(), port.parse().ok()?))
}

/// `{sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("1.2.3.4")}`
fn address_of(text: &str) -> Option<SocketAddr> {
    let after = |mark: &str| text.split_once(mark).map(|(_, rest)| rest);
    let port = after("port=htons(")?.split(')').next()?.parse().ok()?;
    let quoted = after("inet_addr(\"").or_else(|| after("AF_INET6, \""))?;
    let addr: IpAddr = quoted.split('"').next()?.parse().ok()?;
    Some(SocketAddr::new(addr.to_canonical(), port))
}

/// The address of a UNIX socket, or of the kernel's.
fn is_no_tcp(text: &str) -> bool {
    text.starts_with("{sa_family=") && !text.starts_with("{sa_family=AF_INET")
}

fn is_unix(text: &str) -> bool {
    text.starts_with("{sa_family=AF_UNIX") || text.starts_with("{sa_family=AF_LOCAL")
}

/// A thread of one of the traced programs: in two containers numbers may be the same.
pub type Thread = (u16, u32);

type Descriptors = HashMap<i32, Option<u32>, RandomState>;

/// The state of a thread, and the table of its descriptors.
#[derive(Debug, Default)]
struct Process {
    table: usize,
    /// Did it wait until a read would not block?
    has_polled: bool,
    /// A read ends when the next call begins: of which write that was the answer.
    reading: Option<(u32, usize)>,
    /// Does it share descriptors only for all that the trace shows?
    shares_perhaps: bool,
}

/// All that a trace has shown so far.
#[derive(Debug, Default)]
pub struct Sockets {
    pub all: Vec<Socket>,
    by_ends: HashMap<(SocketAddr, SocketAddr), u32, RandomState>,
    processes: HashMap<Thread, Process, RandomState>,
    tables: Vec<Descriptors>,
    copies: usize,
    /// Sockets beyond those that are kept, and whether some were UNIX sockets.
    pub dropped: u64,
    pub has_unix: bool,
    /// The first thread of each program that was traced by itself: that of lines without a number.
    mains: HashMap<u16, Thread, RandomState>,
}

impl Sockets {
    /// The thread of a line of a `program`. Threads without a traced begin share the descriptors of
    /// its first one; strace names no thread while there is only one.
    pub fn thread(
        &mut self,
        pid: Option<u32>,
        program: u16,
        maker: Option<(Thread, bool)>,
    ) -> Thread {
        let unnamed = (program, u32::MAX);
        let main = self.mains.get(&program).copied();
        let Some(pid) = pid.map(|pid| (program, pid)).or(main) else {
            return self.begin(unnamed, program);
        };
        if self.processes.contains_key(&pid) {
            return pid;
        }
        match (maker, main) {
            (Some((parent, shares)), _) => self.fork(parent, pid, shares),
            (None, Some(main)) if main == unnamed => {
                let first = self.processes.remove(&unnamed).unwrap_or_default();
                self.processes.insert(pid, first);
                self.mains.insert(program, pid);
            }
            (None, Some(main)) => {
                self.fork(main, pid, true);
                for thread in [main, pid] {
                    self.processes.entry(thread).and_modify(|one| one.shares_perhaps = true);
                }
            }
            (None, None) => return self.begin(pid, program),
        }
        if self.processes.contains_key(&pid) { pid } else { main.unwrap_or(pid) }
    }

    /// The first thread of a program.
    fn begin(&mut self, pid: Thread, program: u16) -> Thread {
        self.mains.insert(program, pid);
        self.tables.push(Descriptors::default());
        self.processes.insert(pid, Process { table: self.tables.len() - 1, ..Process::default() });
        pid
    }

    pub fn threads(&self) -> usize {
        self.processes.len()
    }

    /// A new process, with descriptors of its own unless it `shares` them.
    pub fn fork(&mut self, parent: Thread, child: Thread, shares: bool) {
        if self.processes.len() >= MOST_PROCESSES {
            return;
        }
        let mut table = self.processes.get(&parent).map_or(0, |process| process.table);
        if !shares {
            let copied = self.tables.get(table).filter(|_| self.copies < MOST_COPIES).cloned();
            self.copies += copied.as_ref().map_or(0, Descriptors::len);
            self.tables.push(copied.unwrap_or_default());
            table = self.tables.len() - 1;
        }
        self.processes.insert(child, Process { table, ..Process::default() });
    }

    pub fn exit(&mut self, thread: Thread) {
        if !self.mains.values().any(|main| *main == thread) {
            self.processes.remove(&thread);
        }
    }

    fn table(&mut self, thread: Thread) -> &mut Descriptors {
        let at = self.processes.get(&thread).map_or(0, |process| process.table);
        if self.tables.len() <= at {
            self.tables.resize_with(at + 1, Descriptors::default);
        }
        &mut self.tables[at]
    }

    /// The number stands for this socket from now on, or for something else.
    pub fn set(&mut self, thread: Thread, number: i32, socket: Option<u32>) {
        self.table(thread).insert(number, socket);
    }

    /// A call gave this number, so that it was free. If another thread has it open, that one is a
    /// process of its own: strace did not show the fork.
    pub fn claim(&mut self, thread: Thread, number: i32) {
        let known = self.table(thread).get(&number).copied().flatten();
        let is_of_other = known.is_some_and(|place| self.all[place as usize].opener != thread);
        let shares = self.processes.get(&thread).is_some_and(|process| process.shares_perhaps);
        if is_of_other && shares {
            self.fork(thread, thread, false);
        }
    }

    /// A program begins: it reads the head of a library, and has descriptors of its own. Two traces
    /// in one file look like threads until then.
    pub fn load(&mut self, thread: Thread) {
        if self.processes.get(&thread).is_some_and(|process| process.shares_perhaps) {
            self.tables.push(Descriptors::default());
            let table = self.tables.len() - 1;
            self.processes.insert(thread, Process { table, ..Process::default() });
        }
    }

    pub fn close(&mut self, thread: Thread, text: &str) {
        if let Some((number, _)) = descriptor(text) {
            self.table(thread).remove(&number);
        }
    }

    /// A new socket, which this number stands for.
    pub fn open(&mut self, thread: Thread, number: i32, protocol: Protocol) -> Option<u32> {
        let place = (self.all.len() < MOST_SOCKETS).then_some(self.all.len() as u32);
        if place.is_some() {
            self.all.push(Socket {
                protocol,
                descriptor: number,
                opener: thread,
                ..Socket::default()
            });
        }
        self.dropped += u64::from(place.is_none());
        self.set(thread, number, place);
        place
    }

    /// The socket that a descriptor stands for; `None` for files, pipes and other sockets.
    pub fn find(&mut self, thread: Thread, text: &str) -> Option<u32> {
        let (number, shown) = descriptor(text)?;
        let known = self.table(thread).get(&number).copied();
        match shown {
            DescriptorText::Other(_) => {
                self.set(thread, number, None);
                None
            }
            DescriptorText::Tcp(local, remote) => {
                let fits = |place: &u32| {
                    let socket = &self.all[*place as usize];
                    remote.is_none()
                        || socket.remote.is_none()
                        || socket.remote == remote
                            && socket.local.is_none_or(|own| Some(own) == local)
                };
                let same = |(local, remote)| self.by_ends.get(&(local, remote)).copied();
                let found =
                    known.flatten().filter(fits).or_else(|| local.zip(remote).and_then(same));
                let place = match found {
                    Some(place) => place,
                    None => self.open(thread, number, Protocol::Tcp)?,
                };
                self.set(thread, number, Some(place));
                self.all[place as usize].protocol = Protocol::Tcp;
                self.name(place, local.filter(|_| remote.is_some()), remote);
                Some(place)
            }
            DescriptorText::Socket | DescriptorText::Nothing => {
                let place =
                    known.unwrap_or_else(|| self.open(thread, number, Protocol::Unknown))?;
                if shown == DescriptorText::Socket {
                    self.is_socket(place);
                }
                Some(place)
            }
        }
    }

    /// Only sockets have such calls.
    pub fn is_socket(&mut self, place: u32) {
        let socket = &mut self.all[place as usize];
        socket.protocol = socket.protocol.max(Protocol::Socket);
    }

    /// The socket's two addresses, where the trace shows them.
    pub fn name(&mut self, place: u32, local: Option<SocketAddr>, remote: Option<SocketAddr>) {
        let socket = &mut self.all[place as usize];
        // A listening socket mostly has a port alone.
        let is_told = |local: &SocketAddr| !local.ip().is_unspecified() || socket.local.is_none();
        socket.local = local.filter(is_told).or(socket.local);
        socket.remote = remote.or(socket.remote);
        if let Some(ends) = socket.ends() {
            self.by_ends.insert(ends, place);
        }
    }

    /// `connect`, `bind`, `getsockname`, `getpeername`: the address is the second argument.
    pub fn name_by(&mut self, thread: Thread, ended: &EndedCall<'_>, is_remote: bool) {
        let Some(place) = self.find(thread, ended.argument(0)) else { return };
        let named = address_of(ended.argument(1));
        if let (Some((number, _)), true) =
            (descriptor(ended.argument(0)), is_no_tcp(ended.argument(1)))
        {
            self.has_unix |= is_unix(ended.argument(1));
            return self.set(thread, number, None);
        }
        if named.is_some() {
            self.all[place as usize].protocol = Protocol::Tcp;
        }
        if is_remote { self.name(place, None, named) } else { self.name(place, named, None) }
    }

    /// A connection that a listening socket gave; it inherits the options.
    pub fn accept(&mut self, thread: Thread, ended: &EndedCall<'_>) {
        let listener = self.find(thread, ended.argument(0));
        let Some((number, shown)) = descriptor(ended.result_text) else { return };
        let remote = address_of(ended.argument(1));
        if matches!(shown, DescriptorText::Other(_)) || is_no_tcp(ended.argument(1)) {
            self.has_unix |= is_unix(ended.argument(1));
            return self.set(thread, number, None);
        }
        // Among several files another thread may seem to use it first.
        let early = self.table(thread).get(&number).copied().flatten();
        let early = early.filter(|&place| self.all[place as usize].protocol == Protocol::Unknown);
        let place = early.or_else(|| self.open(thread, number, Protocol::Socket));
        let Some(place) = place else { return };
        let unknown = Socket { protocol: Protocol::Socket, ..Socket::default() };
        let listener = listener.map_or(&unknown, |listener| &self.all[listener as usize]);
        let Socket { local, state, had_nodelay, has_all_options, protocol, .. } = *listener;
        let socket = &mut self.all[place as usize];
        (socket.state, socket.had_nodelay) = (state | flag::FIRST, had_nodelay);
        (socket.is_whole, socket.is_server) = (true, true);
        socket.has_all_options = has_all_options;
        socket.protocol =
            protocol.max(if remote.is_some() { Protocol::Tcp } else { Protocol::Socket });
        self.name(place, local, remote);
        if let DescriptorText::Tcp(local, remote) = shown {
            self.name(place, local, remote);
            self.all[place as usize].protocol = Protocol::Tcp;
        }
    }

    /// The next call of a thread begins: what it read has come.
    pub fn begins(&mut self, thread: Thread, time_ns: Option<i64>, kind: Option<CallKind>) {
        let Some(process) = self.processes.get_mut(&thread) else { return };
        match kind {
            Some(CallKind::Poll) => process.has_polled = true,
            Some(CallKind::Read) => {}
            _ => process.has_polled = false,
        }
        if let (Some((place, write)), Some(time_ns)) = (process.reading.take(), time_ns) {
            self.answer(place, write, time_ns);
        }
    }

    /// Something was read, by a call from `time_ns` to `end_ns`, if these are known.
    pub fn read(&mut self, thread: Thread, place: u32, time_ns: Option<i64>, end_ns: Option<i64>) {
        let socket = &mut self.all[place as usize];
        let write = socket.writes.len().wrapping_sub(1);
        let is_first = socket.state & flag::FIRST == 0 && write < socket.writes.len();
        socket.state |= flag::FIRST;
        let Some(process) = self.processes.get_mut(&thread).filter(|_| is_first) else { return };
        if end_ns.is_none() && time_ns.is_some() && !process.has_polled {
            process.reading = Some((place, write));
        }
        self.answer(place, write, end_ns.or(time_ns).unwrap_or(0));
    }

    fn answer(&mut self, place: u32, write: usize, time_ns: i64) {
        if let Some(write) = self.all[place as usize].writes.get_mut(write) {
            let us = time_ns.saturating_sub(write.time_ns) / 1000;
            write.answered_us = u32::try_from(us).unwrap_or(u32::MAX);
        }
    }
}
