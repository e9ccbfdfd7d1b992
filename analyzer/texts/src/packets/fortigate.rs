//! A packet of a firewall's `diagnose sniffer packet any FILTER 4`, which prints no lengths: those
//! follow from the rows behind. A packet is printed at each interface that it passes.

use super::packet::{Outcome, PrintedPacket, PrintedSegment};
use super::tokens::is_digits;
use crate::ends::EndNames;
use crate::flags::{ACK, FIN, PSH, RST, SYN};
use crate::times::{self, PrintedTime};
use std::collections::VecDeque;

/// Packets that may be at other interfaces yet.
const MOST_PASSING: usize = 16;
/// A packet is sent again later than it is passed on.
const PASSES_NS: i64 = 1_000_000;

/// The packets that were printed last, each with its interface.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Passing(VecDeque<(i64, String, String)>);

/// Reads `11.963321 port2 in 10.0.0.1.4000 -> 10.0.0.2.80: psh 5001 ack 9001`.
pub fn read(line: &str, names: &mut EndNames, passing: &mut Passing) -> Outcome {
    packet(line, names, passing).unwrap_or_default()
}

fn packet(line: &str, names: &mut EndNames, passing: &mut Passing) -> Option<Outcome> {
    // Hardly any other line says so.
    line.contains(" -> ").then_some(())?;
    let (stamp, text) = times::stamp(line)?;
    let (interface, text) = [" in ", " out "].iter().find_map(|way| text.split_once(way))?;
    let (from, rest) = text.split_once(" -> ")?;
    let (to, numbers) = rest.split_once(": ")?;
    let mut segment = PrintedSegment { window: u16::MAX.into(), ..PrintedSegment::default() };
    let mut words = numbers.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let mut number =
            || words.next_if(|word| is_digits(word)).and_then(|word| word.parse().ok());
        let flag = match word {
            "syn" => SYN,
            "fin" => FIN,
            "rst" => RST,
            "psh" => PSH,
            "ack" => ACK,
            _ => return None,
        };
        segment.flags |= flag;
        let number = number();
        if flag == ACK { segment.ack = number } else { segment.seq = segment.seq.or(number) }
    }
    (segment.flags != 0).then_some(())?;
    // Without a number of its own it is a pure ACK.
    segment.lacks_len = segment.seq.is_some() && segment.flags & PSH != 0;
    let ends =
        names.ends([from.trim().rsplit_once('.')?, to.rsplit_once('.')?], from.contains(':'))?;
    if passing.has_passed(stamp, interface, text) {
        return Some(Outcome::Heading);
    }
    Some(Outcome::Packet((stamp, PrintedPacket::Tcp(ends, segment.with_cut_marked()))))
}

impl Passing {
    /// Was it printed at another interface just before?
    fn has_passed(&mut self, stamp: PrintedTime, interface: &str, text: &str) -> bool {
        let (PrintedTime::At(now_ns) | PrintedTime::Clock(now_ns)) = stamp;
        let is_same = |(at_ns, of, known): &(i64, String, String)| {
            known == text && of != interface && now_ns.abs_diff(*at_ns) < PASSES_NS as u64
        };
        let has_passed = self.0.iter().any(is_same);
        if self.0.len() == MOST_PASSING {
            self.0.pop_front();
        }
        self.0.push_back((now_ns, interface.to_owned(), text.to_owned()));
        has_passed
    }
}
