//! One packet of tcpdump: a line, or the two of `-v`, which come here as one.

use super::packet::{Outcome, PrintedOptions, PrintedPacket, PrintedSegment};
use crate::ends::{EndNames, SocketPair};
use crate::flags::{ACK, LETTERS};
use crate::times::{self, PrintedTime};
use std::net::IpAddr;

const CUT: &str = "[|tcp]";

/// Reads a packet with its time.
pub fn read(line: &str, names: &mut EndNames) -> Outcome {
    times::stamp(line).map_or(Outcome::Nothing, |(stamp, text)| packet(stamp, text, names))
}

/// Is it a packet but for its time?
pub fn is_timeless(line: &str) -> bool {
    let read = packet(PrintedTime::Clock(0), line, &mut EndNames::default());
    matches!(read, Outcome::Packet((_, PrintedPacket::Tcp(..) | PrintedPacket::Quiet)))
}

/// Does the line begin a packet? What others print of one is more of it.
pub fn begins(line: &str) -> bool {
    times::stamp(line).is_some()
}

/// Is it what `-v` prints in its second line, maybe behind a prefix of all lines?
pub fn is_rest(line: &str) -> bool {
    !begins(line) && pair(line).is_some_and(|pair| pair.after.starts_with("Flags ["))
}

fn packet(stamp: PrintedTime, text: &str, names: &mut EndNames) -> Outcome {
    match pair(text) {
        _ if is_fragment(text) => Outcome::Packet((stamp, PrintedPacket::Fragment)),
        Some(pair) => after_pair(stamp, &pair, names),
        None if is_begun(text) => unfinished(stamp),
        None if is_ip(text) && (text.contains(" > ") || text.contains(", length ")) => {
            Outcome::Packet((stamp, PrintedPacket::NotTcp))
        }
        None => Outcome::Nothing,
    }
}

fn unfinished(stamp: PrintedTime) -> Outcome {
    Outcome::More(Some((stamp, PrintedPacket::Unreadable)))
}

/// The first line of `-v` or of `pktmon`, and what mail left of it or of a pair of addresses.
fn is_begun(text: &str) -> bool {
    let is_cut_link = text.ends_with("ethertype")
        || ["ethertype IPv", "ethertype 802.1Q"].iter().any(|ethertype| text.contains(ethertype));
    let is_open = |begin: &str| text.find(begin).is_some_and(|at| !text[at..].contains("))"));
    text.contains(", proto TCP (6)")
        || text.contains(", proto: TCP (6)")
        || text.contains("PktGroupId ")
        || is_cut_link
        || is_ip(text) && is_open("(tos 0x")
        || is_ip(text) && text.split_once(" > ").is_some_and(|(_, to)| !to.contains(':'))
        || text.strip_suffix(" >").is_some_and(|from| from.contains('.'))
}

fn is_ip(text: &str) -> bool {
    let mut first = text.split_whitespace().take(3);
    first.any(|word| word == "IP" || word == "IP6") || text.contains("ethertype IPv")
}

/// A packet of another protocol than IP. Programs print times of this form, too.
pub fn other(line: &str) -> Outcome {
    match times::stamp(line) {
        Some((stamp, text)) if text.contains(" > ") || text.contains(", length ") => {
            Outcome::Packet((stamp, PrintedPacket::NotIp))
        }
        _ => Outcome::Nothing,
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
        let (left, right) = (&text[..at], &text[at + arrow.len()..]);
        // A placeholder may have spaces: `[client ip].40000`.
        let from_at = left
            .rfind('[')
            .filter(|open| left[*open..].contains("]."))
            .or_else(|| left.rfind(' ').map(|space| space + 1));
        let (before, from) = left.split_at(from_at.unwrap_or(0));
        let to_len = right.find("].").filter(|_| right.starts_with('[')).unwrap_or(0);
        let to_len = to_len + right[to_len..].find(' ').unwrap_or(right.len() - to_len);
        let (to, after) = right.split_at(to_len);
        Some(FromTo { before, from, to: to.strip_suffix(':')?, after: after.trim_start() })
    })
}

/// Words of tcpdump for tunnels before the packet inside; VXLAN's has a line of its own.
const TUNNELS: [&str; 8] =
    ["GREv", "gre-proto-", "IP ", "IP6 ", "VXLAN, ", "VXLAN-GPE, ", "Geneve, ", "OTV, "];

