//! Lines become calls, and calls become sockets, writes and options.

use super::files::{File, Files};
use super::foreign::foreign;
use super::line::{self, EndedCall, LONGEST_TEXT, Line, What, without_strings};
use super::name::{CallKind, NAMES, kind, place};
use super::sockets::{DescriptorText, Protocol, Socket, Sockets, Thread, Write, descriptor, flag};
use super::stack::MOST_FRAMES;
use super::trace::{OptionCall, Trace};
use crate::capture::error::ScanError;
use crate::capture::progress::Progress;
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::sync::Arc;

/// Writes and options that are kept: 80 MB.
const MOST_WRITES: usize = 2_000_000;
const MOST_OPTIONS: usize = 10_000;
/// Calls that wait for their end at once.
const MOST_UNFINISHED: usize = 10_000;
/// Lines that tell whether it is strace's.
const LOOKED_AT: u64 = 1000;
/// A longer line is not searched for several calls.
const LONGEST_PAGE: usize = 1 << 14;

/// A call that has begun: its thread, time, line and text so far.
struct Unfinished {
    begun: Begun,
    text: String,
}

#[derive(Clone, Copy)]
struct Begun {
    thread: Thread,
    time_ns: Option<i64>,
    file: u16,
    line: u32,
    name: u8,
}

/// The call to which the frames of a stack belong: a write of a socket, or an option.
#[derive(Clone, Copy)]
enum Stack {
    Write(u32, usize),
    Option(usize),
}

impl Trace {
    /// Reads the files of one trace.
    ///
    /// # Errors
    /// One cannot be read, or none holds a call.
    pub fn read(paths: &[String], progress: &Arc<Progress>) -> Result<Self, ScanError> {
        let mut files = Files::open(paths, progress)?;
        let mut reading = TraceReader::default();
        while let Some((file, at)) = files.next() {
            reading.take(file, at);
        }
        files.failure()?;
        let mut trace = reading.end(paths);
        trace.clock = files.clock();
        let path = paths.first().cloned().unwrap_or_default();
        let reason = match trace.foreign {
            Some((name, remedy)) => format!("{name}: {remedy}"),
            None if trace.calls == 0 => "no system call as strace prints them is in it".to_owned(),
            None => return Ok(trace),
        };
        Err(ScanError::Unreadable { path, reason })
    }
}

/// The state of reading: all that the lines so far have shown.
#[derive(Default)]
pub struct TraceReader {
    trace: Trace,
    sockets: Sockets,
    unfinished: HashMap<Thread, Unfinished, RandomState>,
    /// Threads that are making another: strace may show that one's calls first.
    forking: Vec<Thread>,
    /// A call with a line into which its program wrote.
    open: Option<Unfinished>,
    stack: Option<Stack>,
    /// Its frames so far.
    frames: Vec<u32>,
    /// Writes that were kept.
    kept: usize,
}

impl TraceReader {
    /// Takes the current line of a file; `at` is the place of the file among all.
    pub fn take(&mut self, file: &mut File, at: u16) {
        let text = std::mem::take(&mut file.line);
        self.take_text(file, at, &text);
    }

    fn take_text(&mut self, file: &mut File, at: u16, text: &str) {
        self.trace.lines += 1;
        if self.trace.lines <= LOOKED_AT {
            self.trace.foreign = self.trace.foreign.or_else(|| foreign(text));
        }
        // Frames come again and again.
        if text.starts_with(" > /") && self.is_known(text) {
            return;
        }
        let line = Line::of(text);
        if let What::Frame { binary, function, address, source } = line.what {
            if self.stack.is_some() && self.frames.len() < MOST_FRAMES {
                let functions = &mut self.trace.functions;
                self.frames.extend(functions.place(text, (binary, function, address, source)));
            }
            return;
        }
        self.end_stack();
        let time_ns = file.stamp(line.time);
        let open = self.open.take();
        let name = match line.what {
            What::Call(name, _) => place(name),
            _ => None,
        };
        // Its program wrote into it, or a mail wrapped it.
        let goes_on = open.filter(|_| line.time.is_none() && name.is_none());
        if let Some(Unfinished { begun, text: before }) = goes_on {
            let more = text.trim_start_matches(['>', '|', ' ']);
            return self.finish_or_wait(begun, &format!("{before} {more}"));
        }
        if let What::Other(_) = line.what {
            return;
        }
        let pid = line.pid.or(file.pid);
        // Files of `-ff` are parts of one program.
        let program = if file.pid.is_some() { 0 } else { at };
        let thread = self.sockets.thread(pid, program, self.maker());
        self.sockets.begins(thread, time_ns, name.map(kind));
        match line.what {
            What::Call(_, rest) => {
                let Some(name) = name else { return };
                self.trace.calls += 1;
                self.trace.seen |= 1 << name;
                let begun = Begun { thread, time_ns, file: at, line: file.number, name };
                match rest.strip_suffix("<unfinished ...>") {
                    Some(text) => self.begin(begun, text),
                    None => self.finish_or_wait(begun, rest),
                }
            }
            What::Resumed(rest) => {
                self.forking.retain(|forking| *forking != thread);
                let begun = self.unfinished.remove(&thread);
                let is_open = |begun: &Unfinished| kind(begun.begun.name) != CallKind::Close;
                if let Some(Unfinished { begun, text }) = begun.filter(is_open)
                    && let Some(ended) = EndedCall::of(&(text + rest))
                {
                    self.finish(begun, &ended, time_ns);
                }
            }
            What::Exited => {
                self.unfinished.remove(&thread);
                self.sockets.exit(thread);
            }
            _ => {}
        }
    }

