//! One line of strace's output: which thread, when, which call, its arguments and its result.
//!
//! The prefix of a call is read from its right end, because its left end may be anything: a mail's
//! `> `, a journal's date. `[pid 7] 10:00:00.5 (+ 0.1) write(3<TCP:[..]>, "..", 5) = 5 <0.01>`.

use crate::capture::times::{SECOND_NS, decimals_ns};

/// Characters of a call that are kept.
pub const LONGEST_TEXT: usize = 1000;

/// Clocks that strace stamps lines with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceClock {
    /// `-ttt`: since the epoch.
    Unix,
    /// `-t`, `-tt`: of the day, in an unknown zone.
    Day,
    /// `-r`: since the line before.
    Relative,
    /// truss's `-d`: since it began.
    Elapsed,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line<'a> {
    pub pid: Option<u32>,
    pub time: Option<(TraceClock, i64)>,
    pub what: What<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum What<'a> {
    /// Its name, and all that follows the parenthesis.
    Call(&'a str, &'a str),
    /// The text behind `<... write resumed>`.
    Resumed(&'a str),
    /// A line of a stack: the file, the function in parentheses, and the text behind the address.
    Frame {
        binary: &'a str,
        function: &'a str,
        address: u64,
        source: &'a str,
    },
    Exited,
    /// Nothing of strace's, or the rest of a call after its program wrote into the line.
    Other(&'a str),
}

impl<'a> Line<'a> {
    pub fn of(text: &'a str) -> Self {
        // Marks come before all arguments.
        let len = text.bytes().position(|sign| b"(\"".contains(&sign)).unwrap_or(text.len());
        let mark = |mark: &str| {
            let at = text[..len].find(mark)?;
            Some((&text[..at], &text[at + mark.len()..]))
        };
        if let Some(what) = mark("> ").and_then(|(_, rest)| frame(rest)) {
            return Self { pid: None, time: None, what };
        }
        let (head, what) = if let Some((head, rest)) = mark("<... ") {
            (
                head,
                rest.split_once("resumed>")
                    .map_or(What::Other(text), |(_, rest)| What::Resumed(rest)),
            )
        } else if let Some((head, rest)) = mark("+++ ") {
            let ends = rest.starts_with("exited") || rest.starts_with("killed");
            (head, if ends { What::Exited } else { What::Other(text) })
        } else {
            match called(text) {
                Some((begin, end)) => {
                    (&text[..begin], What::Call(&text[begin..end], &text[end + 1..]))
                }
                None => ("", What::Other(text)),
            }
        };
        let (pid, time) = stamps(head);
        Self { pid, time, what }
    }
}

/// Where the name of the call begins and ends.
fn called(text: &str) -> Option<(usize, usize)> {
    let is_of_name =
        |sign: &u8| sign.is_ascii_lowercase() || sign.is_ascii_digit() || *sign == b'_';
    for (end, _) in text.match_indices('(').take(4) {
        let len = text.as_bytes()[..end].iter().rev().take_while(|sign| is_of_name(sign)).count();
        let begin = end - len;
        let is_apart = begin == 0 || !text.as_bytes()[begin - 1].is_ascii_alphanumeric();
        if len > 1 && is_apart && text.as_bytes()[begin].is_ascii_lowercase() {
            return Some((begin, end));
        }
    }
    None
}

/// The thread and the time that stand before a call.
fn stamps(head: &str) -> (Option<u32>, Option<(TraceClock, i64)>) {
    let head = head.rsplit_once("(+").map_or(head, |(before, _)| before);
    // truss puts a colon behind the process.
    if let Some((pid, elapsed)) = head.split_once(": ")
        && let Ok(pid) = pid.trim().parse()
    {
        let time = time_of(elapsed.trim());
        return (Some(pid), time.map(|(_, ns)| (TraceClock::Elapsed, ns)));
    }
    // Whole seconds are no clock.
    let is_coarse = |token: &&str| token.contains(':') && !token.contains('.');
    let mut tokens = head.split_ascii_whitespace().rev().filter(|token| !is_coarse(token));
    let (mut pid, mut time) = (None, None);
    for token in tokens.by_ref().take(2) {
        match time_of(token) {
            Some(found) if time.is_none() => time = Some(found),
            _ => {
                // `[pid 7]`, `7`, `7<name>`
                let digits = token.trim_end_matches(']').split('<').next().unwrap_or_default();
                pid = digits.parse().ok();
                break;
            }
        }
    }
    (pid, time)
}

fn time_of(token: &str) -> Option<(TraceClock, i64)> {
    let (whole, part) = token.split_once('.').unwrap_or((token, ""));
    let part_ns = decimals_ns(part)?;
    let number = |field: &str| {
        let is_number = field.len() <= 10 && field.bytes().all(|sign| sign.is_ascii_digit());
        field.parse::<i64>().ok().filter(|_| is_number)
    };
    let fields: Vec<i64> = whole.split(':').map(number).collect::<Option<_>>()?;
    let (clock, seconds) = match *fields {
        [hours, minutes, seconds] => {
            (TraceClock::Day, hours % 24 * 3600 + minutes % 60 * 60 + seconds % 61)
        }
        [_] if part.is_empty() => return None,
        [seconds] if seconds < 100_000_000 => (TraceClock::Relative, seconds),
        [seconds] => (TraceClock::Unix, seconds),
        _ => return None,
    };
    Some((clock, seconds.checked_mul(SECOND_NS)?.checked_add(part_ns)?))
}

/// ` > /usr/lib/libc.so.6(send+0x1d) [0x10a3d] file.c:12`, of a mail too.
fn frame(rest: &str) -> Option<What<'_>> {
    let (before, source) = rest.rsplit_once(" [0x")?;
    let (address, source) = source.split_once(']')?;
    let address = u64::from_str_radix(address, 16).ok()?;
    let (binary, function) = before.split_once('(').unwrap_or((before, ""));
    let binary = binary.trim_start_matches([' ', '>']);
    let function = function.strip_suffix(')').unwrap_or(function);
    let function = function.rsplit_once("+0x").map_or("", |(name, _)| name);
    let source = source.trim();
    binary.starts_with(['/', '[', '(']).then_some(What::Frame { binary, function, address, source })
}

