//! A line of a packet list, of tshark or Wireshark: number, time, source, destination, protocol, length
//! and info. It is rewritten as tcpdump prints it, for one reader of both.

use std::fmt::Write;
use std::iter;

/// Not TCP. Other protocols may be messages in TCP segments.
const OTHERS: [&str; 19] = [
    "ARP", "ICMP", "ICMPv6", "IGMPv2", "IGMPv3", "UDP", "DNS", "MDNS", "LLMNR", "NBNS", "DHCP",
    "DHCPv6", "NTP", "SSDP", "QUIC", "SNMP", "STP", "LLDP", "RTP",
];
/// Longer times count from the epoch.
const MOST_DIGITS: usize = 8;
/// Wireshark's names and tcpdump's letters.
const FLAGS: [(&str, char); 8] = [
    ("FIN", 'F'),
    ("SYN", 'S'),
    ("RST", 'R'),
    ("PSH", 'P'),
    ("ACK", '.'),
    ("URG", 'U'),
    ("ECE", 'E'),
    ("CWR", 'W'),
];

/// Writes the packet of `line` into `printed`; `None` if the line is not one of a packet list.
///
/// Where the info shows a message instead of ports and Seq, it becomes a packet of `tcpdump -q`, with
/// ports of 0.
pub fn rewrite(line: &str, printed: &mut String) -> Option<()> {
    let mut words = line.split_whitespace();
    words.next().filter(|number| is_number(number))?;
    printed.clear();
    time(&mut words, printed)?;
    let source = words.next()?;
    let destination = words.find(|word| !is_arrow(word))?;
    let protocol = words.next().filter(|protocol| is_protocol(protocol))?;
    let _ = write!(printed, " {} {source}", if source.contains(':') { "IP6" } else { "IP" });
    let len = printed.len();
    if segment(words, destination, printed).is_none() {
        printed.truncate(len);
        let kind = if OTHERS.contains(&protocol) { "UDP" } else { "tcp 0" };
        let _ = write!(printed, ".0 > {destination}.0: {kind}");
    }
    Some(())
}

/// Seconds since the first packet become a clock; other times stay as they are.
fn time<'a>(words: &mut impl Iterator<Item = &'a str>, printed: &mut String) -> Option<()> {
    let mut time = words.next()?;
    if time.contains('-') {
        let _ = write!(printed, "{time} ");
        time = words.next()?;
    }
    let seconds = time.split_once('.').filter(|(whole, _)| whole.len() <= MOST_DIGITS);
    if let Some((Ok(whole), rest)) = seconds.map(|(whole, rest)| (whole.parse::<u32>(), rest)) {
        let (hours, minutes) = (whole / 3600, whole / 60 % 60);
        let _ = write!(printed, "{hours:02}:{minutes:02}:{:02}.{rest}", whole % 60);
    } else {
        printed.push_str(time);
    }
    Some(())
}

/// `55690 → 8888 [SYN, ACK] Seq=0 Ack=1 Win=65483 Len=0 MSS=65495`, maybe after remarks in brackets.
fn segment<'a>(
    mut words: impl Iterator<Item = &'a str>,
    destination: &str,
    printed: &mut String,
) -> Option<()> {
    let mut from = words.next()?;
    words.by_ref().take_while(|word| !is_arrow(word)).for_each(|word| from = word);
    let _ = write!(printed, ".{from} > {destination}.{}: Flags [", words.next()?);
    flags(&mut words, printed)?;
    let fields: Vec<(&str, u32)> = words.map_while(field).collect();
    let value = |name| fields.iter().find(|(field, _)| *field == name).map(|(_, value)| *value);
    let (seq, window, len) = (value("Seq")?, value("Win")?, value("Len")?);
    let _ = write!(printed, "], seq {seq}:{}, window {window}", seq.wrapping_add(len));
    if let Some(ack) = value("Ack") {
        let _ = write!(printed, ", ack {ack}");
    }
    let _ = write!(printed, ", options [nop");
    for (name, number) in &fields {
        let _ = match *name {
            "MSS" => write!(printed, ",mss {number}"),
            "WS" => write!(printed, ",wscale {}", number.trailing_zeros()),
            "SACK_PERM" => write!(printed, ",sackOK"),
            "TSval" => write!(printed, ",TS val {number} ecr {}", value("TSecr")?),
            _ => Ok(()),
        };
    }
    let blocks = |name| fields.iter().filter(move |(field, _)| *field == name).map(|(_, at)| at);
    for (at, (begin, end)) in iter::zip(blocks("SLE"), blocks("SRE")).enumerate() {
        let _ = write!(printed, "{}{{{begin}:{end}}}", if at == 0 { ",sack " } else { "" });
    }
    let _ = write!(printed, "], length {len}");
    Some(())
}

/// `[SYN, ACK]` as `S.`
fn flags<'a>(words: &mut impl Iterator<Item = &'a str>, printed: &mut String) -> Option<()> {
    let mut word = words.next()?.strip_prefix('[')?;
    loop {
        let name = word.trim_end_matches([',', ']']);
        printed.extend(FLAGS.iter().find(|(flag, _)| *flag == name).map(|(_, letter)| letter));
        if word.ends_with(']') {
            return Some(());
        }
        word = words.next()?;
    }
}

/// `Seq=1`, or `SACK_PERM` without a value.
fn field(word: &str) -> Option<(&str, u32)> {
    let (name, value) = word.split_once('=').unwrap_or((word, "1"));
    (word == "SACK_PERM" || word != name).then_some(())?;
    Some((name, value.parse().ok()?))
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_arrow(word: &str) -> bool {
    matches!(word, "→" | "->" | ">")
}

/// `TCP`, `TLSv1.2`, `HTTP/XML`: tcpdump's text has no such word in this place.
fn is_protocol(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_uppercase())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_/.".contains(&byte))
}