    fn begin(&mut self, begun: Begun, text: &str) {
        if kind(begun.name) == CallKind::Fork {
            self.forking.push(begun.thread);
        }
        // The number is free before the call returns.
        if kind(begun.name) == CallKind::Close {
            self.sockets.close(begun.thread, text);
        }
        if self.unfinished.len() < MOST_UNFINISHED {
            self.unfinished.insert(begun.thread, Unfinished { begun, text: without_strings(text) });
        }
    }

    /// The thread that makes another one now, and whether the two share descriptors.
    fn maker(&self) -> Option<(Thread, bool)> {
        let maker = self.forking.last()?;
        let call = self.unfinished.get(maker)?;
        Some((*maker, call.text.contains("CLONE_FILES")))
    }

    /// A frame that needs no reading.
    fn is_known(&mut self, text: &str) -> bool {
        if self.stack.is_none() || self.frames.len() >= MOST_FRAMES {
            return true;
        }
        let found = self.trace.functions.seen(text);
        self.frames.extend_from_slice(found.unwrap_or_default());
        found.is_some()
    }

    fn end_stack(&mut self) {
        let Some(stack) = self.stack.take() else { return };
        let found = self.trace.functions.stack(&self.frames);
        self.frames.clear();
        match stack {
            Stack::Write(socket, at) => {
                self.sockets.all[socket as usize].writes[at].stack = found;
            }
            Stack::Option(at) => self.trace.options[at].stack = found,
        }
    }

    /// A call that ends in this line, or a later one. A page may have lost its newlines.
    fn finish_or_wait(&mut self, mut begun: Begun, mut text: &str) {
        while let Some(ended) = EndedCall::of(text) {
            self.finish(begun, &ended, None);
            let What::Call(name, rest) = Line::of(ended.next).what else { return };
            let Some(name) = place(name).filter(|_| text.len() < LONGEST_PAGE) else { return };
            begun = Begun { time_ns: None, name, ..begun };
            text = rest;
        }
        if text.len() < LONGEST_TEXT {
            self.open = Some(Unfinished { begun, text: without_strings(text) });
        }
    }