/// A call's arguments, and what came of it.
#[derive(Debug, Default)]
pub struct EndedCall<'a> {
    pub arguments: Vec<&'a str>,
    pub result: Option<i64>,
    /// The result with its descriptor's text, as `5<TCP:[..]>`.
    pub result_text: &'a str,
    /// `EAGAIN`; else empty.
    pub error: &'a str,
    /// By `-T`.
    pub took_ns: Option<i64>,
    /// Where newlines were lost, the next call follows.
    pub next: &'a str,
}

impl<'a> EndedCall<'a> {
    /// Reads all that follows the parenthesis; `None` where the call does not end in this line.
    pub fn of(text: &'a str) -> Option<Self> {
        let (arguments, end) = arguments(text)?;
        let rest = text[end..].trim_start_matches([')', ' ', '\t']).strip_prefix('=')?.trim();
        let (rest, took) = match rest.rsplit_once('<') {
            Some((before, took)) if took.ends_with('>') && before.ends_with(' ') => {
                (before.trim_end(), time_of(took.trim_end_matches('>')))
            }
            _ => (rest, None),
        };
        let next = called(rest).map_or("", |(begin, _)| &rest[begin..]);
        let mut words = rest.split_ascii_whitespace();
        let result_text = words.next().unwrap_or_default();
        if result_text.is_empty() {
            return None;
        }
        let digits = result_text.split('<').next().unwrap_or_default();
        let is_error = |word: &&str| {
            word.starts_with('E')
                && word.len() <= 16
                && word.bytes().all(|sign| sign.is_ascii_alphanumeric())
        };
        let result = number(digits);
        let error = words
            .next()
            .filter(|_| result.is_some_and(|result| result < 0))
            .filter(is_error)
            .unwrap_or_default();
        Some(Self {
            arguments,
            result,
            result_text,
            error,
            took_ns: took.map(|(_, took_ns)| took_ns),
            next,
        })
    }

