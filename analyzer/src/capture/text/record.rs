//! A packet over many lines, each with names and values: `-T json`, `-T ek` and `-V`.

use super::ends::EndNames;
use super::fields::{Fields, Role, role};
use super::rows::Taken;

/// One packet, as far as it was read.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Record {
    values: Vec<(Role, String)>,
    form: Option<Form>,
    /// The name that the values of the next lines have.
    name: Option<Role>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    /// Of `-V`, and whether the lines of TCP were reached: before, others have flags, too.
    Details(bool),
}

/// A record has fewer values that are needed.
const MOST_VALUES: usize = 256;

impl Record {
    /// Takes a line; `None` if it belongs to no record. Where it begins the next one, the one before ends.
    pub fn take(&mut self, line: &str, names: &mut EndNames) -> Option<Taken> {
        if line.contains("\"layers\"") {
            let ended = self.end(names);
            self.form = Some(Form::Json);
            self.json(line);
            return Some(ended);
        }
        if line.starts_with("Frame ") && line.contains(" bytes on wire") {
            let ended = self.end(names);
            self.form = Some(Form::Details(false));
            let len = line.split_once(": ").and_then(|(_, len)| len.split(' ').next());
            self.add(Role::Length, len.unwrap_or_default());
            return Some(ended);
        }
        let is_of_record = match self.form? {
            Form::Json => self.json(line),
            Form::Details(_) => self.details(line),
        };
        is_of_record.then_some(None)
    }

    /// The last record.
    pub fn end(&mut self, names: &mut EndNames) -> Taken {
        let mut fields = Fields::default();
        for (role, value) in &self.values {
            fields.set(*role, value);
        }
        let ended = self.form.take().and_then(|_| fields.packet(names));
        self.values.clear();
        ended
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
        let Some(role) = role(name) else { return };
        let number = value.split_once(" (").and_then(|(_, inside)| inside.split_once(')'));
        let is_end = matches!(
            role,
            Role::Source | Role::Destination | Role::SourcePort | Role::DestinationPort
        );
        self.add(role, number.filter(|_| is_end).map_or(value, |(number, _)| number));
    }
}

fn is_before_tcp(line: &str) -> bool {
    ["Epoch ", "Identification: "].iter().any(|begin| line.starts_with(begin))
}
