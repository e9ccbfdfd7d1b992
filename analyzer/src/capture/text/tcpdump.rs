//! One line of tcpdump, after its time. A packet of `tcpdump -v` takes two lines,
//! which come here as one.

use super::ends::EndNames;
use super::packet::{Ends, Options, Packet, Segment};
use crate::capture::flags::{ACK, SYN};
use std::net::IpAddr;

/// The kind of a line.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    Packet(Packet),
    /// The packet goes on in the next line.
    Unfinished,
    NoPacket,
}

const CUT: &str = "[|tcp]";

/// Reads what follows the time.
pub fn read(text: &str, names: &mut EndNames) -> Line {
    if is_fragment(text) {
        return Line::Packet(Packet::Fragment);
    }
    match pair(text) {
        Some(pair) => after_pair(&pair, names),
        None if text.contains(", proto TCP (6)") => Line::Unfinished,
        None => other(text),
    }
}

/// Signs of a fragment in the line of `-v`: more follow, or this is not the first.
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

/// Words that tcpdump prints for tunnels before the packet inside; that of VXLAN has a line of its own.
const TUNNELS: [&str; 8] =
    ["GREv", "gre-proto-", "IP ", "IP6 ", "VXLAN, ", "VXLAN-GPE, ", "Geneve, ", "OTV, "];

fn after_pair(pair: &FromTo<'_>, names: &mut EndNames) -> Line {
    if TUNNELS.iter().any(|tunnel| pair.after.starts_with(tunnel)) {
        return in_tunnel(pair.after, names);
    }
    let fields = pair.after.strip_prefix("Flags ");
    let segment = match fields {
        Some(fields) => segment(fields.trim_start_matches('['), ip_id(pair.before)),
        None => old_segment(pair.after),
    };
    Line::Packet(match (pair.after, segment) {
        ("", _) => return Line::Unfinished,
        (_, segment) if (fields.is_some() || segment.is_some()) && !pair.has_ports() => {
            Packet::WithoutPorts
        }
        (_, Some(segment)) => {
            pair.ends(names).map_or(Packet::Unreadable, |ends| Packet::Tcp(ends, segment))
        }
        _ if fields.is_some() => return Line::Unfinished,
        ("tcp" | "ip-proto-6", _) => Packet::Fragment,
        (CUT, _) => Packet::Unreadable,
        (after, _) => match after.strip_prefix("tcp ") {
            Some(len) if len.parse::<u32>().is_ok() => Packet::Quiet,
            Some(_) => Packet::Unreadable,
            None => Packet::NotTcp,
        },
    })
}

/// The packet inside, if it is TCP, as it is not quoted there.
fn in_tunnel(text: &str, names: &mut EndNames) -> Line {
    match pair(text) {
        Some(inner) => after_pair(&inner, names),
        None if text.contains("vni ") => Line::Unfinished,
        None => Line::Packet(Packet::NotTcp),
    }
}

impl FromTo<'_> {
    /// Neither `192.0.2.1` nor a bare name.
    fn has_ports(&self) -> bool {
        [self.from, self.to].iter().all(|end| end.contains('.') && end.parse::<IpAddr>().is_err())
    }

    fn ends(&self, names: &mut EndNames) -> Option<Ends> {
        let ends = [self.from.rsplit_once('.')?, self.to.rsplit_once('.')?];
        names.ends(ends, self.before.contains("IP6") || self.before.contains("IPv6"))
    }
}

/// Is it another packet? Programs print times of this form, too.
fn other(text: &str) -> Line {
    if !text.contains(" > ") && !text.contains(", length ") {
        return Line::NoPacket;
    }
    let mut first = text.split_whitespace().take(3);
    let is_ip = first.any(|word| word == "IP" || word == "IP6") || text.contains("ethertype IPv");
    if is_ip && text.split_once(" > ").is_some_and(|(_, after)| !after.contains(':')) {
        return Line::Unfinished;
    }
    Line::Packet(if is_ip { Packet::NotTcp } else { Packet::NotIp })
}

