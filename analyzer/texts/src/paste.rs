//! A line without what pasting and mailing added to it.

use std::borrow::Cow;

/// Tags of HTML, as issue trackers and blogs put them around packets.
const TAGS: &str = "span code br p pre div li td tr b i em strong font tt a";
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

/// The text of a line.
#[derive(Debug)]
pub struct Plain<'a> {
    pub text: Cow<'a, str>,
    /// Marks of quoting (`>`) before it.
    pub quotes: usize,
    /// Escapes of quoted-printable were in it.
    pub has_escapes: bool,
    /// The blank before it.
    pub indent: Option<char>,
}

impl<'a> Plain<'a> {
    /// Without quote marks, indents, line ends of Windows, HTML, and escapes of quoted-printable.
    pub fn of(line: &'a [u8]) -> Self {
        let indent =
            line.first().filter(|byte| b" \t".contains(byte)).map(|byte| char::from(*byte));
        let is_html = line.contains(&b'&') || line.contains(&b'<');
        let is_escaped = line.contains(&b'=')
            && line.windows(3).any(|part| matches!(part, b"=3D" | b"=E2" | b"=C2" | b"=09"));
        let has_line_ends = line.contains(&b'\\') && line.windows(2).any(|part| part == b"\\n");
        let is_plain = !is_html && !is_escaped && !has_line_ends && !line.contains(&0xc2);
        let (text, quotes) = match String::from_utf8_lossy(line) {
            Cow::Borrowed(text) if is_plain => {
                let (text, quotes) = trimmed(text);
                (Cow::Borrowed(text), quotes)
            }
            text => {
                let text = if is_escaped { unescaped(&text) } else { text.into_owned() };
                // Strings of programs have line ends of letters.
                let text = text.replace('\u{a0}', " ").replace("\\n", " ");
                let mut text = without_tags(&text);
                if text.contains("&gt;") {
                    // Escaped twice.
                    text = without_tags(&text);
                }
                let (text, quotes) = trimmed(&text);
                (Cow::Owned(text.to_owned()), quotes)
            }
        };
        Self { text, quotes, has_escapes: is_escaped, indent }
    }
}

fn trimmed(text: &str) -> (&str, usize) {
    let is_added = |c: char| c.is_whitespace() || ">`\u{feff}".contains(c);
    let inner = text.trim_start_matches(is_added);
    let before = &text[..text.len() - inner.len()];
    (inner.trim_end(), before.matches('>').count())
}

/// Escapes of quoted-printable, `=E2=86=92`, become their bytes (RFC 2045, section 6.7).
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex = after.get(..2).filter(|hex| byte == b'=' && hex.iter().copied().all(is_hex));
        let hex = hex.and_then(|hex| u8::from_str_radix(str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(hex.unwrap_or(byte));
        rest = if hex.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn is_hex(byte: u8) -> bool {
    byte.is_ascii_digit() || (b'A'..=b'F').contains(&byte)
}

/// Tags go, entities become what they stand for.
fn without_tags(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['&', '<']) {
        let (before, from) = rest.split_at(at);
        plain.push_str(before);
        let (replaced, after) =
            tag(from).or_else(|| entity(from)).unwrap_or_else(|| (from.chars().next(), &from[1..]));
        plain.extend(replaced);
        rest = after;
    }
    plain.push_str(rest);
    plain
}

fn tag(from: &str) -> Option<(Option<char>, &str)> {
    let (inside, after) = from.strip_prefix('<')?.split_once('>')?;
    let name = inside.trim_start_matches('/').split([' ', '/']).next()?;
    TAGS.split(' ').any(|tag| tag.eq_ignore_ascii_case(name)).then_some((None, after))
}

fn entity(from: &str) -> Option<(Option<char>, &str)> {
    let (name, after) = from.strip_prefix('&')?.split_once(';')?;
    let by_number = |digits: &str| match digits.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    };
    let found = match name.strip_prefix('#') {
        _ if name.len() > LONGEST_ENTITY => None,
        Some(digits) => by_number(digits).and_then(char::from_u32),
        None => ENTITIES.iter().find(|(entity, _)| *entity == name).map(|(_, found)| *found),
    };
    found.map(|found| (Some(found), after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pasting_html_and_mail_add_is_taken_away() {
        for (line, expected) in [
            ("> \t10.0.0.1 &gt; 10.0.0.2: x\r\n", "10.0.0.1 > 10.0.0.2: x"),
            ("<p>a<br/>", "a"),
            ("Flags <span class=\"e\">&#91;S&#x5D;</span>, <span>seq </span>1", "Flags [S], seq 1"),
            ("a\u{a0}&rarr;&nbsp;b &unknown; & <mss 1460>", "a → b &unknown; & <mss 1460>"),
            ("1 =E2=86=92 2 Seq=3D10 Ack=3D1=", "1 → 2 Seq=10 Ack=1="),
            ("Seq=10 Ack=20", "Seq=10 Ack=20"),
        ] {
            assert_eq!(Plain::of(line.as_bytes()).text, expected, "{line}");
        }
        assert_eq!(Plain::of(b"a \xe2\x86 b").text, "a \u{fffd} b");
        assert_eq!(Plain::of(b"> > b").quotes, 2);
    }
}