    pub fn argument(&self, at: usize) -> &'a str {
        self.arguments.get(at).copied().unwrap_or_default()
    }

    /// The option of TCP that a `setsockopt` names, and its value.
    pub fn tcp_option(&self) -> Option<(&'static str, i64)> {
        // `0x1 /* TCP_NODELAY */`
        let word = |at: usize| self.argument(at).split(' ').next().unwrap_or_default();
        // Some versions have lost the comma: `IPPROTO_TCP1, [1]`.
        let glued = word(1).strip_prefix("IPPROTO_TCP").filter(|option| !option.is_empty());
        let is_tcp = glued.is_some() || ["SOL_TCP", "IPPROTO_TCP", "0x6", "6"].contains(&word(1));
        let name = match glued.unwrap_or(word(2)) {
            // At another level the number of TCP_NODELAY has another name.
            "SO_DEBUG" if word(1) == "SOL_SOCKET" => "SO_DEBUG",
            "IP_TOS" if ["SOL_IP", "IPPROTO_IP"].contains(&word(1)) => "IP_TOS",
            _ if !is_tcp => return None,
            "TCP_NODELAY" | "0x1" | "1" => "TCP_NODELAY",
            "TCP_CORK" | "0x3" | "3" => "TCP_CORK",
            "TCP_QUICKACK" | "0xc" | "12" => "TCP_QUICKACK",
            _ => return None,
        };
        let value = self.argument(if glued.is_some() { 2 } else { 3 });
        let value: i64 = value.trim_matches(['[', ']']).parse().ok()?;
        Some((name, value)).filter(|_| is_tcp || value == 1)
    }
}

/// A number as strace prints it, raw ones too.
pub fn number(digits: &str) -> Option<i64> {
    match digits.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => digits.parse().ok(),
    }
}

