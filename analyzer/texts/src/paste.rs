//! Marks that pasting, mailing, pages and logs add to lines are taken away.
//!
//! [`Paste`] puts lines together that quoted-printable or a table of HTML broke, [`decoded`] gives
//! their signs back, [`unquoted`] the lines within a string or Markdown, and [`Plain`] is one of
//! these without the marks before and behind it.

use std::borrow::Cow;
use std::mem;
use std::ops::RangeInclusive;

/// Tags of HTML, as issue trackers and blogs put them around lines: those that end a line or
/// begin one, those that end a cell, and others.
const LINES: [&str; 6] = ["br", "p", "div", "li", "tr", "pre"];
const CELLS: [&str; 2] = ["td", "th"];
const TAGS: [&str; 14] = [
    "span", "code", "b", "i", "em", "strong", "font", "tt", "a", "table", "tbody", "thead", "html",
    "body",
];
const ENTITIES: [(&str, char); 8] = [
    ("gt", '>'),
    ("lt", '<'),
    ("amp", '&'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", ' '),
    ("rarr", '→'),
    ("middot", '·'),
];
/// Longer ones are none.
const LONGEST_ENTITY: usize = 8;
/// Bytes of a tag with what it says, at most, and of its name.
const LONGEST_TAG: usize = 256;
const LONGEST_NAME: usize = 6;
/// Pages of pages escape signs so often.
const MOST_TIMES_ESCAPED: usize = 4;
/// A longer line is not put together.
const LONGEST: usize = 16 << 10;
/// The lines of quoted-printable that go on are so long: an escape is not broken (RFC 2045,
/// section 6.7).
const QUOTED: RangeInclusive<usize> = 73..=76;

/// The lines of a text that are not whole yet.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Paste {
    begun: Vec<u8>,
    /// Escapes of quoted-printable were seen.
    has_escapes: bool,
}

impl Paste {
    /// The line with those before that it ends; `None` while it goes on.
    pub fn whole<'a>(&mut self, line: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        let text = line.trim_ascii();
        let is_escaped = has_escapes(text);
        self.has_escapes |= is_escaped;
        let is_broken = text.ends_with(b"=")
            && (self.has_escapes
                || QUOTED.contains(&line.trim_ascii_end().len()) && !has_numbers(text));
        let is_in_row = || {
            let begins =
                |tag: &[u8]| text.get(..3).is_some_and(|word| word.eq_ignore_ascii_case(tag));
            let ends = text.windows(4).any(|word| word.eq_ignore_ascii_case(b"</tr"));
            (begins(b"<td") || begins(b"<th")) && !ends
        };
        let is_more = is_broken || is_in_row();
        if self.begun.is_empty() && !is_more {
            return Some(if is_escaped { Cow::Owned(bytes_of(line)) } else { Cow::Borrowed(line) });
        }
        let part = match is_more {
            true if is_broken => line.trim_ascii_end().strip_suffix(b"=").unwrap_or(line),
            true => text,
            false => line,
        };
        self.begun.extend(part);
        if is_more && self.begun.len() < LONGEST {
            return None;
        }
        self.end().map(Cow::Owned)
    }

    /// The line that goes on at the end of the text.
    pub fn end(&mut self) -> Option<Vec<u8>> {
        let begun = mem::take(&mut self.begun);
        (!begun.is_empty()).then(|| if has_escapes(&begun) { bytes_of(&begun) } else { begun })
    }
}

/// Has it escapes of quoted-printable that are no values of a row?
fn has_escapes(text: &[u8]) -> bool {
    let is_sure = |rest: &[u8]| matches!(rest.first_chunk(), Some(b"3D" | b"E2" | b"C2" | b"09"));
    match str::from_utf8(text) {
        Ok(text) => text.split('=').skip(1).any(|rest| is_sure(rest.as_bytes())),
        Err(_) => text.split(|byte| *byte == b'=').skip(1).any(is_sure),
    }
}

/// A row may break behind the name of a number, too.
fn has_numbers(line: &[u8]) -> bool {
    line.windows(4).any(|part| part == b"Seq=")
}

