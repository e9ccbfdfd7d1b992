//! The fields of one row of a list, whatever its columns are called: tshark's and Wireshark's packet lists,
//! CSV, `-T fields`, `-T json` and `-V`. The row is rewritten as tcpdump prints it, for one reader of all.

use std::fmt::Write;
use std::iter;
use std::net::IpAddr;

/// What a column or a named value tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Time,
    Source,
    Destination,
    SourcePort,
    DestinationPort,
    Protocol,
    /// Of the frame.
    Length,
    Info,
    Flags,
    Seq,
    Ack,
    /// Of the payload.
    Len,
    Window,
    /// Not scaled.
    RawWindow,
    Mss,
    /// What windows are multiplied by, and its logarithm.
    Scale,
    Shift,
    TsVal,
    TsEcr,
    Sack,
    IpId,
}

const ROLES: usize = Role::IpId as usize + 1;

/// By the names of columns, of display filter fields, in the details of a packet and in its info. Case
/// does not matter, and `_` is `.`.
const NAMES: [(&str, Role); 62] = [
    ("time", Role::Time),
    ("frame.time", Role::Time),
    ("frame.time.epoch", Role::Time),
    ("frame.time.relative", Role::Time),
    ("frame.time.utc", Role::Time),
    ("epoch time", Role::Time),
    ("epoch arrival time", Role::Time),
    ("source", Role::Source),
    ("src", Role::Source),
    ("ip.src", Role::Source),
    ("ipv6.src", Role::Source),
    ("destination", Role::Destination),
    ("dst", Role::Destination),
    ("ip.dst", Role::Destination),
    ("ipv6.dst", Role::Destination),
    ("source port", Role::SourcePort),
    ("src port", Role::SourcePort),
    ("srcport", Role::SourcePort),
    ("sport", Role::SourcePort),
    ("tcp.srcport", Role::SourcePort),
    ("destination port", Role::DestinationPort),
    ("dest port", Role::DestinationPort),
    ("dst port", Role::DestinationPort),
    ("dstport", Role::DestinationPort),
    ("dport", Role::DestinationPort),
    ("tcp.dstport", Role::DestinationPort),
    ("protocol", Role::Protocol),
    ("frame.protocols", Role::Protocol),
    ("length", Role::Length),
    ("frame.len", Role::Length),
    ("info", Role::Info),
    ("flags", Role::Flags),
    ("tcp.flags", Role::Flags),
    ("tcp.flags.str", Role::Flags),
    ("seq", Role::Seq),
    ("sequence number", Role::Seq),
    ("tcp.seq", Role::Seq),
    ("ack", Role::Ack),
    ("acknowledgment number", Role::Ack),
    ("tcp.ack", Role::Ack),
    ("len", Role::Len),
    ("tcp.len", Role::Len),
    ("win", Role::Window),
    ("tcp.window.size", Role::Window),
    ("calculated window size", Role::Window),
    ("tcp.window.size.value", Role::RawWindow),
    ("window", Role::RawWindow),
    ("window size value", Role::RawWindow),
    ("mss", Role::Mss),
    ("tcp.options.mss.val", Role::Mss),
    ("mss value", Role::Mss),
    ("ws", Role::Scale),
    ("tcp.options.wscale.shift", Role::Shift),
    ("shift count", Role::Shift),
    ("tsval", Role::TsVal),
    ("timestamp value", Role::TsVal),
    ("tcp.options.timestamp.tsval", Role::TsVal),
    ("tsecr", Role::TsEcr),
    ("timestamp echo reply", Role::TsEcr),
    ("tcp.options.timestamp.tsecr", Role::TsEcr),
    ("ip.id", Role::IpId),
    ("identification", Role::IpId),
];

