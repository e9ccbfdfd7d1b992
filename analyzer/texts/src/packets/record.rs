//! A packet of many lines with names and values: `-T json`, `-T ek`, `-T pdml`, `-T psml`, `-V`.
//!
//! An export with details prints a packet's row before them: with its time, and unless it is a
//! message, its numbers.

use super::fields::{Role, RowFields, role};
use super::packet::{PrintedPacket, Stamped};
use super::rows;
use crate::ends::EndNames;
use std::mem;

/// One packet, as far as it was read.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Record {
    values: Vec<(Role, String)>,
    form: Option<Form>,
    /// The name that the values of the next lines have.
    name: Option<Role>,
    row: Option<Stamped>,
    /// The columns of `-T psml`, and how many of this packet were read.
    columns: Vec<Option<Role>>,
    columns_seen: usize,
    /// The fields that the last one lacked.
    pub missing: Vec<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    /// `-T psml` and `-T pdml`.
    Xml,
    /// `-V`, and whether the lines of TCP were reached: before, others have flags, too.
    Details(bool),
}

/// A record has fewer values that are needed.
const MOST_VALUES: usize = 256;

/// Does the line begin a record?
pub fn begins(line: &str) -> bool {
    line.contains("\"layers\"")
        || line == "<packet>"
        || line.starts_with("Frame ") && line.contains(" bytes on wire")
}

/// The number of the packet, in the first line of its details.
pub fn number(line: &str) -> Option<u32> {
    line.strip_prefix("Frame ")?.split([':', ' ']).next()?.parse().ok()
}

impl Record {
    /// Begins a record with such a line, of a packet that a row showed already or not.
    pub fn begin(&mut self, line: &str, row: Option<Stamped>) {
        self.row = row;
        let Some(details) = line.strip_prefix("Frame ") else {
            self.form = Some(if line == "<packet>" { Form::Xml } else { Form::Json });
            self.columns_seen = 0;
            self.json(line);
            return;
        };
        self.form = Some(Form::Details(false));
        let len = details.split_once([':', '(']).and_then(|(_, len)| len.trim().split(' ').next());
        self.add(Role::Length, len.unwrap_or_default());
    }

    /// Takes another line, if it belongs to the record.
    pub fn take(&mut self, line: &str) -> bool {
        match self.form {
            Some(Form::Json) => self.json(line),
            Some(Form::Xml) => self.xml(line),
            None if line == "<structure>" => {
                self.columns.clear();
                true
            }
            None if line.starts_with("<section>") => self.xml(line),
            // A row that follows is none of them.
            Some(Form::Details(_))
                if [" > ", " → ", " -> "].iter().any(|arrow| line.contains(arrow)) =>
            {
                false
            }
            Some(Form::Details(_)) => self.details(line),
            None => false,
        }
    }

    /// The packet of the last record.
    pub fn end(&mut self, names: &mut EndNames) -> Option<Stamped> {
        let (values, row) = (mem::take(&mut self.values), self.row.take());
        self.form.take()?;
        let mut fields = RowFields::default();
        for (role, value) in &values {
            fields.set(*role, value);
        }
        let has = |role: Role| values.iter().any(|(known, _)| *known == role);
        if row.is_none() && !has(Role::Info) {
            self.missing = rows::missing(has);
        }
        let Some((stamp, packet)) = row else { return fields.outcome(names).ended() };
        let has_numbers = matches!(packet, PrintedPacket::Tcp(..));
        let detailed = if has_numbers { None } else { fields.packet_of(names) };
        Some((
            stamp,
            detailed
                .filter(|detailed| matches!(detailed, PrintedPacket::Tcp(..)))
                .unwrap_or(packet),
        ))
    }

    fn add(&mut self, role: Role, value: &str) {
        if self.values.len() < MOST_VALUES {
            self.values.push((role, value.to_owned()));
        }
    }

    /// Quoted names with a colon after them, and quoted values; is there anything else?
    fn json(&mut self, line: &str) -> bool {
        let mut rest = line;
        while let Some((_, from)) = rest.split_once('"') {
            let Some((text, after)) = from.split_once('"') else { break };
            if after.trim_start().starts_with(':') {
                self.name = role(text);
            } else if let Some(role) = self.name {
                self.add(role, text);
            }
            rest = after;
        }
        line.starts_with(['"', '{', '}', '[', ']'])
    }

    /// `<section>0.000000</section>`, of which the first ones name the others, and
    /// `<field name="tcp.seq" show="1"/>`.
    fn xml(&mut self, line: &str) -> bool {
        let section =
            line.strip_prefix("<section>").and_then(|rest| rest.strip_suffix("</section>"));
        let attribute = |name: &str| Some(line.split_once(name)?.1.split_once('"')?.0);
        if let Some(text) = section {
            if self.form.is_none() {
                self.columns.push(role(text));
            } else if let Some(role) = self.columns.get(self.columns_seen).copied().flatten() {
                self.add(role, text);
            }
            self.columns_seen += 1;
        } else if let Some(role) = attribute(" name=\"").and_then(role) {
            self.add(role, attribute(" show=\"").unwrap_or_default());
        }
        line.starts_with('<')
    }

    /// `Flags: 0x018 (PSH, ACK)`, and the lines that begin with the names of IP and TCP.
    fn details(&mut self, line: &str) -> bool {
        let line = line.trim_start_matches('[').trim_end_matches(']');
        let line = line.strip_prefix("TCP Option - ").unwrap_or(line);
        let is_tcp = line.starts_with("Transmission Control Protocol");
        if is_tcp || line.starts_with("Internet Protocol") {
            self.form = Some(Form::Details(is_tcp));
            for part in line.split(", ") {
                self.named(part);
            }
        } else if self.form == Some(Form::Details(true)) || is_before_tcp(line) {
            self.named(line);
        }
        line.contains(": ")
    }

    /// `Src Port: http (80)`: what stands in parentheses is the number.
    fn named(&mut self, part: &str) {
        let Some((name, value)) = part.split_once(": ") else { return };
        // Options have lengths, too.
        let Some(role) = role(name).filter(|role| *role != Role::Length) else { return };
        self.add(role, value);
    }
}

fn is_before_tcp(line: &str) -> bool {
    ["Arrival Time: ", "Capture Length: ", "Epoch ", "Identification: "]
        .iter()
        .any(|begin| line.starts_with(begin))
}
