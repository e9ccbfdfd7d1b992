//! Rows of lists: which columns they have, from a header line or from the addresses in a row.

use super::ends::EndNames;
use super::fields::{Fields, Role, is_digits, role};
use super::packet::Stamped;
use super::record::Record;
use super::time;
use std::net::IpAddr;

/// The columns of a list, as its header line names them.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
enum Columns {
    #[default]
    Unnamed,
    /// Words, of which so many times come before the time.
    Words(usize),
    Cells(char, Vec<Option<Role>>),
}

/// The rows of a text, as far as they are known.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Rows {
    columns: Columns,
    record: Record,
}

/// The packet that a line of a list ended, if it ended one.
pub type Taken = Option<Stamped>;

/// Columns that say how the packets of a list are sent.
const NEEDED: [(Role, &str); 6] = [
    (Role::Time, "frame.time_epoch"),
    (Role::SourcePort, "tcp.srcport"),
    (Role::DestinationPort, "tcp.dstport"),
    (Role::Seq, "tcp.seq"),
    (Role::Ack, "tcp.ack"),
    (Role::Len, "tcp.len"),
];

impl Rows {
    /// Takes a line; `None` if it is none of a list.
    pub fn take(&mut self, line: &str, names: &mut EndNames) -> Option<Taken> {
        if let Some(taken) = self.record.take(line, names) {
            return Some(taken);
        }
        if let Some(columns) = header(line) {
            self.columns = columns;
            return Some(None);
        }
        let of_cells = match &self.columns {
            Columns::Cells(separator, roles) => of_cells(line, *separator, roles),
            _ => None,
        };
        let before = if let Columns::Words(before) = self.columns { before } else { 0 };
        let unquoted;
        let fields = match of_cells {
            Some(fields) => fields,
            None if line.contains("\",\"") => {
                unquoted = line.replace(",\"", " ").replace('"', " ");
                of_words(&unquoted, before)?
            }
            None => of_words(line, before)?,
        };
        fields.packet(names).map(Some)
    }

    /// The packet that the text ended in.
    pub fn end(&mut self, names: &mut EndNames) -> Taken {
        self.record.end(names)
    }

    /// The fields that a header line lacks, if there was one of a list that needs them.
    pub fn missing(&self) -> Vec<&'static str> {
        match &self.columns {
            Columns::Cells(_, roles) if !roles.contains(&Some(Role::Info)) => {
                let lacks = |role: Role| !roles.contains(&Some(role));
                NEEDED.iter().filter(|(role, _)| lacks(*role)).map(|(_, name)| *name).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// The columns that a line names.
fn header(line: &str) -> Option<Columns> {
    // Hardly any other line says so.
    ["ource", "src", "Src"].iter().any(|name| line.contains(name)).then_some(())?;
    let knows = |roles: &[Option<Role>]| {
        let has = |role| roles.contains(&Some(role));
        has(Role::Source) && has(Role::Destination) && (has(Role::Info) || has(Role::SourcePort))
    };
    for separator in ['\t', ',', ';', '|'] {
        let roles: Vec<_> = cells(line, separator).map(role).collect();
        if knows(&roles) {
            return Some(Columns::Cells(separator, roles));
        }
    }
    let words = || line.split_whitespace();
    if !knows(&words().map(role).collect::<Vec<_>>()) {
        return None;
    }
    let names = line.split("  ").map(str::trim).filter(|name| !name.is_empty());
    let names = names.take_while(|name| role(name) != Some(Role::Source));
    let times = names.filter(|name| {
        let name = name.to_ascii_lowercase();
        name.contains("time") || name.contains("delta")
    });
    Some(Columns::Words(times.take_while(|name| role(name) != Some(Role::Time)).count()))
}

/// The cells of a row, which may be quoted.
fn cells(line: &str, separator: char) -> impl Iterator<Item = &str> {
    // Where one quote is never closed, none after it is: the row is searched for that once.
    let (mut rest, mut closes) = (Some(line), true);
    std::iter::from_fn(move || {
        let text = rest?;
        let quoted = text.strip_prefix('"').filter(|_| closes).and_then(|text| {
            let end = text
                .match_indices('"')
                .map(|(at, _)| at)
                .find(|at| text[at + 1..].is_empty() || text[at + 1..].starts_with(separator));
            closes = end.is_some();
            let end = end?;
            Some((&text[..end], text[end + 1..].strip_prefix(separator)))
        });
        let (cell, after) = quoted.unwrap_or_else(|| match text.split_once(separator) {
            Some((cell, after)) => (cell, Some(after)),
            None => (text, None),
        });
        rest = after;
        Some(cell)
    })
}

fn of_cells<'a>(line: &'a str, separator: char, roles: &[Option<Role>]) -> Option<Fields<'a>> {
    let mut fields = Fields::default();
    for (role, cell) in std::iter::zip(roles, cells(line, separator)) {
        if let Some(role) = role {
            fields.set(*role, cell);
        }
    }
    fields.get(Role::Source).zip(fields.get(Role::Destination))?;
    Some(fields)
}

/// Words of a row before the message of its packet.
const MOST_WORDS: usize = 24;

/// A row without cells: a time, two addresses or two names with an arrow between, a protocol and a length,
/// with other columns between them.
fn of_words(line: &str, times_before: usize) -> Option<Fields<'_>> {
    let words: Vec<&str> = line.split_whitespace().take(MOST_WORDS).collect();
    let (source, destination) = ends(&words)?;
    let time = time_of(&words[..source], times_before)?;
    let after = destination + 1..words.len();
    let protocol = after.clone().find(|&at| is_protocol(words[at]))?;
    let has_length = words.get(protocol + 1).is_some_and(|word| is_digits(word));
    let info = words.get(protocol + 1 + usize::from(has_length));
    let mut fields = Fields::default();
    fields.set(Role::Time, between(line, words[time.start], words[time.end - 1]));
    fields.set(Role::Source, words[source]);
    fields.set(Role::Destination, words[destination]);
    fields.set(Role::Protocol, words[protocol]);
    if has_length {
        fields.set(Role::Length, words[protocol + 1]);
    }
    if let Some(info) = info {
        fields.set(Role::Info, &line[at(line, info)..]);
    }
    Some(fields)
}