/// Escapes of quoted-printable, `=E2=86=92`, become their bytes.
fn bytes_of(mut rest: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(rest.len());
    while let Some((&byte, after)) = rest.split_first() {
        let hex = after.get(..2).filter(|hex| byte == b'=' && hex.iter().copied().all(is_hex));
        let hex = hex.and_then(|hex| u8::from_str_radix(str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(hex.unwrap_or(byte));
        rest = if hex.is_some() { &after[2..] } else { after };
    }
    bytes
}

fn is_hex(byte: u8) -> bool {
    byte.is_ascii_digit() || (b'A'..=b'F').contains(&byte)
}

/// The text of a line with its signs as they were printed: without HTML and colours, and with
/// blanks, quotes and wide letters of ASCII.
pub fn decoded(line: &[u8]) -> Cow<'_, str> {
    let mut text = characters(line);
    if text.contains('\u{1b}') {
        text = Cow::Owned(without_colours(&text));
    }
    for _ in 0..MOST_TIMES_ESCAPED {
        let Some(plain) = without_tags(&text) else { break };
        text = Cow::Owned(plain);
    }
    if !text.is_ascii() && text.chars().any(|sign| usual(sign) != Some(sign)) {
        text = Cow::Owned(text.chars().filter_map(usual).collect());
    }
    text
}

/// Bytes that are no UTF-8 are Windows' of the West.
fn characters(line: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = str::from_utf8(line) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(line.len());
    for chunk in line.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(match chunk.invalid() {
            [] => None,
            [0xa0] => Some(' '),
            [0x96 | 0x97] => Some('–'),
            _ => Some(char::REPLACEMENT_CHARACTER),
        });
    }
    Cow::Owned(text)
}

/// The sign that was printed; `None` for one that takes no room.
fn usual(sign: char) -> Option<char> {
    match sign {
        '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' => None,
        '\u{2028}' | '\u{2029}' => Some('\n'),
        '“' | '”' => Some('"'),
        '‘' | '’' => Some('\''),
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(sign) - 0xfee0),
        _ if sign.is_whitespace() && !sign.is_ascii() => Some(' '),
        _ => Some(sign),
    }
}

/// Without what tells a terminal colours: `ESC [ 1 ; 32 m`.
fn without_colours(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_end = |sign: char| ('@'..='~').contains(&sign);
        let rest = part.strip_prefix('[').and_then(|part| Some(&part[part.find(is_end)? + 1..]));
        plain.push_str(rest.unwrap_or(part));
    }
    plain
}

/// Tags go, or end their line or cell; entities become what they stand for. A string of a program
/// is left as it is, but for entities. `None` where there is nothing of it.
fn without_tags(text: &str) -> Option<String> {
    let (mut plain, mut copied, mut at, mut is_in_string) = (String::new(), 0, 0, false);
    let has_strings = text.contains('"');
    // These signs are ASCII, so that the text can be cut there.
    let next = |at: usize| text.as_bytes()[at..].iter().position(|sign| b"&<\"".contains(sign));
    while let Some(len) = next(at) {
        let from = &text[at + len + 1..];
        let found = match text.as_bytes()[at + len] {
            b'"' => {
                is_in_string ^= !text[at..at + len].ends_with('\\');
                None
            }
            b'<' if !is_in_string => tag(from),
            b'&' => entity(from),
            _ => None,
        };
        // Where strings begin with quotes, others are within.
        match found.filter(|(sign, _)| *sign != Some('"') || !has_strings) {
            Some((sign, after)) => {
                plain.push_str(&text[copied..at + len]);
                plain.extend(sign);
                at = text.len() - after.len();
                copied = at;
            }
            None => at += len + 1,
        }
    }
    (copied > 0).then(|| plain + &text[copied..])
}

/// Before and behind a sign that comes within so many bytes: a line of signs that begin something takes
/// linear time.
fn cut(text: &str, at: u8, most: usize) -> Option<(&str, &str)> {
    let end = text.bytes().take(most).position(|byte| byte == at)?;
    Some((&text[..end], &text[end + 1..]))
}

fn tag(from: &str) -> Option<(Option<char>, &str)> {
    let name = from.trim_start_matches('/');
    // Most that is no tag is longer than the names of these.
    let len = name.bytes().take(LONGEST_NAME + 1).position(|sign| b" />".contains(&sign))?;
    let name = &name[..len];
    let (inside, after) = cut(from, b'>', LONGEST_TAG)?;
    let is_of = |tags: &[&str]| tags.iter().any(|tag| tag.eq_ignore_ascii_case(name));
    match () {
        () if is_of(&LINES) => Some((Some('\n'), after)),
        () if is_of(&CELLS) => Some((inside.starts_with('/').then_some('\t'), after)),
        () if is_of(&TAGS) => Some((None, after)),
        () => None,
    }
}

fn entity(from: &str) -> Option<(Option<char>, &str)> {
    let (name, after) = cut(from, b';', LONGEST_ENTITY + 1)?;
    let by_number = |digits: &str| match digits.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    };
    let found = match name.strip_prefix('#') {
        Some(digits) => by_number(digits).and_then(char::from_u32),
        None => ENTITIES.iter().find(|(entity, _)| *entity == name).map(|(_, found)| *found),
    };
    found.map(|found| (Some(found), after))
}

