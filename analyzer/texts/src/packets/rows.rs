//! Rows of lists: which columns they have, from a heading or from the addresses in a row.
//!
//! `3  0.040000  10.0.0.1 → 10.0.0.2  TCP  166  4000 → 80 [PSH, ACK] Seq=1 Ack=1 Win=502 Len=100`:
//! what stands before the protocol are time and hosts, whatever they are called, and other columns;
//! what stands behind its length are ports, flags and numbers.

use super::fields::{Role, RowFields, role};
use super::packet::Outcome;
use super::tokens::{at, is_arrow, is_digits, is_name, is_protocol};
use crate::ends::EndNames;
use crate::times;
use std::net::IpAddr;
use std::ops::Range;

/// The columns of a list, as its heading names them.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub enum Columns {
    #[default]
    Unnamed,
    /// Words, of which so many times come before the time.
    Words(usize),
    Cells(char, Vec<Option<Role>>),
    /// The heading goes on in the next line.
    Cut,
}

/// Columns that say how the packets of a list are sent.
const NEEDED: [(Role, &str); 6] = [
    (Role::Time, "frame.time_epoch"),
    (Role::SourcePort, "tcp.srcport"),
    (Role::DestinationPort, "tcp.dstport"),
    (Role::Seq, "tcp.seq"),
    (Role::Ack, "tcp.ack"),
    (Role::Len, "tcp.len"),
];

impl Columns {
    /// The fields that a heading lacks, if there was one of a list that needs them.
    pub fn missing(&self) -> Vec<&'static str> {
        match self {
            Self::Cells(_, roles) if !roles.contains(&Some(Role::Info)) => {
                missing(|role| roles.contains(&Some(role)))
            }
            _ => Vec::new(),
        }
    }
}

/// The fields that a list lacks which has these roles.
pub fn missing(has: impl Fn(Role) -> bool) -> Vec<&'static str> {
    NEEDED.iter().filter(|(role, _)| !has(*role)).map(|(_, name)| *name).collect()
}

/// Do these cells form a row, although no heading named the columns?
pub fn is_without_heading(line: &str) -> bool {
    let are_fields = |separator: char| {
        let cells = || line.split(separator);
        let addresses = cells().filter(|cell| cell.parse::<IpAddr>().is_ok()).count();
        addresses >= 2 && cells().filter(|cell| is_digits(cell)).count() >= 4
    };
    ['\t', ',', ';', '|'].into_iter().any(are_fields)
}

/// Does the line begin a row? It begins with a time, a number and a time, or a quote.
pub fn begins(line: &str) -> bool {
    let is_end = |c: char| c.is_whitespace() || "\";,|".contains(c);
    let mut words = line.split(is_end).filter(|word| !word.is_empty()).take(4);
    let is_time = |word: &str| times::listed(word).is_some();
    line.starts_with('"')
        || words
            .next()
            .is_some_and(|first| is_time(first) || is_digits(first) && words.any(is_time))
}

/// The number of the packet in a row.
pub fn number(line: &str) -> Option<u32> {
    line.split_whitespace().next()?.parse().ok()
}

/// Are these options that were broken off a row?
pub fn are_options(line: &str) -> bool {
    let first = line.split([' ', '\t']).next().unwrap_or_default();
    let is_named = first.split_once('=').is_some_and(|(name, _)| role(name).is_some());
    is_named
        || first.starts_with("SACK_PERM")
        || first == "(DF)"
        || ["<mss ", "<nop", "<sack", "<timestamp ", "<wscale "]
            .iter()
            .any(|option| line.starts_with(option))
}

/// Are these more names of fields, that were broken off a heading?
pub fn are_names(line: &str) -> bool {
    let mut names = line.split([' ', '\t', ',', ';']).filter(|name| !name.is_empty());
    names.all(|name| {
        ["frame.", "ip.", "ipv6.", "tcp.", "eth."].iter().any(|of| name.starts_with(of))
    })
}

/// The role of a column, maybe after a prefix of all lines.
fn column(name: &str) -> Option<Role> {
    role(name).or_else(|| role(name.rsplit(' ').next().filter(|word| word.contains('.'))?))
}

