//! Whether a text can be read, by its beginning, and what to do where it cannot.

use super::lines::{Joiner, broken_at};
use super::packet::{PrintedPacket, Stamped};
use super::{rows, tcpdump};
use crate::Source;
use crate::times::Survey;
use std::io;

/// Why a text is not read.
#[derive(Debug)]
pub enum Refusal {
    Unreadable(io::Error),
    /// It holds no packet, as far as it was looked at.
    NoText,
    /// Its packets lack this: what to do about it.
    Lacks(String),
}

/// A text without a packet in its first bytes is not a capture.
const LOOKED_AT: usize = 256 << 10;
const LOOKED_AT_FIRST: usize = 4 << 10;
/// Packets from which the form of the text is inferred.
const ENOUGH_PACKETS: u32 = 200;

/// How to see packets at all.
const CAPTURE: &str = "capture them with 'tcpdump -w FILE tcp port ...'";
/// How to print a capture that can be read.
const AGAIN: &str = "print the capture again with 'tcpdump -nvv -r FILE'";
/// A list, with its columns as they are by default.
const WHOLE_LIST: &str = "paste whole rows (Time, Source, Destination, Protocol, Length, Info), as 'tshark -r FILE' prints them";

/// The facts that a text may lack: of several, the first one is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Lack {
    Ports,
    Numbers,
    Seconds,
    Times,
    ListTimes,
    Heading,
    Segments,
    Whole,
    Sctp,
    Tcp,
    Lines,
    Calls,
    Sockets,
    Counters,
    Probes,
    Snort,
}

impl Lack {
    /// It in words, and what to do.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Ports => ("text of packets without ports", AGAIN),
            Self::Numbers => {
                ("text that tcpdump printed with -q, so without sequence numbers and ACKs", AGAIN)
            }
            Self::Seconds => {
                ("text with times in whole seconds, in which no wait of 40 ms shows", AGAIN)
            }
            Self::Times => {
                ("text without the times of its packets, as tcpdump prints it with -t", AGAIN)
            }
            Self::ListTimes => ("a packet list without the times of its packets", WHOLE_LIST),
            Self::Heading => (
                "rows of fields without a line that names them",
                "print them with 'tshark -T fields -E header=y -e ...'",
            ),
            Self::Segments => (
                "a packet list of messages alone, without the TCP rows that tell Seq, Ack and Len",
                AGAIN,
            ),
            Self::Whole => (
                "text of packets that are cut off before their sequence numbers and lengths",
                AGAIN,
            ),
            Self::Tcp => ("text of packets, none of which is TCP", "capture with the filter 'tcp'"),
            Self::Lines => ("a hex dump without the lines of its packets", AGAIN),
            Self::Calls => (
                "a trace of system calls",
                "give it with --calls, beside a capture or alone (nagle-scan --calls FILE)",
            ),
            Self::Sockets => {
                ("the state of sockets, as ss -ti prints it, which shows no packet", CAPTURE)
            }
            Self::Counters => (
                "counters of a host, as nstat and netstat -s print them, which show no packet",
                CAPTURE,
            ),
            Self::Probes => ("what bpftrace or a BCC tool printed, which shows no packet", CAPTURE),
            Self::Snort => {
                ("packets as snort prints them", "read its log instead (snort -L pcap writes one)")
            }
            Self::Sctp => (
                "text of SCTP, which is not analysed: only TCP is",
                "capture with the filter 'tcp'",
            ),
        }
    }
}

/// The course of the times of a text, and the width at which its lines are broken.
///
/// # Errors
/// It has no packet that can be read.
pub fn survey(source: &mut impl Source) -> Result<(Survey, usize), Refusal> {
    let beginning = Beginning::read(source).map_err(Refusal::Unreadable)?;
    match beginning.lack() {
        _ if beginning.packets > 0 => Ok((beginning.survey, beginning.width)),
        Some(lack) => Err(Refusal::Lacks(lack)),
        None => Err(Refusal::NoText),
    }
}

/// The beginning of a text.
#[derive(Debug, Default)]
struct Beginning {
    /// TCP that can be read.
    packets: u32,
    lack: Option<Lack>,
    /// Fields that the header line of a list lacks.
    missing: Vec<&'static str>,
    survey: Survey,
    /// See [`broken_at`].
    width: usize,
}

impl Beginning {
    /// Looks at as much of the input as is needed.
    fn read(source: &mut impl Source) -> io::Result<Self> {
        let mut wanted = LOOKED_AT_FIRST;
        loop {
            let start = source.at_least(wanted)?;
            let is_all = start.len() < wanted;
            let found = Self::of(if is_all { start } else { whole_lines(start) });
            if found.packets >= ENOUGH_PACKETS || is_all || wanted >= LOOKED_AT {
                return Ok(found);
            }
            wanted *= 4;
        }
    }