/// The fields after `Flags [`; `None` where one is missing or makes no sense.
fn segment(fields: &str, ip_id: u16) -> Option<Segment> {
    let (letters, mut rest) = fields.split_once(']')?;
    let mut segment = Segment { ip_id, flags: flags(letters)?, ..Segment::default() };
    loop {
        let (name, value) = rest.trim_start().strip_prefix(',')?.trim_start().split_once(' ')?;
        match name {
            "cksum" => rest = value.split_once(')')?.1,
            "seq" => {
                let (seq, after) = number(value)?;
                (segment.seq, rest) = (Some(seq), after);
                if let Some(end) = after.strip_prefix(':') {
                    let (end, after) = number(end)?;
                    (segment.len, rest) = (end.wrapping_sub(seq), after);
                }
            }
            "ack" => {
                let (ack, after) = number(value)?;
                (segment.ack, rest) = (Some(ack), after);
            }
            "win" => (segment.window, rest) = number(value)?,
            "urg" => rest = number(value)?.1,
            "options" => {
                let value = value.strip_prefix('[')?;
                let Some((options, _)) = value.split_once("], length ") else {
                    segment.options = Options::read(value.split_once(CUT)?.0);
                    segment.is_cut = true;
                    return Some(segment);
                };
                segment.options = Options::read(options);
                // A list that was cut may be closed, too.
                segment.is_cut = value[..=options.len()].ends_with(CUT);
                rest = &value[options.len() + 1..];
            }
            "length" => {
                // Any stack announces an MSS (RFC 9293, section 3.7.1): its options were left out.
                segment.is_cut |= segment.flags & SYN != 0 && segment.options == Options::default();
                return (number(value)?.0 == segment.len).then_some(segment);
            }
            _ => return None,
        }
    }
}

/// A segment as tcpdump printed it before version 4: `P 1:28(27) ack 1 win 502 <nop,nop,timestamp 1 2> (DF)`,
/// and with `-vv` `P, cksum 0xf7b2 (correct), 1:28(27) ack 1 win 502`; `None` for what is none.
fn old_segment(text: &str) -> Option<Segment> {
    let mut words = text.split(' ').filter(|word| !word.is_empty()).peekable();
    let flags = flags(words.next()?.trim_end_matches(','))?;
    if words.next_if_eq(&"cksum").is_some() {
        words.find(|word| word.ends_with("),"))?;
    }
    let mut segment = Segment { flags, ..Segment::default() };
    if let Some((seq, len)) = words.peek().and_then(|word| old_numbers(word)) {
        (segment.seq, segment.len) = (Some(seq), len);
        words.next();
    }
    while let Some(word) = words.next() {
        match word {
            "ack" => segment.ack = words.next()?.parse().ok(),
            "win" => segment.window = number(words.next()?)?.0,
            _ => {}
        }
    }
    if segment.ack.is_some() {
        // It was told by its number alone.
        segment.flags |= ACK;
    }
    if let Some((options, _)) = text.split_once('<').and_then(|(_, rest)| rest.split_once('>')) {
        segment.options = Options::read(options);
    }
    let is_told = segment.seq.is_some() || segment.ack.is_some();
    (is_told && text.contains(" win ")).then_some(segment)
}

/// Seq and length of `1:28(27)`, or of a segment without data `1:1(0)`.
fn old_numbers(word: &str) -> Option<(u32, u32)> {
    let (seq, rest) = number(word)?;
    let (end, rest) = number(rest.strip_prefix(':')?)?;
    let (len, _) = number(rest.strip_prefix('(')?)?;
    (end.wrapping_sub(seq) == len).then_some((seq, len))
}

/// A number and what follows it.
fn number(text: &str) -> Option<(u32, &str)> {
    let len = text.bytes().take_while(u8::is_ascii_digit).count();
    Some((text[..len].parse().ok()?, &text[len..]))
}

/// The IP identification in the line of `-v`; 0 without one.
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
