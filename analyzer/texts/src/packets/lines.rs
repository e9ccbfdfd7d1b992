//! The lines of a text, put together to packets after mail programs, pagers and forms.
//!
//! Each line is more of the packet before or begins one. A packet that is not complete takes the
//! lines that follow (`-v` prints two, mail breaks lines), a row takes options behind it:
//!
//! ```text
//!   1   0.000000    192.0.2.1 -> 192.0.2.2    TCP 166 40000 > 80 [SYN]
//! Seq=0 Win=64240 Len=0 MSS=1460
//! SACK_PERM=1 WS=128
//! ```
//!
//! A line of several packets that lost their line ends is taken apart where the next time begins.

use super::forms::Forms;
use super::packet::{Outcome, PrintedPacket, Run, Stamped};
use super::runs::Runs;
use super::{record, rows, tcpdump, tokens};
use crate::paste::{Paste, Plain, decoded, unquoted};
use crate::{Source, times};
use std::collections::VecDeque;
use std::net::IpAddr;
use std::{io, mem};

/// A longer line is read as several.
const LONGEST: usize = 16 << 10;
/// No packet takes more.
const LONGEST_PACKET: usize = 8 << 10;
/// A packet of `-v` takes two lines, each of which mail programs break at 72 characters.
const MOST_LINES: usize = 8;

/// The length of the next line with its end, also that of old Macs (`\r`); 0 at the end of the
/// text.
///
/// # Errors
/// The read failed.
pub fn next_len(source: &mut impl Source) -> io::Result<usize> {
    let (mut seen, mut wanted) = (0, 1);
    loop {
        let available = source.at_least(wanted)?;
        let len = available.len().min(LONGEST);
        let is_all = available.len() < wanted;
        let is_end = |byte: &u8| [b'\r', b'\n'].contains(byte);
        if let Some(at) = available[seen..len].iter().position(is_end) {
            let rest = &available[seen + at..len];
            let returns = rest.iter().take_while(|byte| **byte == b'\r').count();
            let end = seen + at + returns;
            match rest.get(returns) {
                // The line feed may come with the next read.
                None if end < LONGEST && !is_all => wanted = end + 1,
                Some(b'\n') => return Ok(end + 1),
                _ => return Ok(end),
            }
        } else if len == LONGEST {
            // Not within a tag or an escape.
            let at = available[..len].iter().rposition(|byte| b"<\\".contains(byte));
            return Ok(at.filter(|at| *at > LONGEST / 2).unwrap_or(len));
        } else if is_all {
            return Ok(len);
        } else {
            (seen, wanted) = (len, len + 1);
        }
    }
}

/// Does the line begin a packet, or more of one?
fn begins(text: &str) -> bool {
    tcpdump::begins(text) || rows::begins(text) || record::begins(text)
}

/// The signs of a line without its end.
fn width(line: &[u8]) -> usize {
    String::from_utf8_lossy(line).trim_end_matches(['\r', '\n']).chars().count()
}

/// The width at which a terminal broke these lines, within words: few are a little shorter.
pub fn broken_at<'a>(lines: impl Iterator<Item = &'a [u8]> + Clone) -> usize {
    /// Word by word, lines end so far before it.
    const NEAR: usize = 15;
    let widths = lines.map(width);
    let most = widths.clone().max().unwrap_or(0);
    let full = widths.clone().filter(|width| *width == most).count();
    let near = widths.filter(|width| (most.saturating_sub(NEAR)..most).contains(width)).count();
    if full > 1 && near * 2 <= full { most } else { 0 }
}

/// Puts the lines of one packet together.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Joiner {
    pub forms: Forms,
    /// The line that began the last packet, with those that went on.
    begun: String,
    lines: usize,
    /// Marks of quoting before it.
    quotes: usize,
    /// The outcome of reading `begun`.
    outcome: Outcome,
    /// No line goes on: an empty one came.
    is_closed: bool,
    /// The line before was one of a packet.
    is_behind_packet: bool,
    /// The next line goes on within a word.
    is_within_word: bool,
    /// The width at which a terminal broke lines, and whether it broke the last one within a word.
    width: usize,
    is_at_width: bool,
    paste: Paste,
    /// Packets that are complete, each with its run.
    complete: VecDeque<(Run, Stamped)>,
    pub runs: Runs,
    /// The run of the last packet.
    run: Run,
    /// Lines that belong to no packet.
    pub foreign: u64,
    /// Marks that rows were left out.
    pub elisions: u64,
}