/// Splits the arguments; tells where the closing parenthesis is. Strings may hold anything.
fn arguments(text: &str) -> Option<(Vec<&str>, usize)> {
    let bytes = text.as_bytes();
    let (mut found, mut depth, mut begin, mut at) = (Vec::new(), 0_usize, 0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_string(bytes, at),
            b'<' if at > 0 && bytes[at - 1].is_ascii_digit() => at = end_of_descriptor(bytes, at),
            b'(' | b'[' | b'{' => depth += 1,
            b')' if depth == 0 => {
                found.push(text[begin..at].trim());
                return Some((found, at));
            }
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                found.push(text[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// The place of the quote that ends a string; the last byte where none does.
fn end_of_string(bytes: &[u8], begin: usize) -> usize {
    let mut at = begin + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at.min(bytes.len() - 1)
}

/// Longer names of descriptors are not strace's: the longest is a path.
const LONGEST_SHOWN: usize = 4200;

/// The place of the `>` that ends `<TCP:[a->b]>` or `</dev/null<char 1:3>>`.
fn end_of_descriptor(bytes: &[u8], begin: usize) -> usize {
    let ends = |at: &usize| {
        bytes[*at] == b'>' && bytes.get(at + 1).is_none_or(|next| b",) ]}".contains(next))
    };
    (begin..bytes.len().min(begin + LONGEST_SHOWN)).find(ends).unwrap_or(begin)
}

/// The beginning of a text, without paths and contents of strings; short addresses stay.
pub fn without_strings(text: &str) -> String {
    const LONGEST_ADDRESS: usize = 46;
    let bytes = text.as_bytes();
    let (mut kept, mut begin, mut at) = (String::new(), 0, 0);
    while at < bytes.len() {
        // Both signs are ASCII, so that the text can be cut there.
        let before = if b"\"<".contains(&bytes[at]) { &text[begin..at] } else { "" };
        let is_descriptor = before.ends_with(|sign: char| sign.is_ascii_digit());
        if bytes[at] == b'"' {
            let end = end_of_string(bytes, at);
            let is_address = before.ends_with("inet_addr(") || before.ends_with("AF_INET6, ");
            if !(is_address && end - at <= LONGEST_ADDRESS) {
                kept.push_str(before);
                kept.push('"');
                begin = if bytes[end] == b'"' && end > at { end } else { bytes.len() };
            }
            at = end;
        } else if is_descriptor && !text[at..].starts_with("<TCP") {
            at = end_of_descriptor(bytes, at);
            kept.push_str(before);
            begin = at + 1;
        }
        at += 1;
    }
    kept.push_str(text.get(begin..).unwrap_or_default());
    if let Some((end, _)) = kept.char_indices().nth(LONGEST_TEXT) {
        kept.truncate(end);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(text: &str) -> (Option<u32>, Option<(TraceClock, i64)>, &str) {
        let line = Line::of(text);
        let What::Call(name, _) = line.what else { panic!("{text}: {:?}", line.what) };
        (line.pid, line.time, name)
    }

    /// Each form of a line that pastes have had.
    #[test]
    fn a_call_is_found_behind_any_prefix() {
        let day = Some((TraceClock::Day, 16_981_500_000_000));
        let unix = Some((TraceClock::Unix, 1_795_754_603_662_968_000));
        for (text, pid, time) in [
            ("write(3, \"a\", 1) = 1", None, None),
            ("17487 1795754603.662968 write(3, \"\", 0) = 0", Some(17487), unix),
            ("[pid  7] 04:43:01 write(3, \"\", 0) = 0", Some(7), None),
            ("[pid  7] 04:43:01.5 write(3, \"\", 0) = 0", Some(7), day),
            ("7<redis> 04:43:01.500000 write(3, \"\", 0) = 0", Some(7), day),
            ("     0.000031 write(3, \"\", 0) = 0", None, Some((TraceClock::Relative, 31_000))),
            (
                "1234: 0.000100000 write(3,\"\",0)\t = 0",
                Some(1234),
                Some((TraceClock::Elapsed, 100_000)),
            ),
            ("04:43:01.5 (+     0.000031) write(3, \"\", 0) = 0", None, day),
            ("Nov 27 10:00:00 web app[9]: [pid 7] 04:43:01.5 write(3, \"\", 0) = 0", Some(7), day),
            ("> > 7 04:43:01.5 write(3, \"\", 0) = 0", Some(7), day),
        ] {
            assert_eq!(call(text), (pid, time, "write"), "{text}");
        }
    }

    #[test]
    fn strings_and_sockets_hide_no_result() {
        let ended = EndedCall::of(r#"3<TCP:[127.0.0.1:80->127.0.0.1:9]>, "a\") = 9, (", 6, 0) = -1 EAGAIN (Resource) <0.000031>"#).unwrap();
        assert_eq!(ended.argument(0), "3<TCP:[127.0.0.1:80->127.0.0.1:9]>");
        assert_eq!((ended.arguments.len(), ended.result, ended.error), (4, Some(-1), "EAGAIN"));
        assert_eq!(ended.took_ns, Some(31_000));
        let null =
            EndedCall::of("0</dev/null<char 1:3>>, SOL_TCP, TCP_NODELAY, [1], 4) = 0").unwrap();
        assert_eq!((null.arguments.len(), null.result), (5, Some(0)));
        let accepted =
            EndedCall::of("3, {sa_family=AF_INET}, [16]) = 5<TCP:[1.2.3.4:80->5.6.7.8:9]>")
                .unwrap();
        assert_eq!(accepted.result_text, "5<TCP:[1.2.3.4:80->5.6.7.8:9]>");
        assert!(EndedCall::of("1, \"half").is_none() && EndedCall::of("").is_none());
    }

    #[test]
    fn a_stack_names_its_functions() {
        let frame = " > /usr/lib/libc.so.6(send+0x1d) [0x10a3d]";
        let What::Frame { binary, function, .. } = Line::of(frame).what else { panic!() };
        assert_eq!((binary, function), ("/usr/lib/libc.so.6", "send"));
        let quoted = "> > /srv/app(serve(int)+0x2) [0x1] server.c:12";
        assert!(matches!(
            Line::of(quoted).what,
            What::Frame { function: "serve(int)", source: "server.c:12", .. }
        ));
        assert!(matches!(Line::of("7 <... read resumed>\"x\", 1) = 1").what, What::Resumed(_)));
        assert_eq!(Line::of("7 1.5 +++ exited with 0 +++").what, What::Exited);
    }

    #[test]
    fn nothing_that_a_program_wrote_is_kept() {
        assert_eq!(without_strings(r#"3, "secret\"", 9"#), r#"3, "", 9"#);
        assert!(without_strings(r#"{sin_addr=inet_addr("10.0.0.1")}"#).contains("10.0.0.1"));
    }
}
