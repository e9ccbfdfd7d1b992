//! Words of a printed line, by their letters: numbers, names, arrows and protocols.

pub fn is_digits(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

pub fn is_name(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:".contains(&byte))
}

/// `→`, `->`, or what became of it on the way: no letters or digits of ASCII.
pub fn is_arrow(word: &str) -> bool {
    !word.is_ascii() && word.bytes().all(|byte| !byte.is_ascii_alphanumeric())
        || matches!(word, ">" | "->" | "=>" | "-->" | "?" | "???")
}

/// `TCP`, `TLSv1.2`, `HTTP/XML`: tcpdump's text has no such word in this place.
pub fn is_protocol(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_uppercase())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_/.".contains(&byte))
}

/// Where `word`, a part of `line`, is in it.
pub fn at(line: &str, word: &str) -> usize {
    word.as_ptr().addr() - line.as_ptr().addr()
}