/// Where `word`, a part of `line`, is in it.
fn at(line: &str, word: &str) -> usize {
    word.as_ptr().addr() - line.as_ptr().addr()
}

fn between<'a>(line: &'a str, first: &str, last: &str) -> &'a str {
    &line[at(line, first)..at(line, last) + last.len()]
}

/// Which words are the two hosts.
fn ends(words: &[&str]) -> Option<(usize, usize)> {
    let is_addr = |at: &usize| words[*at].parse::<IpAddr>().is_ok();
    let mut addresses = (1..words.len()).filter(is_addr);
    let arrow = (2..words.len().saturating_sub(1)).find(|&at| is_arrow(words[at]));
    let named = arrow.map(|at| (at - 1, at + 1));
    let named = named.filter(|(from, to)| {
        !is_digits(words[*from]) && [from, to].into_iter().all(|at| is_name(words[*at]))
    });
    let by_addr = addresses.next().zip(addresses.next());
    by_addr.filter(|(from, to)| to - from <= 3).or(named).or_else(|| by_place(words))
}

/// Names without an arrow come after number and time.
fn by_place(words: &[&str]) -> Option<(usize, usize)> {
    let time = words.iter().take(4).rposition(|word| time::listed(word).is_some())?;
    let names = words.get(time + 1..time + 3)?;
    let has_protocol = is_protocol(words.get(time + 3)?) && is_digits(words.get(time + 4)?);
    (is_digits(words[0]) && names.iter().all(|name| is_name(name)) && has_protocol)
        .then_some((time + 1, time + 2))
}

/// The words of the time, where so many others come before; one with a date or of day is it anyway.
fn time_of(words: &[&str], before: usize) -> Option<std::ops::Range<usize>> {
    let is_date = |at: usize| words[at].len() == 10 && words[at].matches('-').count() == 2;
    let times = || (0..words.len()).filter(|&at| time::listed(words[at]).is_some());
    let of_day = times().find(|&at| words[at].contains(':'));
    let time = of_day.or_else(|| times().nth(before)).or_else(|| times().next())?;
    let begin = if time > 0 && is_date(time - 1) { time - 1 } else { time };
    Some(begin..time + 1)
}

fn is_name(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:".contains(&byte))
}

/// `→`, `->`, or what became of it on the way: no letters or digits of ASCII.
fn is_arrow(word: &str) -> bool {
    !word.is_ascii() && word.bytes().all(|byte| !byte.is_ascii_alphanumeric())
        || matches!(word, ">" | "->" | "=>" | "-->" | "?" | "???")
}

/// `TCP`, `TLSv1.2`, `HTTP/XML`: tcpdump's text has no such word in this place.
fn is_protocol(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_uppercase())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_/.".contains(&byte))
}