fn after_pair(stamp: PrintedTime, pair: &FromTo<'_>, names: &mut EndNames) -> Outcome {
    if TUNNELS.iter().any(|tunnel| pair.after.starts_with(tunnel)) {
        return match self::pair(pair.after) {
            // A packet in a tunnel, which is not quoted there.
            Some(inner) => after_pair(stamp, &inner, names),
            None if pair.after.contains("vni ") => unfinished(stamp),
            None => Outcome::Packet((stamp, PrintedPacket::NotTcp)),
        };
    }
    let fields = pair.after.strip_prefix("Flags ");
    let segment = match fields {
        Some(fields) => segment(fields.trim_start_matches('['), ip_id(pair.before)),
        None => old_segment(pair.after),
    };
    let packet = match (pair.after, segment) {
        ("" | "Flags", _) => return unfinished(stamp),
        (_, segment) if (fields.is_some() || segment.is_some()) && !pair.has_ports() => {
            PrintedPacket::WithoutPorts
        }
        (_, Some(segment)) => pair
            .ends(names)
            .map_or(PrintedPacket::Unreadable, |ends| PrintedPacket::Tcp(ends, segment)),
        (after, None) if fields.is_some() || is_old_begun(after) => return unfinished(stamp),
        ("tcp" | "ip-proto-6", _) => PrintedPacket::Fragment,
        (CUT, _) => PrintedPacket::Unreadable,
        (after, _) => match after.strip_prefix("tcp ") {
            Some(len) if len.split(' ').next().is_some_and(|len| len.parse::<u32>().is_ok()) => {
                PrintedPacket::Quiet
            }
            Some(_) => PrintedPacket::Unreadable,
            None => PrintedPacket::NotTcp,
        },
    };
    Outcome::Packet((stamp, packet))
}

impl FromTo<'_> {
    /// Neither `192.0.2.1` nor a bare name.
    fn has_ports(&self) -> bool {
        [self.from, self.to].iter().all(|end| end.contains('.') && end.parse::<IpAddr>().is_err())
    }

    fn ends(&self, names: &mut EndNames) -> Option<SocketPair> {
        let ends = [self.from.rsplit_once('.')?, self.to.rsplit_once('.')?];
        names.ends(ends, self.before.contains("IP6") || self.before.contains("IPv6"))
    }
}

/// The fields after `Flags [`; `None` where one is missing or makes no sense.
fn segment(fields: &str, ip_id: u16) -> Option<PrintedSegment> {
    let (letters, mut rest) = fields.split_once(']')?;
    let mut segment = PrintedSegment { ip_id, flags: flags(letters)?, ..PrintedSegment::default() };
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
                    segment.options = PrintedOptions::read(value.split_once(CUT)?.0);
                    segment.is_cut = true;
                    return Some(segment);
                };
                segment.options = PrintedOptions::read(options);
                // A list that was cut may be closed, too.
                segment.is_cut = value[..=options.len()].ends_with(CUT);
                rest = &value[options.len() + 1..];
            }
            "length" => {
                return (number(value)?.0 == segment.len).then_some(segment.with_cut_marked());
            }
            _ => return None,
        }
    }
}

/// A segment as tcpdump printed it before version 4: `P 1:28(27) ack 1 win 502 <nop,nop,timestamp 1
/// 2>`, with `-vv` `P, cksum 0xf7b2 (correct), 1:28(27) ack 1 win 502`.
fn old_segment(text: &str) -> Option<PrintedSegment> {
    let mut words = text.split(' ').filter(|word| !word.is_empty()).peekable();
    let flags = flags(words.next()?.trim_end_matches(','))?;
    // `cksum 0xf7b2 (correct),` or `[tcp sum ok]`
    if words.next_if(|word| *word == "cksum" || word.starts_with('[')).is_some() {
        words.find(|word| word.ends_with("),") || word.ends_with(']'))?;
    }
    let mut segment = PrintedSegment { flags, ..PrintedSegment::default() };
    if let Some((seq, len)) = words.peek().and_then(|word| old_numbers(word)) {
        (segment.seq, segment.len) = (Some(seq), len);
        words.next();
    }
    while let Some(word) = words.next() {
        match joined(word) {
            "ack" => segment.ack = words.next()?.parse().ok(),
            "win" => segment.window = number(words.next()?)?.0,
            _ => {}
        }
    }
    if segment.ack.is_some() {
        // Only its number shows the flag.
        segment.flags |= ACK;
    }
    if let Some((options, _)) = text.split_once('<').and_then(|(_, rest)| rest.split_once('>')) {
        segment.options = PrintedOptions::read(options);
    }
    let is_told = segment.seq.is_some() || segment.ack.is_some();
    let is_whole = text.split(' ').any(|word| joined(word) == "win")
        && text.matches('<').count() <= text.matches('>').count();
    (is_told && is_whole).then_some(segment.with_cut_marked())
}

/// A word without the `+` that mail programs put before what they join.
fn joined(word: &str) -> &str {
    word.strip_prefix('+').unwrap_or(word)
}

/// Are these flags, numbers or an ACK, that go on in the next line?
fn is_old_begun(text: &str) -> bool {
    let mut words = text.split(' ');
    let has_flags = words.next().is_some_and(|word| flags(word.trim_end_matches(',')).is_some());
    let next = words.next();
    let is_number = |word: &str| {
        matches!(word, "ack" | "cksum" | "[tcp" | "[bad") || old_numbers(word).is_some()
    };
    has_flags && next.is_none_or(is_number)
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

/// The bits of the flags with these letters.
fn flags(letters: &str) -> Option<u8> {
    if letters == "none" {
        return Some(0);
    }
    letters.chars().try_fold(0, |bits, letter| {
        let at = LETTERS.find(letter)?;
        Some(bits | 1_u8.checked_shl(at as u32).unwrap_or(0))
    })
}