impl Joiner {
    /// For lines that a terminal broke at this width, which is 0 if none did.
    pub fn new(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    /// Takes the next line; `other` gets what holds nothing of a packet.
    pub fn take(&mut self, line: &[u8], mut other: impl FnMut(&str)) {
        let Some(whole) = self.paste.whole(line) else { return };
        let has_end = line.len() <= LONGEST / 2 || line.ends_with(b"\n");
        self.take_whole(&whole, has_end, &mut other);
    }

    fn take_whole(&mut self, line: &[u8], has_end: bool, other: &mut impl FnMut(&str)) {
        let text = unquoted(decoded(line));
        let is_behind_width = mem::take(&mut self.is_at_width) && !line.starts_with(b" ");
        self.is_within_word |= is_behind_width && self.lines > 0 && !begins(&text);
        self.is_at_width = self.width > 0 && width(line) == self.width && !line.ends_with(b" ");
        let mut lines = text.split('\n').peekable();
        while let Some(line) = lines.next() {
            let plain = Plain::of(line);
            let is_last = lines.peek().is_none();
            if !plain.text.is_empty() {
                self.take_plain(&plain, has_end || !is_last, other);
            } else if !is_last {
                self.end_word();
            } else {
                self.is_closed |= text.trim().is_empty();
            }
        }
    }

    fn take_plain(&mut self, plain: &Plain<'_>, has_end: bool, other: &mut impl FnMut(&str)) {
        let mut rest = plain.text;
        loop {
            let at = next_packet(rest, self.is_within_word);
            let part = rest[..at.unwrap_or(rest.len())].trim_end();
            let has_end = has_end || at.is_some();
            if self.goes_on(part) {
                self.append(part, plain, has_end);
            } else if self.begin(part, plain) {
                self.is_within_word = !has_end;
            } else {
                self.is_within_word = false;
                other(part);
            }
            let Some(at) = at else { return };
            rest = &rest[at..];
        }
    }

    /// The next packet that is complete, and its run.
    pub fn next(&mut self) -> Option<(Run, Stamped)> {
        self.complete.pop_front()
    }

    /// No more lines come.
    pub fn end(&mut self) {
        if let Some(line) = self.paste.end() {
            self.take_whole(&line, true, &mut |_| {});
        }
        self.close();
    }

    fn close(&mut self) {
        self.flush();
        let ended = self.forms.record.end(&mut self.forms.names);
        self.complete.extend(ended.map(|packet| (self.run, packet)));
    }

    fn flush(&mut self) {
        let ended = mem::take(&mut self.outcome).ended();
        self.complete.extend(ended.map(|packet| (self.run, packet)));
        self.lines = 0;
    }

    /// Takes a line that begins something new; `false` if it holds nothing of a packet.
    fn begin(&mut self, text: &str, plain: &Plain<'_>) -> bool {
        if record::begins(text) {
            let number = record::number(text);
            // The row of the same packet stands before its details.
            let is_of_row = number.is_some() && number == rows::number(&self.begun);
            let row = if is_of_row { mem::take(&mut self.outcome).ended() } else { None };
            self.close();
            self.run = self.runs.of_next();
            self.forms.record.begin(text, row);
            return true;
        }
        if self.forms.record.take(text) {
            return true;
        }
        let outcome = self.forms.read(text);
        match &outcome {
            Outcome::Nothing => {
                // A payload that is printed (`-A`) may have dots alone.
                let is_elision = mem::take(&mut self.is_behind_packet) && is_elision(text);
                self.elisions += u64::from(is_elision);
                // By its indent it is more of the packet before; what has no words frames the text.
                let is_foreign = plain.indent.is_none() && text.contains(char::is_alphanumeric);
                self.foreign += u64::from(is_foreign && !is_elision);
                self.is_closed = true;
                self.runs.see(text);
                return is_elision;
            }
            Outcome::Packet(_) | Outcome::More(Some(_)) => self.close(),
            Outcome::More(None) | Outcome::Heading => self.flush(),
        }
        if outcome.is_packet() {
            self.run = self.runs.of_next();
        }
        self.begun.clear();
        self.begun.push_str(text);
        (self.lines, self.quotes, self.is_closed, self.outcome) = (1, plain.quotes, false, outcome);
        self.is_behind_packet = true;
        true
    }

    /// Is the line more of the packet before?
    fn goes_on(&self, text: &str) -> bool {
        let has_room = self.lines < MOST_LINES && self.begun.len() + text.len() <= LONGEST_PACKET;
        let is_more = || match self.outcome {
            Outcome::Packet(_) | Outcome::More(_) if self.is_within_word => true,
            Outcome::More(_) => !begins(text) || tcpdump::is_rest(text),
            Outcome::Packet((_, PrintedPacket::Tcp(..))) => {
                !self.is_closed && rows::are_options(text)
            }
            Outcome::Heading => rows::are_names(text),
            _ => false,
        };
        has_room && is_more() && !is_elision(text)
    }

    fn append(&mut self, text: &str, plain: &Plain<'_>, has_end: bool) {
        if mem::take(&mut self.is_within_word) {
            self.begun.extend(plain.indent);
        } else if !self.begun.ends_with('=') {
            self.begun.push(' ');
            if plain.quotes > self.quotes && !self.begun.contains(" > ") {
                // It is the arrow.
                self.begun.push_str("> ");
            }
        }
        self.begun.push_str(text);
        self.lines += 1;
        self.is_within_word = true;
        if has_end {
            self.end_word();
        }
    }

    /// The word in which a line went on has ended.
    fn end_word(&mut self) {
        if mem::take(&mut self.is_within_word) {
            self.outcome = self.forms.read(&self.begun);
        }
    }
}

/// `[...]`, `...`, `<snip>`, `(4 more)` or `non relevant packets removed`, where people left rows
/// out.
fn is_elision(line: &str) -> bool {
    /// Longer ones are sentences.
    const LONGEST: usize = 30;
    const WORDS: [&str; 8] =
        ["snip", "snipped", "omitted", "truncated", "elided", "removed", "skipped", "deleted"];
    const ROWS: [&str; 6] = ["packet", "packets", "row", "rows", "line", "lines"];
    let inner = line.trim_matches(|c: char| "[]()<>{}-=*#|8 \t".contains(c));
    let (first, rest) = inner.split_once(' ').unwrap_or((inner, ""));
    let words = || inner.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let is_of =
        |known: &[&str]| words().any(|word| known.iter().any(|one| word.eq_ignore_ascii_case(one)));
    let is_dots = first.len() > 2 && first.chars().all(|c| ".…".contains(c));
    let is_count = || {
        words().count() < 4
            && words().any(|word| word.eq_ignore_ascii_case("more"))
            && (is_of(&ROWS) || words().any(tokens::is_digits))
    };
    is_dots && rest.chars().all(|c| c.is_ascii_alphanumeric() || " ()[],".contains(c))
        || inner.len() < LONGEST
            && (is_of(&WORDS) || is_count() || ["cut", "cut here"].contains(&inner))
        || words().count() < 9 && is_of(&WORDS) && is_of(&ROWS)
}

/// Where in a line its second packet begins, or the next one, if the line goes on within a packet.
fn next_packet(line: &str, is_within: bool) -> Option<usize> {
    let is_several = |mark: &str| line.match_indices(mark).nth(1).is_some();
    if line.starts_with('"') {
        // Rows of cells.
        let mut ends = line.match_indices("\" \"");
        let next = ends.find(|(at, _)| line[at + 3..].starts_with(|c: char| c.is_ascii_digit()));
        return next.map(|(at, _)| at + 2);
    }
    if !is_several(" IP") && !is_several(" Seq=") && !is_within {
        return None;
    }
    let (mut before, mut is_in_packet) = ([""; 2], is_within);
    let mut words = line.split(' ').filter(|word| !word.is_empty()).peekable();
    while let Some(word) = words.next() {
        is_in_packet |= matches!(word, "win" | "length") || tokens::is_arrow(word);
        let next = words.peek().copied().unwrap_or_default();
        if times::is_whole(word) && is_in_packet && is_head(next) {
            // A row begins with its number, and a date may stand before the time.
            let is_row = next.parse::<IpAddr>().is_ok();
            let begin = match before {
                [number, date] if times::is_date(date) && is_row && tokens::is_digits(number) => {
                    number
                }
                [_, date] if times::is_date(date) => date,
                [_, number] if is_row && tokens::is_digits(number) => number,
                _ => word,
            };
            return Some(tokens::at(line, begin));
        }
        before = [before[1], word];
    }
    None
}

/// Does it follow a time?
fn is_head(word: &str) -> bool {
    let is_mac = word.len() == 17 && word.bytes().filter(|byte| *byte == b':').count() == 5;
    is_mac || matches!(word, "IP" | "IP6" | "ARP,") || word.parse::<IpAddr>().is_ok()
}