/// Line ends, tabs and signs that a string of a program or Markdown escapes with `\`.
pub fn unquoted(text: Cow<'_, str>) -> Cow<'_, str> {
    if !text.contains('\\') {
        return text;
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some((before, from)) = rest.split_once('\\') {
        plain.push_str(before);
        let by_number = || {
            let sign = u32::from_str_radix(from.strip_prefix('u')?.get(..4)?, 16).ok()?;
            Some((char::from_u32(sign)?, 5))
        };
        let (sign, len) = match from.chars().next() {
            Some('n' | 'r') => ('\n', 1),
            Some('t') => ('\t', 1),
            Some(sign) if "\"'[]<>()_*`#|-.".contains(sign) => (sign, 1),
            _ => by_number().unwrap_or(('\\', 0)),
        };
        plain.push(sign);
        rest = &from[len..];
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// A line without its quote marks, indent and line end.
#[derive(Debug, Clone, Copy)]
pub struct Plain<'a> {
    pub text: &'a str,
    /// Marks of quoting (`>`) before it.
    pub quotes: usize,
    /// The blank before it.
    pub indent: Option<char>,
}

impl<'a> Plain<'a> {
    pub fn of(line: &'a str) -> Self {
        let is_added = |c: char| c.is_whitespace() || ">`\u{feff}".contains(c);
        let text = line.trim_start_matches(is_added);
        let quotes = line[..line.len() - text.len()].matches('>').count();
        let indent = line.chars().next().filter(|sign| [' ', '\t'].contains(sign));
        Self { text: text.trim_end(), quotes, indent }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines that were printed.
    fn plain(text: &str) -> Vec<String> {
        let mut paste = Paste::default();
        let mut found = Vec::new();
        for line in text.split_inclusive('\n') {
            let Some(whole) = paste.whole(line.as_bytes()) else { continue };
            let text = unquoted(decoded(&whole)).into_owned();
            let lines = text.split('\n').map(|line| Plain::of(line).text.to_owned());
            found.extend(lines.filter(|line| !line.is_empty()));
        }
        found
    }

    /// Were the end of each looked for in the whole line, this would take hours.
    #[test]
    fn a_long_line_of_signs_that_begin_something_is_soon_read() {
        for (sign, end) in [("<", ">"), ("&", ";")] {
            let line = sign.repeat(1 << 21) + end;
            assert_eq!(decoded(line.as_bytes()), line);
        }
    }

    #[test]
    fn what_pasting_html_and_mail_add_is_taken_away() {
        for (line, expected) in [
            ("> \t10.0.0.1 &gt; 10.0.0.2: x\r\n", "10.0.0.1 > 10.0.0.2: x"),
            ("<p>a<br/>", "a"),
            ("Flags <span class=\"e\">&#91;S&#x5D;</span>, <span>seq </span>1", "Flags [S], seq 1"),
            ("a\u{a0}&rarr;&nbsp;b &unknown; & <mss 1460>", "a → b &unknown; & <mss 1460>"),
            ("a &amp;amp;gt;&#160;b", "a > b"),
            ("1 =E2=86=92 2 Seq=3D10 Ack=3D1", "1 → 2 Seq=10 Ack=1"),
            ("Seq=10 Ack=20", "Seq=10 Ack=20"),
            ("\u{1b}[1;32m1 ＞\u{200b} 2\u{1b}[0m \u{1b}x", "1 > 2 x"),
            (r"1 \> 2: \[S\] \u003e \x", r"1 > 2: [S] > \x"),
        ] {
            assert_eq!(plain(line), [expected], "{line}");
        }
        assert_eq!(decoded(b"a\xa0b \xe2\x86 c"), "a b \u{fffd} c");
        assert_eq!(Plain::of("> > b").quotes, 2);
    }

    #[test]
    fn strings_hold_what_the_program_wrote() {
        for (line, expected) in [
            (r#"<b>write</b>(3, "<br>\"<p>&quot;", 9)"#, r#"write(3, "<br>\"<p>&quot;", 9)"#),
            ("5&lt;TCP:[a-&gt;b]&gt;, &quot;x&quot;", "5<TCP:[a->b]>, \"x\""),
        ] {
            assert_eq!(decoded(line.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn lines_that_pasting_broke_or_joined_are_as_they_were_printed() {
        for (text, expected) in [
            ("1 =3D 2, wi=\r\nn 5\r\n3\n", &["1 = 2, win 5", "3"][..]),
            ("<tr>\n<td>1</td>\n <TD>a</td>\n</tr>\nb", &["1\ta", "b"]),
            ("<tr><td>1</td><td>a</td></tr><p>b</p>", &["1\ta", "b"]),
            (r#"{"log":"a\nb\r\n"}"#, &["{\"log\":\"a", "b", "\"}"]),
            ("Len=1 Seq=\n2", &["Len=1 Seq=", "2"]),
        ] {
            assert_eq!(plain(text), expected, "{text}");
        }
    }
}