/// What a column or a value of this name tells, if anything that is needed.
pub fn role(name: &str) -> Option<Role> {
    let name = name.trim().strip_prefix("_ws.col.").unwrap_or(name.trim());
    // `-T ek` names the protocol twice.
    let name = match name.split_once('_') {
        Some((protocol, rest))
            if rest.strip_prefix(protocol).is_some_and(|rest| rest.starts_with('_')) =>
        {
            rest
        }
        _ => name,
    };
    let is_same = |known: &str| {
        known.len() == name.len()
            && iter::zip(known.bytes(), name.bytes()).all(|(known, byte)| {
                known == byte.to_ascii_lowercase() || known == b'.' && byte == b'_'
            })
    };
    NAMES.iter().find(|(known, _)| is_same(known)).map(|(_, role)| *role)
}

/// Not TCP. Other protocols may be messages in TCP segments.
const OTHERS: [&str; 22] = [
    "ARP",
    "ICMP",
    "ICMPv6",
    "IGMPv2",
    "IGMPv3",
    "UDP",
    "DNS",
    "MDNS",
    "LLMNR",
    "NBNS",
    "DHCP",
    "DHCPv6",
    "NTP",
    "SSDP",
    "QUIC",
    "SNMP",
    "STP",
    "LLDP",
    "RTP",
    "RTCP",
    "CLDAP",
    "WireGuard",
];

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

/// The values of one row, as printed; empty where there is none.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Fields<'a>([&'a str; ROLES]);

impl<'a> Fields<'a> {
    /// Of several values, the last is told: that of the innermost packet.
    pub fn set(&mut self, role: Role, value: &'a str) {
        let value = value.trim();
        if !value.is_empty() {
            self.0[role as usize] = value;
        }
    }