/// The columns that a line names.
pub fn heading(line: &str) -> Option<Columns> {
    // Hardly any other line says so.
    ["ource", "src", "Src"].iter().any(|name| line.contains(name)).then_some(())?;
    let has = |roles: &[Option<Role>], wanted: &[Role]| {
        wanted.iter().all(|role| roles.contains(&Some(*role)))
    };
    let knows = |roles: &[Option<Role>]| {
        has(roles, &[Role::Source, Role::Destination])
            && (has(roles, &[Role::Info]) || has(roles, &[Role::SourcePort]))
    };
    // Jira begins and ends the cells of a heading twice.
    let line = &line.replace("||", "|");
    for separator in ['\t', ',', ';', '|', ' '] {
        let roles: Vec<_> = cells(line, separator).map(column).collect();
        if knows(&roles) && (separator != ' ' || has(&roles, &[Role::SourcePort])) {
            return Some(Columns::Cells(separator, roles));
        }
    }
    let roles: Vec<_> = line.split([' ', '\t', ',', ';']).map(role).collect();
    if !knows(&roles) {
        return (has(&roles, &[Role::Time, Role::Source])).then_some(Columns::Cut);
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
        // Blanks are as many as it takes to align columns.
        let text = if separator == ' ' { rest?.trim_start() } else { rest? };
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

/// The fields of a row with cells; `None` where it has no hosts.
pub fn of_cells<'a>(
    line: &'a str,
    separator: char,
    roles: &[Option<Role>],
) -> Option<RowFields<'a>> {
    // An empty cell moves all behind it, if blanks stand for tabs.
    let has_moved = separator == ' ' && {
        let last =
            roles.iter().rposition(|role| NEEDED.iter().any(|(needed, _)| *role == Some(*needed)));
        !(last? + 1..=roles.len()).contains(&cells(line, separator).count())
    };
    if has_moved {
        return None;
    }
    let mut fields = RowFields::default();
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

/// A row without a heading of cells: time, hosts, protocol, length, and other columns between them.
pub fn of_words(line: &str, times_before: usize, names: &mut EndNames) -> Outcome {
    if let Some(separator) =
        ["\",\"", "\";\"", "','"].into_iter().find(|cells| line.contains(cells))
    {
        let unquoted = line.replace(&separator[1..], " ").replace(['"', '\''], " ");
        return of_words(&unquoted, times_before, names);
    }
    let words: Vec<&str> = line.split_whitespace().take(MOST_WORDS).collect();
    if let Some(fields) = row(line, &words, times_before) {
        return fields.outcome(names);
    }
    // A row that was broken off before the protocol.
    let is_short = words.len() < 8 && words.last().is_some_and(|last| is_address(last));
    match is_short && is_digits(words[0]) && begins(line) {
        true => Outcome::More(None),
        false => Outcome::Nothing,
    }
}

fn row<'a>(line: &'a str, words: &[&'a str], times_before: usize) -> Option<RowFields<'a>> {
    let (source, destination) = ends(words)?;
    let time = time_of(words, prefix_of(words)..source, times_before)?;
    let after = destination + 1..words.len();
    let protocol = after.clone().find(|&at| is_protocol(words[at]))?;
    // Without a length, the port stands there.
    let has_length = words.get(protocol + 1).is_some_and(|word| is_digits(word))
        && !words.get(protocol + 2).is_some_and(|word| is_arrow(word));
    let info = words.get(protocol + 1 + usize::from(has_length));
    let mut fields = RowFields::default();
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

fn between<'a>(line: &'a str, first: &str, last: &str) -> &'a str {
    &line[at(line, first)..at(line, last) + last.len()]
}

fn is_address(word: &str) -> bool {
    word.parse::<IpAddr>().is_ok() || is_arrow(word)
}

/// Which words are the two hosts: addresses, names in their place, or names with an arrow between.
fn ends(words: &[&str]) -> Option<(usize, usize)> {
    let is_addr = |at: &usize| words[*at].parse::<IpAddr>().is_ok();
    let mut addresses = (1..words.len()).filter(is_addr);
    let by_addr = addresses.next().zip(addresses.next()).filter(|(from, to)| to - from <= 3);
    by_addr.or_else(|| by_place(words)).or_else(|| by_arrow(words))
}

/// Names without an arrow come after number and time.
fn by_place(words: &[&str]) -> Option<(usize, usize)> {
    let time = words.iter().take(8).rposition(|word| times::listed(word).is_some())?;
    let names = words.get(time + 1..time + 3)?;
    let has_protocol = is_protocol(words.get(time + 3)?) && is_digits(words.get(time + 4)?);
    let has_number = is_digits(words[0]) || time > 0 && is_digits(words[time - 1]);
    (has_number && names.iter().all(|name| is_name(name)) && has_protocol)
        .then_some((time + 1, time + 2))
}

/// The arrow between ports comes after the protocol.
fn by_arrow(words: &[&str]) -> Option<(usize, usize)> {
    let arrow = (2..words.len().saturating_sub(1)).find(|&at| is_arrow(words[at]))?;
    let (from, to) = (arrow - 1, arrow + 1);
    let is_followed = || is_protocol(words.get(to + 1).unwrap_or(&""));
    let are_hosts =
        [from, to].iter().all(|&at| is_name(words[at]) && (!is_digits(words[at]) || is_followed()));
    (are_hosts && !words[..from].iter().any(|word| is_protocol(word))).then_some((from, to))
}

/// The words that a log put before a row: `2026-11-26T09:00:00.044020123Z`.
fn prefix_of(words: &[&str]) -> usize {
    let is_time = |at: usize| words.get(at).is_some_and(|word| times::listed(word).is_some());
    let is_log = words[0].contains('T') && is_time(0) && words.len() > 1 && is_digits(words[1]);
    usize::from(is_log && is_time(2))
}

/// The words of the time, where so many others come before; one with a date or of day is it anyway.
fn time_of(words: &[&str], of: Range<usize>, before: usize) -> Option<Range<usize>> {
    let is_date = |at: usize| words[at].len() == 10 && words[at].matches('-').count() == 2;
    let times = || of.clone().filter(|&at| times::listed(words[at]).is_some());
    let of_day = times().find(|&at| words[at].contains(':'));
    let time = of_day.or_else(|| times().nth(before)).or_else(|| times().next())?;
    let begin = if time > 0 && is_date(time - 1) { time - 1 } else { time };
    Some(begin..time + 1)
}
