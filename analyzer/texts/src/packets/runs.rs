//! Several captures in one text: with a heading each, or tcpdump's first and last lines between.

use super::packet::Run;
use std::mem;

/// Longer ones are sentences.
const MOST_WORDS: usize = 6;
/// A heading begins so, or names the option.
const BEGINS: [&str; 8] =
    ["before", "after", "with", "without", "baseline", "patched", "unpatched", "fixed"];
const OPTIONS: [&str; 3] = ["nodelay", "tcp_nodelay", "nagle"];
/// tcpdump prints these first and last.
const ENDS: [&str; 3] = ["listening on ", " packets captured", " packet captured"];

/// The captures that a text has had so far.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Runs {
    /// Headings that packets follow.
    pub headings: u16,
    /// A heading stands before the next packet.
    has_heading: bool,
    /// tcpdump ended, or began.
    has_ended: bool,
    has_packets: bool,
    run: Run,
}

impl Runs {
    /// Looks at a line without a packet.
    pub fn see(&mut self, line: &str) {
        self.has_ended |= ENDS.iter().any(|end| line.contains(end));
        let is_of =
            |known: &[&str], word: &str| known.iter().any(|one| word.eq_ignore_ascii_case(one));
        let line = line.trim_matches(|sign: char| !sign.is_alphanumeric());
        let mut words = line.split(|sign: char| !sign.is_alphanumeric() && sign != '_');
        let begins = words.next().is_some_and(|word| is_of(&BEGINS, word) || is_of(&OPTIONS, word));
        let count = line.split_whitespace().count();
        let has_option = begins || words.any(|word| is_of(&OPTIONS, word));
        self.has_heading |= has_option && count <= MOST_WORDS;
    }

    /// The run of the packet that comes next.
    pub fn of_next(&mut self) -> Run {
        let has_heading = mem::take(&mut self.has_heading);
        let has_ended = mem::take(&mut self.has_ended);
        self.headings = self.headings.saturating_add(u16::from(has_heading));
        if self.has_packets {
            let Run { number, starts } = &mut self.run;
            *number = number.saturating_add(u16::from(has_ended || has_heading));
            *starts = starts.saturating_add(u16::from(has_ended));
        }
        self.has_packets = true;
        self.run
    }
}
