//! Whether a text can be read, by its beginning, and what to do where it cannot.

use super::clean;
use super::ends::EndNames;
use super::lines::{Joined, Joiner};
use super::packet::{Packet, Stamped};
use super::tcpdump::{self, Line};
use super::time::Survey;
use crate::capture::buffer::Buffer;
use std::io;

/// A text without a packet in its first bytes is not a capture.
const LOOKED_AT: usize = 256 << 10;
const LOOKED_AT_FIRST: usize = 4 << 10;
/// Packets from which the form of the text is inferred.
const ENOUGH_PACKETS: u32 = 200;

/// How to print a capture that can be read.
const AGAIN: &str = "print the capture again with 'tcpdump -nvv -r FILE'";

/// The beginning of a text.
#[derive(Debug, Default)]
pub struct Beginning {
    /// TCP that can be read.
    packets: u32,
    /// TCP that cannot, for what it lacks.
    timeless: u32,
    quiet: u32,
    without_ports: u32,
    messages: u32,
    unreadable: u32,
    /// Fields that the header line of a list lacks.
    missing: Vec<&'static str>,
    pub survey: Survey,
}

impl Beginning {
    /// Looks at as much of the input as is needed.
    pub fn read(buffer: &mut Buffer) -> io::Result<Self> {
        let mut wanted = LOOKED_AT_FIRST;
        loop {
            let start = buffer.at_least(wanted)?;
            let is_all = start.len() < wanted;
            let found = Self::of(if is_all { start } else { whole_lines(start) });
            if found.packets >= ENOUGH_PACKETS || is_all || wanted >= LOOKED_AT {
                return Ok(found);
            }
            wanted *= 4;
        }
    }

    /// Are there packets that can be read?
    pub fn is_readable(&self) -> bool {
        self.packets > 0
    }

    /// The facts that its packets lack, and how to print them again; `None` where there are none.
    pub fn lack(&self) -> Option<String> {
        let reason = match self {
            Self { missing, .. } if !missing.is_empty() => {
                return Some(format!(
                    "a list of packets without the fields {}: add them (tshark -T fields -E header=y \
                     -e ...), or {AGAIN}",
                    missing.join(", ")
                ));
            }
            Self { without_ports: 1.., .. } => "text of packets without ports",
            Self { quiet: 1.., .. } => {
                "text that tcpdump printed with -q, so without sequence numbers and ACKs"
            }
            Self { timeless: 1.., .. } => {
                "text without the times of its packets, as tcpdump prints it with -t"
            }
            Self { messages: 1.., .. } => {
                "a packet list of messages alone, without the TCP rows that tell Seq, Ack and Len"
            }
            Self { unreadable: 1.., .. } => {
                "text of packets that are cut off before their sequence numbers and lengths, or whose hosts have \
                 names that no host can have"
            }
            _ => return None,
        };
        Some(format!("{reason}: {AGAIN}"))
    }

    fn of(start: &[u8]) -> Self {
        let (mut found, mut joiner) = (Self::default(), Joiner::default());
        for line in start.split(|&byte| byte == b'\n') {
            let line = clean::bare(line);
            let mut added = joiner.take(&line);
            if let Joined::Before(packet) = added {
                found.see(packet);
                added = joiner.take(&line);
            }
            match added {
                Joined::Packet(packet) | Joined::Before(packet) => found.see(packet),
                Joined::More => {}
                Joined::NoPacket => found.timeless += u32::from(is_timeless(&line)),
            }
        }
        if let Some(packet) = joiner.end() {
            found.see(packet);
        }
        found.missing = joiner.rows.missing();
        found
    }

    fn see(&mut self, (stamp, packet): Stamped) {
        self.survey.see(stamp);
        let count = match packet {
            Packet::Tcp(..) => &mut self.packets,
            Packet::Quiet => &mut self.quiet,
            Packet::WithoutPorts => &mut self.without_ports,
            Packet::Message(..) => &mut self.messages,
            Packet::Unreadable => &mut self.unreadable,
            Packet::Fragment | Packet::NotTcp | Packet::NotIp => return,
        };
        *count += 1;
    }
}

/// The line that is cut off may look like one of other packets.
fn whole_lines(start: &[u8]) -> &[u8] {
    let start = &start[..start.len().min(LOOKED_AT)];
    &start[..start.iter().rposition(|&byte| byte == b'\n').unwrap_or(start.len())]
}

/// Is it a packet but for its time?
fn is_timeless(line: &str) -> bool {
    let read = tcpdump::read(line, &mut EndNames::default());
    matches!(read, Line::Packet(Packet::Tcp(..) | Packet::Quiet))
}