    pub fn get(&self, role: Role) -> Option<&'a str> {
        Some(self.0[role as usize]).filter(|value| !value.is_empty())
    }

    fn number(&self, role: Role) -> Option<u32> {
        number(self.get(role)?)
    }

    /// Writes the packet into `printed`; `None` where time or ends are missing.
    ///
    /// Where a message stands instead of ports and Seq, its length is written.
    pub fn write(mut self, printed: &mut String) -> Option<()> {
        let [source, destination] = [Role::Source, Role::Destination].map(|role| self.get(role));
        let (source, destination) = (last(source?), last(destination?));
        printed.clear();
        time(self.get(Role::Time)?, printed)?;
        let is_v6 = source.contains(':');
        let _ = write!(printed, " {}{} {source}", if is_v6 { "IP6" } else { "IP" }, self.ip_id());
        self.read_info();
        let ports = [Role::SourcePort, Role::DestinationPort];
        let [from, to] = ports.map(|role| self.get(role).map_or("0", last));
        let len = printed.len();
        let _ = write!(printed, ".{from} > {destination}.{to}: ");
        if self.segment(printed).is_none() {
            printed.truncate(len);
            let _ = write!(printed, ".{from} > {destination}.{to}: ");
            match self.other() {
                true => printed.push_str("UDP"),
                false => write!(printed, "message {}", self.message_len()).unwrap_or_default(),
            }
        }
        Some(())
    }

    /// Is it known to be no TCP?
    fn other(&self) -> bool {
        match self.get(Role::Protocol) {
            Some(protocol) if protocol.contains(':') => !protocol.contains(":tcp"),
            Some(protocol) => OTHERS.contains(&protocol),
            None => self.get(Role::Info).is_none() && self.get(Role::SourcePort).is_none(),
        }
    }

    /// 0 for one whose place nothing tells.
    fn message_len(&self) -> u32 {
        let info = self.get(Role::Info).unwrap_or_default();
        let is_misplaced = info.contains("Retransmission") || info.contains("Out-Of-Order");
        if is_misplaced { 0 } else { self.number(Role::Length).unwrap_or(0) }
    }

    /// `55690 → 8888 [SYN, ACK] Seq=0 Ack=1 Win=65483 Len=0 MSS=65495`, maybe after remarks in brackets.
    fn read_info(&mut self) {
        let Some(info) = self.get(Role::Info) else { return };
        let Some(at) = info.find(" Seq=").or_else(|| info.find(" Len=")) else { return };
        let (ends, numbers) = info.split_at(at);
        let (Some(open), Some(close)) = (ends.rfind('['), ends.rfind(']')) else { return };
        let Some(flags) = ends.get(open + 1..close) else { return };
        let mut words = ends[..open].split_whitespace().rev();
        let (Some(to), Some(_arrow), Some(from)) = (words.next(), words.next(), words.next())
        else {
            return;
        };
        let read = [(Role::SourcePort, from), (Role::DestinationPort, to), (Role::Flags, flags)];
        for (role, value) in read {
            self.set(role, value);
        }
        for word in numbers.split_whitespace() {
            match word.split_once('=') {
                Some(("SLE", _)) if self.get(Role::Sack).is_some() => {}
                Some(("SLE", _)) => {
                    let at = numbers.find("SLE=").unwrap_or(numbers.len());
                    self.set(Role::Sack, &numbers[at..]);
                }
                Some((name, value)) => {
                    if let Some(role) = role(name) {
                        self.set(role, value);
                    }
                }
                None => {}
            }
        }
    }

    /// `None` where ports, Seq or Len are missing.
    fn segment(&self, printed: &mut String) -> Option<()> {
        self.get(Role::SourcePort).zip(self.get(Role::DestinationPort))?;
        let (seq, len, ack) =
            (self.number(Role::Seq)?, self.number(Role::Len)?, self.number(Role::Ack));
        let flags = self.flags(ack.is_some(), len > 0);
        let _ = write!(printed, "Flags [{flags}], seq {seq}:{}", seq.wrapping_add(len));
        let raw = self.number(Role::RawWindow);
        let window = self.number(Role::Window).or(raw).unwrap_or(u16::MAX.into());
        let _ =
            write!(printed, ", window {window}, frame {}", self.number(Role::Length).unwrap_or(0));
        if let Some(ack) = ack.filter(|_| flags.contains('.')) {
            let _ = write!(printed, ", ack {ack}");
        }
        let _ = write!(printed, ", options [nop");
        if let Some(mss) = self.number(Role::Mss) {
            let _ = write!(printed, ",mss {mss}");
        }
        let shift = self.number(Role::Scale).map(u32::trailing_zeros);
        // A window that is not scaled is not to be scaled back.
        let shift = shift.or(self.number(Role::Shift)).filter(|_| raw.is_none());
        if let Some(shift) = shift {
            let _ = write!(printed, ",wscale {shift}");
        }
        if let (Some(value), Some(echo)) = (self.number(Role::TsVal), self.number(Role::TsEcr)) {
            let _ = write!(printed, ",TS val {value} ecr {echo}");
        }
        self.sack(printed);
        let _ = write!(printed, "], length {len}");
        Some(())
    }

    /// `SLE=201 SRE=301 SLE=401 SRE=501`
    fn sack(&self, printed: &mut String) {
        let words = self.get(Role::Sack).unwrap_or_default().split_whitespace();
        let named = |wanted: &'static str| {
            words.clone().filter_map(move |word| number(word.strip_prefix(wanted)?))
        };
        for (at, (begin, end)) in iter::zip(named("SLE="), named("SRE=")).enumerate() {
            let _ = write!(printed, "{}{{{begin}:{end}}}", if at == 0 { ",sack " } else { "" });
        }
    }

    /// `SYN, ACK`, `0x0012` or `·······A··S·` as `S.`; where they are not told, what they mostly are.
    fn flags(&self, has_ack: bool, has_data: bool) -> String {
        let Some(flags) = self.get(Role::Flags).map(last_of_flags) else {
            return [("P", has_data), (".", has_ack)]
                .map(|(flag, is)| if is { flag } else { "" })
                .concat();
        };
        if let Some(bits) =
            flags.strip_prefix("0x").and_then(|hex| u32::from_str_radix(hex, 16).ok())
        {
            let letters = FLAGS.iter().enumerate();
            return letters
                .filter(|(at, _)| bits >> at & 1 != 0)
                .map(|(_, (_, letter))| *letter)
                .collect();
        }
        let names = |name: &str| flags.split([',', ' ']).any(|flag| flag == name);
        let is_letters = flags.contains(['·', '*']);
        let is_set = |name: &str| names(name) || is_letters && flags.contains(&name[..1]);
        FLAGS.iter().filter(|(name, _)| is_set(name)).map(|(_, letter)| *letter).collect()
    }

    /// As in the line of `-v`.
    fn ip_id(&self) -> String {
        self.number(Role::IpId)
            .map_or_else(String::new, |id| format!(" (tos 0x0, id {id}, flags [])"))
    }
}

