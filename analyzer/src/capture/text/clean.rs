//! A line without what pasting added to it.

use std::borrow::Cow;

/// Tags of HTML, as issue trackers and blogs put them around packets.
const TAGS: [&str; 16] = [
    "span", "code", "br", "p", "pre", "div", "li", "td", "tr", "b", "i", "em", "strong", "font",
    "tt", "a",
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

/// The text of a line, without quote marks, indents, line ends of Windows and HTML.
pub fn bare(line: &[u8]) -> Cow<'_, str> {
    let is_html = line.contains(&b'&') || line.contains(&b'<');
    match String::from_utf8_lossy(line) {
        Cow::Borrowed(text) if !is_html && !line.contains(&0xc2) => Cow::Borrowed(trimmed(text)),
        text => {
            let text = without_tags(&text.replace('\u{a0}', " "));
            Cow::Owned(trimmed(&text).to_owned())
        }
    }
}

fn trimmed(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_whitespace() || ">`\u{feff}".contains(c)).trim_end()
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
    TAGS.iter().any(|tag| tag.eq_ignore_ascii_case(name)).then_some((None, after))
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
    fn what_pasting_and_html_add_is_taken_away() {
        for (line, expected) in [
            ("> \t10.0.0.1 &gt; 10.0.0.2: x\r\n", "10.0.0.1 > 10.0.0.2: x"),
            ("<p>a<br/>", "a"),
            ("Flags <span class=\"e\">&#91;S&#x5D;</span>, <span>seq </span>1", "Flags [S], seq 1"),
            ("a\u{a0}&rarr;&nbsp;b &unknown; & <mss 1460>", "a → b &unknown; & <mss 1460>"),
        ] {
            assert_eq!(bare(line.as_bytes()), expected, "{line}");
        }
        assert_eq!(bare(b"a \xe2\x86 b"), "a \u{fffd} b");
    }
}