    /// The facts that its packets lack, and how to print them again; `None` where there are none.
    fn lack(&self) -> Option<String> {
        if !self.missing.is_empty() {
            let missing = self.missing.join(", ");
            return Some(format!(
                "a list of packets without the fields {missing}: add them (tshark -T fields -E header=y -e \
                 ...), or {AGAIN}"
            ));
        }
        let (lack, remedy) = self.lack?.words();
        Some(format!("{lack}: {remedy}"))
    }

    fn of(start: &[u8]) -> Self {
        let lines = start.split_inclusive(|&byte| byte == b'\n');
        let mut found = Self { width: broken_at(lines.clone()), ..Self::default() };
        let mut joiner = Joiner::new(found.width);
        for line in lines {
            let is_sctp = line.windows(6).any(|word| word == b": sctp" || word == b" SCTP ");
            found.lacks(is_sctp.then_some(Lack::Sctp));
            joiner.take(line, |text| found.lacks(lack_of(text)));
            while let Some((_, packet)) = joiner.next() {
                found.see(packet);
            }
        }
        joiner.end();
        while let Some((_, packet)) = joiner.next() {
            found.see(packet);
        }
        found.missing = joiner.forms.missing();
        found
    }

    fn lacks(&mut self, lack: Option<Lack>) {
        self.lack = self.lack.into_iter().chain(lack).min();
    }

    fn see(&mut self, (stamp, packet): Stamped) {
        self.survey.see(stamp);
        self.packets += u32::from(matches!(packet, PrintedPacket::Tcp(..)));
        self.lacks(match packet {
            PrintedPacket::Quiet => Some(Lack::Numbers),
            PrintedPacket::WithoutPorts => Some(Lack::Ports),
            PrintedPacket::Message(..) => Some(Lack::Segments),
            PrintedPacket::Unreadable => Some(Lack::Whole),
            PrintedPacket::Fragment | PrintedPacket::NotTcp => Some(Lack::Tcp),
            // Programs print times, too.
            PrintedPacket::Tcp(..) | PrintedPacket::NotIp => None,
        });
    }
}

/// Is it a line of strace's?
pub fn is_call(line: &str) -> bool {
    line.contains(") = ") && line.contains('(')
}

/// The fact that a line lacks which shows no packet.
fn lack_of(line: &str) -> Option<Lack> {
    let is_clock = |word: &str| {
        word.len() == 8
            && word.matches(':').count() == 2
            && word.bytes().all(|byte| byte == b':' || byte.is_ascii_digit())
    };
    let has_clock = line.split(' ').take(3).any(is_clock);
    let of_tcpdump = if has_clock { Lack::Seconds } else { Lack::Times };
    let of_list = if has_clock { Lack::Seconds } else { Lack::ListTimes };
    match () {
        () if tcpdump::is_timeless(line) => Some(of_tcpdump),
        () if line.contains(": Flags [") => Some(Lack::Whole),
        () if line.contains("Seq=") && rows::begins(line) => Some(Lack::Ports),
        () if line.contains(" Seq=") && line.contains('[') => Some(of_list),
        () if rows::is_without_heading(line) => Some(Lack::Heading),
        () if line.starts_with("0x0000:") => Some(Lack::Lines),
        () if is_call(line) => Some(Lack::Calls),
        () => of_program(line),
    }
}

/// The program that printed a line without packets.
fn of_program(line: &str) -> Option<Lack> {
    let has = |words: &[&str]| words.iter().all(|word| line.contains(word));
    match () {
        () if has(&["rto:", "rtt:"]) || has(&["Recv-Q", "Send-Q"]) => Some(Lack::Sockets),
        () if line.starts_with("TcpExt")
            || has(&["segments re"])
            || has(&["delayed acks sent"]) =>
        {
            Some(Lack::Counters)
        }
        () if line.starts_with("Attaching ")
            || line.starts_with("Tracing ")
            || line.starts_with("@[")
            || line.starts_with("@usecs") =>
        {
            Some(Lack::Probes)
        }
        () if line.starts_with("***") && has(&["Seq: 0x", "Ack: 0x"]) => Some(Lack::Snort),
        () => None,
    }
}

/// The line that is cut off may look like one of other packets.
fn whole_lines(start: &[u8]) -> &[u8] {
    let start = &start[..start.len().min(LOOKED_AT)];
    &start[..start.iter().rposition(|&byte| byte == b'\n').unwrap_or(start.len())]
}