/// `0x018` of `0x018 (PSH, ACK)`, and of several values.
fn last_of_flags(flags: &str) -> &str {
    if flags.starts_with("0x") { last(flags.split(' ').next().unwrap_or(flags)) } else { flags }
}

/// Of the values of one field, those of outer packets come first.
fn last(values: &str) -> &str {
    values.rsplit(',').next().unwrap_or(values).trim()
}

/// `1`, `0x1`, or `1    (relative sequence number)`.
fn number(text: &str) -> Option<u32> {
    let word = last(text).split([' ', '(']).next()?;
    match word.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => word.parse().ok(),
    }
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Any of Wireshark's forms as tcpdump has it: `2026-11-26 09:00:00.044020`, with a `T` between or as
/// `Nov 26, 2026 09:00:00.044020123 UTC`, of day, since the epoch or since another packet.
fn time(text: &str, printed: &mut String) -> Option<()> {
    let mut month_and_day = None;
    let mut words = text.split([' ', 'T']).filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        let word = word.trim_end_matches([',', 'Z', 's']);
        if let Some(month) = MONTHS.iter().position(|month| *month == word) {
            month_and_day =
                Some((month + 1, words.next()?.trim_end_matches(',').parse::<u32>().ok()?));
        } else if let (Some((month, day)), true) =
            (month_and_day, word.len() == 4 && is_digits(word))
        {
            let _ = write!(printed, "{word}-{month:02}-{day:02} ");
        } else if word.len() == 10 && word.matches('-').count() == 2 {
            let _ = write!(printed, "{word} ");
        } else {
            let (whole, fraction) = word.split_once('.')?;
            let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
            let is_clock = whole.bytes().all(|byte| byte.is_ascii_digit() || b":-".contains(&byte));
            let is_end =
                fraction[digits..].is_empty() || fraction[digits..].starts_with(['+', '-']);
            ((1..=9).contains(&digits) && is_clock && is_end).then_some(())?;
            let _ = write!(printed, "{whole}.{:0<9}", &fraction[..digits]);
            return Some(());
        }
    }
    None
}

/// Could it be a time, or part of one?
pub fn is_time(word: &str) -> bool {
    time(word, &mut String::new()).is_some() && word.parse::<IpAddr>().is_err()
}

pub fn is_digits(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_time_is_written_as_tcpdump_does() {
        for (text, expected) in [
            ("0.044", "0.044000000"),
            ("-0.000002", "-0.000002000"),
            ("1795683600.044020123", "1795683600.044020123"),
            ("10:00:00.04", "10:00:00.040000000"),
            ("2026-11-26 09:00:00.044020", "2026-11-26 09:00:00.044020000"),
            ("2026-11-26T09:00:00.044020123Z", "2026-11-26 09:00:00.044020123"),
            ("Nov  6, 2026 09:00:00.044020123 UTC", "2026-11-06 09:00:00.044020123"),
        ] {
            let mut printed = String::new();
            assert_eq!(time(text, &mut printed), Some(()), "{text}");
            assert_eq!(printed, expected);
        }
        for text in ["", "10.0.0.1", "10:00", "TCP", "2026-11-26", "Nov 26, 2026"] {
            assert_eq!(time(text, &mut String::new()), None, "{text}");
        }
    }
}
