//! What one line of tcpdump says of a packet, after its time. A packet of `tcpdump -v` takes two lines,
//! which come here as one.

/// A packet as printed.
#[derive(Debug, PartialEq, Eq)]
pub enum PrintedPacket<'a> {
    Tcp(PrintedSegment<'a>),
    /// TCP, printed without its numbers (`-q`, or a message in a packet list).
    Quiet(Ends<'a>),
    /// TCP that cannot be read.
    Unreadable,
    Fragment,
    NotTcp,
    NotIp,
}

/// Host and port of sender and receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends<'a> {
    pub from: &'a str,
    pub to: &'a str,
    pub is_v6: bool,
}

impl Ends<'_> {
    /// The two hosts as printed, the same for both directions.
    pub fn hosts(&self) -> [String; 2] {
        let mut hosts = [self.from, self.to].map(|end| match end.rsplit_once('.') {
            Some((host, _)) => host.to_owned(),
            None => end.to_owned(),
        });
        hosts.sort_unstable();
        hosts
    }
}

/// A TCP segment as printed: addresses may be names, numbers may be relative.
#[derive(Debug, PartialEq, Eq)]
pub struct PrintedSegment<'a> {
    pub ends: Ends<'a>,
    /// 0 where it is not printed: without `-v`, and in IPv6.
    pub ip_id: u16,
    pub flags: u8,
    /// Not printed of a pure ACK.
    pub seq: Option<u32>,
    pub ack: Option<u32>,
    pub window: u32,
    /// Of a packet list: all numbers count alike, and the window is scaled where both SYNs were seen.
    pub is_listed: bool,
    pub options: &'a str,
    /// The snap length cut the options.
    pub is_cut: bool,
    pub len: u32,
}

/// What a line turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub enum ParsedLine<'a> {
    Packet(PrintedPacket<'a>),
    /// The packet goes on in the next line.
    Unfinished,
    NoPacket,
}

const CUT: &str = "[|tcp]";

/// Reads what follows the time.
pub fn read(text: &str) -> ParsedLine<'_> {
    if is_fragment(text) {
        return ParsedLine::Packet(PrintedPacket::Fragment);
    }
    match pair(text) {
        Some(pair) => after_pair(&pair),
        None if text.contains(", proto TCP (6)") => ParsedLine::Unfinished,
        None => other(text),
    }
}

/// Of the line of `-v`: more fragments follow, or this is not the first.
fn is_fragment(text: &str) -> bool {
    let offset = text.split_once(", offset ").and_then(|(_, rest)| rest.split_once(','));
    offset.is_some_and(|(offset, rest)| {
        offset != "0" || rest.split_once(']').is_some_and(|(flags, _)| flags.contains('+'))
    })
}

/// `from > to:` and what is around it.
struct FromTo<'a> {
    before: &'a str,
    from: &'a str,
    to: &'a str,
    after: &'a str,
}

/// The first pair of IP addresses: hardware addresses have no colon after them.
fn pair(text: &str) -> Option<FromTo<'_>> {
    text.match_indices(" > ").find_map(|(at, arrow)| {
        let (before, from) = text[..at].rsplit_once(' ').unwrap_or(("", &text[..at]));
        let right = &text[at + arrow.len()..];
        let (to, after) = right.split_once(' ').unwrap_or((right, ""));
        Some(FromTo { before, from, to: to.strip_suffix(':')?, after: after.trim_start() })
    })
}

fn after_pair<'a>(pair: &FromTo<'a>) -> ParsedLine<'a> {
    if let Some(fields) = pair.after.strip_prefix("Flags [") {
        return match segment(pair, fields) {
            Some(segment) => ParsedLine::Packet(PrintedPacket::Tcp(segment)),
            None => ParsedLine::Unfinished,
        };
    }
    ParsedLine::Packet(match pair.after {
        "" => return ParsedLine::Unfinished,
        "tcp" | "ip-proto-6" => PrintedPacket::Fragment,
        CUT => PrintedPacket::Unreadable,
        after => match after.strip_prefix("tcp ") {
            Some(len) if len.parse::<u32>().is_ok() => PrintedPacket::Quiet(ends(pair)),
            Some(_) => PrintedPacket::Unreadable,
            None => PrintedPacket::NotTcp,
        },
    })
}

