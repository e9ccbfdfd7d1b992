//! What one line of tcpdump says of a packet, after its time. A packet of `tcpdump -v` takes two lines,
//! which come here as one.

use super::classic;
use super::options::PrintedOptions;
use std::net::IpAddr;

/// A packet as printed.
#[derive(Debug, PartialEq, Eq)]
pub enum PrintedPacket<'a> {
    Tcp(Ends<'a>, PrintedSegment),
    /// A row of a packet list that shows a message instead of ports and numbers, of this length on the wire;
    /// 0 where it does not tell where the message belongs.
    Message(Ends<'a>, u32),
    /// TCP, printed without its numbers (`-q`).
    Quiet,
    /// TCP of which the ports were taken out.
    WithoutPorts,
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

/// The numbers of a TCP segment as printed: they may be relative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrintedSegment {
    /// 0 where it is not printed: without `-v`, and in IPv6.
    pub ip_id: u16,
    pub flags: u8,
    /// Not printed of a pure ACK.
    pub seq: Option<u32>,
    pub ack: Option<u32>,
    pub window: u32,
    /// Of a packet list: all numbers count alike, and the window is scaled where both SYNs were seen.
    pub is_listed: bool,
    pub options: PrintedOptions,
    /// The snap length cut the options.
    pub is_cut: bool,
    pub len: u32,
    /// Of the frame; 0 where it is not printed.
    pub wire_len: u32,
}

impl PrintedSegment {
    pub const NONE: Self = Self {
        ip_id: 0,
        flags: 0,
        seq: None,
        ack: None,
        window: 0,
        is_listed: false,
        options: PrintedOptions::NONE,
        is_cut: false,
        len: 0,
        wire_len: 0,
    };
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
    if TUNNELS.iter().any(|tunnel| pair.after.starts_with(tunnel)) {
        return in_tunnel(pair.after);
    }
    let fields = match pair.after.strip_prefix("Flags ") {
        Some(fields) => segment(pair, fields.trim_start_matches('[')),
        None => classic::segment(pair.after),
    };
    let is_flagged = pair.after.starts_with("Flags ");
    ParsedLine::Packet(match pair.after {
        "" => return ParsedLine::Unfinished,
        _ if (is_flagged || fields.is_some()) && !has_ports(pair) => PrintedPacket::WithoutPorts,
        _ if is_flagged && fields.is_none() => return ParsedLine::Unfinished,
        "tcp" | "ip-proto-6" => PrintedPacket::Fragment,
        CUT => PrintedPacket::Unreadable,
        after => match (fields, after.strip_prefix("tcp "), after.strip_prefix("message ")) {
            (Some(segment), ..) => PrintedPacket::Tcp(ends(pair), segment),
            (_, Some(len), _) if len.parse::<u32>().is_ok() => PrintedPacket::Quiet,
            (_, Some(_), _) => PrintedPacket::Unreadable,
            (.., Some(len)) => PrintedPacket::Message(ends(pair), len.parse().unwrap_or(0)),
            _ => PrintedPacket::NotTcp,
        },
    })
}

/// What tcpdump prints of them before the packet inside; that of VXLAN has a line of its own.
const TUNNELS: [&str; 8] =
    ["GREv", "gre-proto-", "IP ", "IP6 ", "VXLAN, ", "VXLAN-GPE, ", "Geneve, ", "OTV, "];

/// The packet inside, if it is TCP, as it is not quoted there.
fn in_tunnel(text: &str) -> ParsedLine<'_> {
    match pair(text) {
        Some(inner) => after_pair(&inner),
        None if text.contains("vni ") => ParsedLine::Unfinished,
        None => ParsedLine::Packet(PrintedPacket::NotTcp),
    }
}

/// Neither `192.0.2.1` nor a bare name.
fn has_ports(pair: &FromTo<'_>) -> bool {
    [pair.from, pair.to].iter().all(|end| end.contains('.') && end.parse::<IpAddr>().is_err())
}

/// Is it another packet? Programs print times of this form, too.
fn other(text: &str) -> ParsedLine<'_> {
    if !text.contains(" > ") && !text.contains(", length ") {
        return ParsedLine::NoPacket;
    }
    let mut first = text.split_whitespace().take(3);
    let is_ip = first.any(|word| word == "IP" || word == "IP6") || text.contains("ethertype IPv");
    if is_ip && text.split_once(" > ").is_some_and(|(_, after)| !after.contains(':')) {
        return ParsedLine::Unfinished;
    }
    ParsedLine::Packet(if is_ip { PrintedPacket::NotTcp } else { PrintedPacket::NotIp })
}

fn ends<'a>(pair: &FromTo<'a>) -> Ends<'a> {
    let is_v6 = pair.before.contains("IP6") || pair.before.contains("IPv6");
    Ends { from: pair.from, to: pair.to, is_v6 }
}

/// The fields after `Flags [`; `None` where one is missing or makes no sense.
fn segment(pair: &FromTo<'_>, fields: &str) -> Option<PrintedSegment> {
    let (flag_letters, mut rest) = fields.split_once(']')?;
    let flags = flags(flag_letters)?;
    let mut segment = PrintedSegment { ip_id: ip_id(pair.before), flags, ..PrintedSegment::NONE };
    loop {
        let (name, value) = rest.trim_start().strip_prefix(',')?.trim_start().split_once(' ')?;
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
            "frame" => (segment.wire_len, rest) = number(value)?,
            "options" => match value.split_once(CUT) {
                Some((options, _)) if !value.contains("], length ") => {
                    segment.options = PrintedOptions::read(options.strip_prefix('[')?);
                    segment.is_cut = true;
                    return Some(segment);
                }
                _ => {
                    let (options, _) = value.strip_prefix('[')?.split_once("], length ")?;
                    segment.options = PrintedOptions::read(options);
                    rest = &value[options.len() + "[]".len()..];
                }
            },
            "length" => return (number(value)?.0 == segment.len).then_some(segment),
            _ => return None,
        }
    }
}

/// A number and what follows it.
pub fn number(text: &str) -> Option<(u32, &str)> {
    let len = text.bytes().take_while(u8::is_ascii_digit).count();
    Some((text[..len].parse().ok()?, &text[len..]))
}

/// Of the line of `-v`.
fn ip_id(before: &str) -> u16 {
    let id = before.split_once(", id ").and_then(|(_, rest)| rest.split_once(','));
    id.and_then(|(id, _)| id.parse().ok()).unwrap_or(0)
}

/// The bits of RFC 9293, section 3.1, by tcpdump's letters.
pub fn flags(letters: &str) -> Option<u8> {
    if letters == "none" {
        return Some(0);
    }
    letters.chars().try_fold(0, |bits, letter| {
        // `e` (RFC 9768) has its bit in another byte.
        let at = "FSRP.UEWe".find(letter)?;
        Some(bits | 1_u8.checked_shl(at as u32).unwrap_or(0))
    })
}
