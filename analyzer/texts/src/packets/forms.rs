//! The forms in which programs print packets: one table.
//!
//! The first form that a line fits reads it. A new form is a row here, and a file in
//! `tests/printed/forms` with the four packets that every form there has.

use super::fortigate::{self, Passing};
use super::packet::Outcome;
use super::record::Record;
use super::rows::{self, Columns};
use super::tcpdump;
use super::tokens::is_arrow;
use crate::ends::EndNames;

/// How one form is read.
type Read = fn(&mut Forms, &str) -> Outcome;

/// By examples. Packets of many lines (`-V`, `-T json`) are [`Record`]s.
const FORMS: [(&str, Read); 6] = [
    // `pktmon` and old versions print nearly the same.
    ("10:00:00.000000 IP 10.0.0.1.4000 > 10.0.0.2.80: Flags [P.], seq 1:9, ...", Forms::tcpdump),
    ("11.963321 port2 in 10.0.0.1.4000 -> 10.0.0.2.80: psh 5001 ack 9001", |forms, line| {
        fortigate::read(line, &mut forms.names, &mut forms.passing)
    }),
    ("No.  Time  Source  Destination  Protocol  Length  Info", Forms::heading),
    // `-T fields` and CSV.
    ("1700000000.000000,10.0.0.1,4000,10.0.0.2,80,1,1,8", Forms::cells),
    // Network Monitor has such rows, too.
    ("1  0.000000  10.0.0.1 -> 10.0.0.2  TCP  62  4000 -> 80 [PSH, ACK] Seq=1 ...", Forms::words),
    ("10:00:00.000000 ARP, Request who-has 10.0.0.1 tell 10.0.0.2, length 28", |_, line| {
        tcpdump::other(line)
    }),
];

/// Facts of the lines before that those which follow need.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Forms {
    pub names: EndNames,
    pub record: Record,
    pub columns: Columns,
    /// The packet that `pktmon` printed last: it prints each at all places that it passes.
    last_passed: String,
    passing: Passing,
}

impl Forms {
    /// Reads a line, or several of one packet.
    pub fn read(&mut self, line: &str) -> Outcome {
        let mut outcomes = FORMS.iter().map(|(_, read)| read(self, line));
        outcomes.find(|outcome| *outcome != Outcome::Nothing).unwrap_or_default()
    }

    /// The fields that lists and records lack, if there were any that need them.
    pub fn missing(&self) -> Vec<&'static str> {
        let of_columns = self.columns.missing();
        if of_columns.is_empty() { self.record.missing.clone() } else { of_columns }
    }

    fn tcpdump(&mut self, line: &str) -> Outcome {
        // Another arrow, as a word processor makes it.
        let outcome = if line.contains(": Flags [") && !line.contains(" > ") {
            let words = line.split(' ').map(|word| if is_arrow(word) { ">" } else { word });
            tcpdump::read(&words.collect::<Vec<_>>().join(" "), &mut self.names)
        } else {
            tcpdump::read(line, &mut self.names)
        };
        let id =
            line.split_once("PktGroupId ").and_then(|(_, rest)| rest.split_once(", Appearance"));
        match (&outcome, id) {
            (Outcome::Packet(_), Some((id, _))) if id == self.last_passed => Outcome::Heading,
            (Outcome::Packet(_), Some((id, _))) => {
                id.clone_into(&mut self.last_passed);
                outcome
            }
            _ => outcome,
        }
    }

    fn heading(&mut self, line: &str) -> Outcome {
        let Some(columns) = rows::heading(line) else { return Outcome::Nothing };
        let is_whole = columns != Columns::Cut && columns.missing().is_empty();
        self.columns = columns;
        if is_whole { Outcome::Heading } else { Outcome::More(None) }
    }

    fn cells(&mut self, line: &str) -> Outcome {
        let Columns::Cells(separator, roles) = &self.columns else { return Outcome::Nothing };
        match rows::of_cells(line, *separator, roles) {
            Some(fields) => fields.outcome(&mut self.names),
            None if rows::begins(line) => Outcome::More(None),
            None => Outcome::Nothing,
        }
    }

    fn words(&mut self, line: &str) -> Outcome {
        let before = if let Columns::Words(before) = self.columns { before } else { 0 };
        rows::of_words(line, before, &mut self.names)
    }
}