/// Is it another packet? Programs print times of this form, too.
fn other(text: &str) -> ParsedLine<'_> {
    if !text.contains(" > ") && !text.contains(", length ") {
        return ParsedLine::NoPacket;
    }
    let mut first = text.split_whitespace().take(3);
    let is_ip = first.any(|word| word == "IP" || word == "IP6") || text.contains("ethertype IPv");
    ParsedLine::Packet(if is_ip { PrintedPacket::NotTcp } else { PrintedPacket::NotIp })
}

fn ends<'a>(pair: &FromTo<'a>) -> Ends<'a> {
    let is_v6 = pair.before.contains("IP6") || pair.before.contains("IPv6");
    Ends { from: pair.from, to: pair.to, is_v6 }
}

/// The fields after `Flags [`; `None` where one is missing or makes no sense.
fn segment<'a>(pair: &FromTo<'a>, fields: &'a str) -> Option<PrintedSegment<'a>> {
    let (flag_letters, mut rest) = fields.split_once(']')?;
    let mut segment = PrintedSegment {
        ends: ends(pair),
        ip_id: ip_id(pair.before),
        flags: flags(flag_letters)?,
        seq: None,
        ack: None,
        window: 0,
        is_listed: false,
        options: "",
        is_cut: false,
        len: 0,
    };
    loop {
        let (name, value) = rest.strip_prefix(", ")?.split_once(' ')?;
        match name {
            "cksum" => rest = value.split_once(')')?.1,
            "seq" => {
                let (seq, mut after) = number(value)?;
                segment.seq = Some(seq);
                if let Some(end) = after.strip_prefix(':') {
                    let (end, after_end) = number(end)?;
                    segment.len = end.wrapping_sub(seq);
                    after = after_end;
                }
                rest = after;
            }
            "ack" => {
                let (ack, after) = number(value)?;
                (segment.ack, rest) = (Some(ack), after);
            }
            "win" | "window" => {
                (segment.window, rest) = number(value)?;
                segment.is_listed = name == "window";
            }
            "urg" => rest = number(value)?.1,
            "options" => match value.split_once(CUT) {
                Some((options, _)) if !value.contains("], length ") => {
                    segment.options = options.strip_prefix('[')?;
                    segment.is_cut = true;
                    return Some(segment);
                }
                _ => {
                    let (options, _) = value.strip_prefix('[')?.split_once("], length ")?;
                    segment.options = options;
                    rest = &value[options.len() + "[]".len()..];
                }
            },
            "length" => return (number(value)?.0 == segment.len).then_some(segment),
            _ => return None,
        }
    }
}

/// A number and what follows it.
fn number(text: &str) -> Option<(u32, &str)> {
    let len = text.bytes().take_while(u8::is_ascii_digit).count();
    Some((text[..len].parse().ok()?, &text[len..]))
}

/// Of the line of `-v`.
fn ip_id(before: &str) -> u16 {
    let id = before.split_once(", id ").and_then(|(_, rest)| rest.split_once(','));
    id.and_then(|(id, _)| id.parse().ok()).unwrap_or(0)
}

/// The bits of RFC 9293, section 3.1, by tcpdump's letters.
fn flags(letters: &str) -> Option<u8> {
    if letters == "none" {
        return Some(0);
    }
    letters.chars().try_fold(0, |bits, letter| {
        // `e` (RFC 9768) has its bit in another byte.
        let at = "FSRP.UEWe".find(letter)?;
        Some(bits | 1_u8.checked_shl(at as u32).unwrap_or(0))
    })
}