    /// A call has ended, at `end_ns` if that is known.
    fn finish(&mut self, begun: Begun, ended: &EndedCall<'_>, end_ns: Option<i64>) {
        let Begun { thread, time_ns, name, .. } = begun;
        let end_ns = ended
            .took_ns
            .zip(time_ns)
            .map(|(took_ns, time_ns)| time_ns.saturating_add(took_ns))
            .or(end_ns);
        let number = ended.result.unwrap_or(-1);
        let first = ended.argument(0);
        let sockets = &mut self.sockets;
        let is_new = match kind(name) {
            CallKind::Socket | CallKind::Accept | CallKind::Open => true,
            CallKind::Duplicate => NAMES[usize::from(name)].0 == "dup",
            CallKind::Control => ended.argument(1).starts_with("F_DUPFD"),
            _ => false,
        };
        if is_new && number > 0 {
            sockets.claim(thread, number as i32);
        }
        match kind(name) {
            CallKind::Write if number > 0 => self.write(begun, ended, 0),
            CallKind::Splice if number > 0 => self.write(begun, ended, 2),
            CallKind::Read if ended.argument(1).starts_with("\"\\177ELF") => sockets.load(thread),
            CallKind::Read if number >= 0 => {
                if let Some(place) = sockets.find(thread, first) {
                    if NAMES[usize::from(name)].0.starts_with("recv") {
                        sockets.is_socket(place);
                    }
                    sockets.read(thread, place, time_ns, end_ns);
                }
            }
            CallKind::Socket if number >= 0 => {
                let is_inet = first.contains("INET") || ["0x2", "0xa"].contains(&first);
                let kind = ended.argument(1);
                // The low bits tell the type (socket(2)).
                let is_stream = kind.contains("SOCK_STREAM")
                    || line::number(kind).is_some_and(|kind| kind & 15 == 1);
                if !(is_inet && is_stream) {
                    sockets.set(thread, number as i32, None);
                } else if let Some(place) = sockets.open(thread, number as i32, Protocol::Tcp) {
                    let socket = &mut sockets.all[place as usize];
                    (socket.is_whole, socket.has_all_options) = (true, true);
                    socket.state |= flag::FIRST;
                }
            }
            CallKind::Accept if number >= 0 => sockets.accept(thread, ended),
            CallKind::RemoteName if number == 0 || ended.error == "EINPROGRESS" => {
                sockets.name_by(thread, ended, true);
            }
            CallKind::LocalName if number == 0 => sockets.name_by(thread, ended, false),
            CallKind::Listen if number == 0 => {
                if let Some(place) = sockets.find(thread, first) {
                    sockets.all[place as usize].is_listening = true;
                }
            }
            CallKind::Control if !ended.argument(1).starts_with("F_DUPFD") => {}
            CallKind::Duplicate | CallKind::Control if number >= 0 => {
                let place = sockets.find(thread, first);
                sockets.set(thread, number as i32, place);
            }
            CallKind::Close if number == 0 => sockets.close(thread, first),
            CallKind::Open if number > 0 => sockets.set(thread, number as i32, None),
            CallKind::Open if number == 0 => {
                let pair =
                    [first, ended.argument(3)].into_iter().find(|pair| pair.starts_with('['));
                for number in pair.unwrap_or_default().trim_matches(['[', ']']).split(',') {
                    if let Some((number, _)) = descriptor(number.trim()) {
                        sockets.set(thread, number, None);
                    }
                }
            }
            CallKind::Fork if number > 0 => {
                let shares = ended.arguments.iter().any(|it| it.contains("CLONE_FILES"));
                sockets.fork(thread, (thread.0, number as u32), shares);
            }
            CallKind::Option => self.option(begun, ended),
            _ => {}
        }
    }

    fn write(&mut self, begun: Begun, ended: &EndedCall<'_>, to: usize) {
        let name = NAMES[usize::from(begun.name)].0;
        if name == "splice"
            && let Some(from) = self.sockets.find(begun.thread, ended.argument(0))
        {
            self.sockets.all[from as usize].state |= flag::FIRST;
        }
        if name == "sendto" && ended.argument(4).starts_with('{') {
            // A datagram.
            if let Some((number, _)) = descriptor(ended.argument(0)) {
                self.sockets.set(begun.thread, number, None);
            }
            return;
        }
        let Some(place) = self.sockets.find(begun.thread, ended.argument(to)) else { return };
        if name.starts_with("send") && !name.starts_with("sendfile") {
            self.sockets.is_socket(place);
        }

        let is_more = |argument: &&str| {
            !argument.starts_with('"')
                && (argument.contains("MSG_MORE") || argument.contains("SPLICE_F_MORE"))
        };
        let more = if ended.arguments.iter().any(is_more) { flag::MORE } else { 0 };
        let result = ended.result.unwrap_or(0);
        if name != "sendmmsg" {
            return self.add(begun, place, result as u64, more);
        }
        for bytes in of_messages(ended.argument(1), result) {
            self.add(begun, place, bytes, more);
        }
    }

    fn add(&mut self, begun: Begun, place: u32, bytes: u64, flags: u8) {
        let socket = &mut self.sockets.all[place as usize];
        let offset = socket.bytes;
        socket.bytes += bytes;
        if self.kept == MOST_WRITES {
            self.trace.more_writes += 1;
            return;
        }
        self.kept += 1;
        self.stack = Some(Stack::Write(place, socket.writes.len()));
        socket.writes.push(Write {
            time_ns: begun.time_ns.unwrap_or(0),
            offset,
            bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
            line: begun.line,
            stack: 0,
            answered_us: u32::MAX,
            file: begun.file,
            name: begun.name,
            flags: flags | socket.state,
        });
        if bytes > 0 {
            socket.state &= !flag::FIRST;
        }
    }

