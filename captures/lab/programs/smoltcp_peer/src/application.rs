//! The program above the stack: runs a script on a socket, one word at a time, and logs it as `peer.c` does.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use smoltcp::socket::tcp::Socket;

use crate::script::Word;

/// A script on its way, and the log of what it did.
pub struct Application {
    script: Vec<Word>,
    next: usize,
    client_port: u16,
    written: usize,
    /// Bytes still wanted by the `read` that is being run.
    wanted: Option<usize>,
    /// End of the pause that is being run.
    wake: Option<SystemTime>,
    background_read: bool,
    random: u64,
    pub log: String,
}

impl Application {
    pub fn new(script: Vec<Word>, client_port: u16, server_port: u16) -> Self {
        let mut new = Self {
            script,
            next: 0,
            client_port,
            written: 0,
            wanted: None,
            wake: None,
            background_read: false,
            random: 7,
            log: String::new(),
        };
        new.note(&format!("open {server_port}"));
        new
    }

    /// How long nothing is to be done, if it is a time that the script waits for.
    pub fn sleep(&self) -> Option<Duration> {
        self.wake
            .map(|wake| wake.duration_since(SystemTime::now()).unwrap_or_default())
    }

    /// Runs one word; false when it has to wait for the network, for a time, or at the end of the script.
    /// The stack gets its turn after each word, as a system call gives it to the kernel.
    pub fn step(&mut self, socket: &mut Socket) -> bool {
        if self.background_read {
            self.drain(socket, usize::MAX);
        }
        let Some(word) = self.script.get(self.next).copied() else {
            return false;
        };
        let done = match word {
            Word::Write(length) => self.write(socket, length),
            Word::Read(length) => self.read_exactly(socket, length),
            Word::ReadToEnd => self.read_to_end(socket),
            Word::Pause(low_us, high_us) => self.pause(low_us, high_us),
            Word::NoDelay(on) => {
                self.note(&format!("option nodelay {}", u8::from(on)));
                socket.set_nagle_enabled(!on);
                true
            }
            Word::AckDelay(us) => {
                socket.set_ack_delay(Some(smoltcp::time::Duration::from_micros(us)));
                true
            }
            Word::BackgroundRead => {
                self.background_read = true;
                true
            }
            Word::End => {
                socket.close();
                true
            }
        };
        if done {
            self.next += 1;
        }
        done
    }

    pub fn is_done(&self) -> bool {
        self.next == self.script.len()
    }

    fn write(&mut self, socket: &mut Socket, length: usize) -> bool {
        if !socket.may_send() || socket.send_capacity() - socket.send_queue() < length {
            return false;
        }
        self.note(&format!("write {} {length}", self.written));
        let payload: Vec<u8> = b"nagle-scan lab\n"
            .iter()
            .copied()
            .cycle()
            .take(length)
            .collect();
        let sent = socket.send_slice(&payload);
        assert_eq!(sent, Ok(length), "the send buffer had room");
        self.written += length;
        true
    }

    fn read_exactly(&mut self, socket: &mut Socket, length: usize) -> bool {
        let wanted = self.wanted.take().unwrap_or(length);
        let left = wanted - self.drain(socket, wanted);
        if left > 0 {
            self.wanted = Some(left);
        }
        left == 0
    }

    fn read_to_end(&mut self, socket: &mut Socket) -> bool {
        self.drain(socket, usize::MAX);
        !socket.may_recv()
    }

    /// Reads what is there, at most so many bytes.
    fn drain(&mut self, socket: &mut Socket, most: usize) -> usize {
        let length = socket.recv_queue().min(most);
        if length == 0 {
            return 0;
        }
        socket.recv_slice(&mut vec![0; length]).unwrap_or(0)
    }

    fn pause(&mut self, low_us: u64, high_us: u64) -> bool {
        let Some(wake) = self.wake else {
            let length = low_us + self.next_random() % (high_us - low_us + 1);
            self.note(&format!("pause {length}"));
            self.wake = Some(SystemTime::now() + Duration::from_micros(length));
            return false;
        };
        if SystemTime::now() < wake {
            return false;
        }
        self.wake = None;
        self.note("resume");
        true
    }

    fn next_random(&mut self) -> u64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        self.random >> 33
    }

    fn note(&mut self, text: &str) {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let _ = writeln!(self.log, "{} {} {text}", now.as_nanos(), self.client_port);
    }
}