    fn option(&mut self, begun: Begun, ended: &EndedCall<'_>) {
        let Some((name, value)) = ended.tcp_option() else { return };
        let Some((number, shown)) = descriptor(ended.argument(0)) else { return };
        let place = self.sockets.find(begun.thread, ended.argument(0));
        let worked = ended.result == Some(0);
        if let Some(place) = place.filter(|_| worked && name.starts_with("TCP_")) {
            self.set_option(begun, place, name, value != 0);
        }
        if self.trace.options.len() == MOST_OPTIONS {
            return;
        }
        self.trace.options.push(OptionCall {
            name,
            value,
            descriptor: number,
            what: what(shown, place.map(|place| &self.sockets.all[place as usize]), ended.error),
            error: ended.error.to_owned(),
            socket: place,
            line: begun.line,
            stack: 0,
            taken_back: false,
        });
        self.stack = Some(Stack::Option(self.trace.options.len() - 1));
    }

    fn set_option(&mut self, begun: Begun, place: u32, name: &str, is_on: bool) {
        self.sockets.is_socket(place);
        let socket = &mut self.sockets.all[place as usize];
        let state = match name {
            "TCP_NODELAY" => flag::NODELAY,
            "TCP_CORK" => flag::MORE | flag::CORK,
            _ => return,
        };
        socket.state = if is_on { socket.state | state } else { socket.state & !state };
        socket.had_nodelay |= is_on && state == flag::NODELAY;
        if !is_on {
            let earlier =
                self.trace.options.iter_mut().rev().filter(|one| one.socket == Some(place));
            for option in earlier.filter(|one| one.name == name && one.value != 0) {
                option.taken_back = true;
            }
        }
        // The end of a cork lets go what was held, as TCP_NODELAY does.
        if is_on == (state == flag::NODELAY) {
            self.add(begun, place, 0, flag::PUSH);
        }
    }

    pub fn end(mut self, paths: &[String]) -> Trace {
        self.end_stack();
        for Unfinished { begun, text } in std::mem::take(&mut self.unfinished).into_values() {
            let first = text.split(',').next().unwrap_or_default();
            if kind(begun.name) == CallKind::Write
                && let Some(place) = self.sockets.find(begun.thread, first)
            {
                self.sockets.all[place as usize].blocked = begun.line;
            }
        }
        for option in &mut self.trace.options {
            let socket = option.socket.map(|place| &self.sockets.all[place as usize]);
            if socket.is_some_and(|socket| socket.is_listening) {
                "a listening socket, whose connections inherit it".clone_into(&mut option.what);
            }
        }
        self.trace.paths = paths.to_vec();
        self.trace.threads = self.sockets.threads();
        self.trace.more_sockets = self.sockets.dropped;
        self.trace.has_unix = self.sockets.has_unix;
        self.trace.sockets = self.sockets.all;
        self.trace
    }
}

/// `[{msg_hdr={..}, msg_len=143}, {msg_hdr={..}, msg_len=6}]`
fn of_messages(text: &str, messages: i64) -> impl Iterator<Item = u64> {
    let lens = text.split("msg_len=").skip(1).take(messages.max(0) as usize);
    lens.filter_map(|text| text.split(|sign: char| !sign.is_ascii_digit()).next()?.parse().ok())
}

/// For what a descriptor stood. A path may tell too much; that of a device does not.
fn what(shown: DescriptorText<'_>, socket: Option<&Socket>, error: &str) -> String {
    let words = match (shown, socket) {
        // No other socket refuses TCP's options so.
        _ if error == "EOPNOTSUPP" => "a UNIX socket, where TCP's options mean nothing",
        (_, Some(socket)) if socket.remote.is_some() || socket.is_server => "a connection",
        (_, Some(socket)) if socket.protocol == Protocol::Tcp => "a TCP socket",
        (_, Some(socket)) if socket.protocol == Protocol::Socket => "a socket",
        (DescriptorText::Other(path), _) if path.starts_with("/dev/") => {
            return path
                .chars()
                .take_while(|sign| sign.is_ascii_alphanumeric() || *sign == '/')
                .collect();
        }
        (DescriptorText::Other(path), _) if path.starts_with('/') => "a file",
        (DescriptorText::Other(path), _) if path.starts_with("pipe:") => "a pipe",
        (DescriptorText::Other(path), _) if path.starts_with("UNIX") => "a UNIX socket",
        (DescriptorText::Other(_), _) => "no TCP socket",
        _ => "",
    };
    words.to_owned()
}
