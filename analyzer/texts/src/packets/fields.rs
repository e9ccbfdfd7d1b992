//! The fields of one row of a list, whatever its columns are called: tshark's and Wireshark's
//! packet lists, CSV, `-T fields`, `-T json` and `-V`.

use super::packet::{Outcome, PrintedOptions, PrintedPacket, PrintedSegment};
use super::tokens;
use crate::ends::EndNames;
use crate::flags::{self, ACK, PSH, SYN};
use crate::times;
use std::{iter, mem};

/// The roles of columns and named values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Time,
    Source,
    Destination,
    SourcePort,
    DestinationPort,
    Protocol,
    /// Length of the frame, and of as much as was captured.
    Length,
    Captured,
    Info,
    Flags,
    Seq,
    Ack,
    /// Length of the payload.
    Len,
    Window,
    /// Not scaled.
    RawWindow,
    Mss,
    /// The factor of windows, and its logarithm. `WS` is always written so.
    Scale,
    Shift,
    TsVal,
    TsEcr,
    IpId,
    /// All that follows the ports.
    Sack,
}

/// Their names: of columns, of display filter fields, in the details of a packet and in its info.
/// Case is ignored, `_` is `.`.
const NAMES: [(Role, &str); 20] = [
    (
        Role::Time,
        "time|frame.time|frame.time.epoch|frame.time.relative|frame.time.utc|arrival time|\
            epoch time|epoch arrival time",
    ),
    (Role::Source, "source|src|ip.src|ipv6.src"),
    (Role::Destination, "destination|dst|ip.dst|ipv6.dst"),
    (Role::SourcePort, "source port|src port|srcport|sport|tcp.srcport"),
    (Role::DestinationPort, "destination port|dest port|dst port|dstport|dport|tcp.dstport"),
    (Role::Protocol, "protocol|frame.protocols"),
    (Role::Length, "length|frame.len"),
    (Role::Captured, "frame.cap.len|capture length"),
    (Role::Info, "info|description"),
    (Role::Flags, "flags|tcp.flags|tcp.flags.str"),
    (Role::Seq, "seq|sequence number|tcp.seq"),
    (Role::Ack, "ack|acknowledgment number|tcp.ack"),
    (Role::Len, "len|payloadlen|tcp.len"),
    (Role::Window, "win|tcp.window.size|calculated window size"),
    (Role::RawWindow, "tcp.window.size.value|window|window size value"),
    (Role::Mss, "mss|tcp.options.mss.val|mss value"),
    (Role::Shift, "tcp.options.wscale.shift|shift count"),
    (Role::TsVal, "tsval|timestamp value|tcp.options.timestamp.tsval"),
    (Role::TsEcr, "tsecr|timestamp echo reply|tcp.options.timestamp.tsecr"),
    (Role::IpId, "ip.id|identification"),
];

/// The role of a column or a value of this name, if it is needed.
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
    match name {
        "" => None,
        "WS" => Some(Role::Scale),
        _ => NAMES.iter().find(|(_, names)| names.split('|').any(is_same)).map(|(role, _)| *role),
    }
}

/// Not TCP. Other protocols may be messages in TCP segments.
const OTHERS: &str = "ARP ICMP ICMPv6 IGMPv2 IGMPv3 UDP DNS MDNS LLMNR NBNS DHCP DHCPv6 NTP SSDP QUIC SNMP \
                      STP LLDP RTP RTCP CLDAP WireGuard";

/// The longest frame of an ACK without options but timestamps, on the links that are usual.
const LONGEST_ACK: u32 = 72;

/// The values of one row, as printed; empty where there is none.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct RowFields<'a>([&'a str; Role::Sack as usize + 1]);

impl<'a> RowFields<'a> {
    /// The last of several values counts: that of the innermost packet.
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

    /// The packet of a row. Its info may go on in the next line; `Nothing` without time or ends.
    pub fn outcome(mut self, names: &mut EndNames) -> Outcome {
        let is_cut = self.read_info().is_none() && self.is_info_cut();
        let stamp = self.get(Role::Time).and_then(times::listed);
        match stamp.and_then(|stamp| Some((stamp, self.packet_of(names)?))) {
            Some(packet) if is_cut => Outcome::More(Some(packet)),
            Some(packet) => Outcome::Packet(packet),
            None => Outcome::Nothing,
        }
    }

    /// The packet, wherever its time is printed.
    pub fn packet_of(&self, names: &mut EndNames) -> Option<PrintedPacket> {
        let of = |role| self.get(role).map(|value| inner(last(value)));
        let hosts = [of(Role::Source)?, of(Role::Destination)?];
        let ports = [of(Role::SourcePort), of(Role::DestinationPort)];
        let segment = ports[0].and(ports[1]).and_then(|_| self.segment());
        if segment.is_none() && self.is_other() {
            return Some(PrintedPacket::NotTcp);
        }
        let info = self.get(Role::Info).unwrap_or_default();
        if segment.is_none() && self.get(Role::Protocol) == Some("TCP") {
            match () {
                () if info.is_empty() => return Some(PrintedPacket::Unreadable),
                () if info.contains(" Seq=") && ports[0].is_none() => {
                    return Some(PrintedPacket::WithoutPorts);
                }
                () => {}
            }
        }
        let [from, to] = [0, 1].map(|at| (hosts[at], ports[at].unwrap_or("0")));
        Some(match (names.ends([from, to], hosts[0].contains(':')), segment) {
            (None, _) => PrintedPacket::Unreadable,
            (Some(ends), Some(segment)) => PrintedPacket::Tcp(ends, segment),
            (Some(ends), None) => PrintedPacket::Message(ends, self.message_len()),
        })
    }

    /// Is it known to be another protocol than TCP?
    fn is_other(&self) -> bool {
        match self.get(Role::Protocol) {
            Some(protocol) if protocol.contains(':') => !protocol.contains(":tcp"),
            Some(protocol) => OTHERS.split(' ').any(|other| other == protocol),
            None => self.get(Role::Info).is_none() && self.get(Role::SourcePort).is_none(),
        }
    }

    /// 0 if the row does not show where the message belongs.
    fn message_len(&self) -> u32 {
        let info = self.get(Role::Info).unwrap_or_default();
        let is_misplaced = info.contains("Retransmission") || info.contains("Out-Of-Order");
        if is_misplaced { 0 } else { self.number(Role::Length).unwrap_or(0) }
    }

    /// `55690 → 8888 [SYN, ACK] Seq=0 Ack=1 Win=65483 Len=0 MSS=65495`, maybe after `[remarks]`, or
    /// `TCP:Flags=...A..S., SrcPort=55690, DstPort=HTTP(80), PayloadLen=0, Seq=0, Ack=1,
    /// Win=65483`.
    fn read_info(&mut self) -> Option<()> {
        let info = self.get(Role::Info)?;
        if let Some((_, items)) = info.split_once("TCP:").filter(|_| info.contains(" Win=")) {
            self.set_all(items.split(", "));
            // Not scaled, and the scale is unknown.
            self.0[Role::RawWindow as usize] = mem::take(&mut self.0[Role::Window as usize]);
            return Some(());
        }
        let numbers_at = info.find(" Seq=").or_else(|| info.find(" Len="))?;
        let (before, numbers) = info.split_at(numbers_at);
        let (ends, flags) = before.rsplit_once('[')?;
        let (flags, _) = flags.rsplit_once(']')?;
        let [from, to] = ports(ends)?;
        self.set(Role::SourcePort, from);
        self.set(Role::DestinationPort, to);
        self.set(Role::Flags, flags);
        self.set_all(numbers.split_whitespace());
        self.set(Role::Sack, numbers);
        self.get(Role::Len).map(|_| ())
    }

    fn set_all(&mut self, items: impl Iterator<Item = &'a str>) {
        for (name, value) in items.filter_map(|item| item.split_once('=')) {
            if let Some(role) = role(name) {
                self.set(role, value);
            }
        }
    }

    /// Does the info of a TCP row end before its Len? Other infos are messages.
    fn is_info_cut(&self) -> bool {
        let is_tcp = self.get(Role::Protocol).is_some_and(|protocol| protocol == "TCP");
        let info = self.get(Role::Info).unwrap_or_default();
        let inner = info.rsplit_once("] ").map_or(info, |(_, inner)| inner);
        is_tcp && (inner.is_empty() || tokens::is_digits(inner) || info.starts_with("TCP:Flags="))
            || is_tcp
                && (info.ends_with(']') && info.starts_with("[TCP ") && !info.contains(" of a "))
            || is_tcp && info.starts_with('[') && !info.contains(']')
            || inner.split_whitespace().nth(1).is_some_and(tokens::is_arrow)
            || ports(inner.split(" [").next().unwrap_or_default()).is_some()
            || info.rsplit_once('[').is_some_and(|(ends, _)| ports(ends).is_some())
    }

    /// `None` where Seq or Len are missing.
    fn segment(&self) -> Option<PrintedSegment> {
        // Some print no Len of 0.
        let is_short = self.number(Role::Length).is_some_and(|len| len <= LONGEST_ACK);
        let no_len = (is_short && self.get(Role::Info).is_some()).then_some(0);
        let (seq, len) = (self.number(Role::Seq)?, self.number(Role::Len).or(no_len)?);
        let ack = self.number(Role::Ack);
        let flags = self.flags(ack.is_some(), len > 0);
        let window = self.number(Role::Window).or(self.number(Role::RawWindow));
        Some(
            PrintedSegment {
                ip_id: self.number(Role::IpId).and_then(|id| id.try_into().ok()).unwrap_or(0),
                flags,
                seq: Some(seq),
                ack: ack.filter(|_| flags & ACK != 0),
                window: window.unwrap_or(u16::MAX.into()),
                is_listed: true,
                options: self.options(),
                is_cut: flags & SYN != 0 && self.is_cut(),
                len,
                wire_len: self.number(Role::Length).unwrap_or(0),
                ..PrintedSegment::default()
            }
            .with_cut_marked(),
        )
    }

    /// Did the snap length cut the frame, and so perhaps the options of a SYN?
    fn is_cut(&self) -> bool {
        let lengths = self.number(Role::Captured).zip(self.number(Role::Length));
        let info = self.get(Role::Info).unwrap_or_default();
        lengths.is_some_and(|(captured, len)| captured < len)
            || info.contains("[Packet size limited")
    }

    fn options(&self) -> PrintedOptions {
        let shift = self.number(Role::Scale).map(u32::trailing_zeros).or(self.number(Role::Shift));
        // A window that is not scaled is not to be scaled back.
        let is_scaled =
            self.number(Role::Window).is_some() || self.number(Role::RawWindow).is_none();
        let shift = shift.filter(|_| is_scaled);
        let mut options = PrintedOptions {
            mss: self.number(Role::Mss).and_then(|mss| mss.try_into().ok()),
            window_shift: shift.and_then(|shift| shift.try_into().ok()),
            timestamps: self.number(Role::TsVal).zip(self.number(Role::TsEcr)),
            nops: 1,
            ..PrintedOptions::default()
        };
        // `SLE=201 SRE=301 SLE=401 SRE=501`
        let words = self.get(Role::Sack).unwrap_or_default().split_whitespace();
        let named = |name: &'static str| {
            words.clone().filter_map(move |word| number(word.strip_prefix(name)?))
        };
        options.set_sack(iter::zip(named("SLE="), named("SRE=")));
        options
    }

    /// Flags from `SYN, ACK`, `0x0012` or `·······A··S·`; the usual ones where none are printed.
    fn flags(&self, has_ack: bool, has_data: bool) -> u8 {
        let Some(flags) = self.get(Role::Flags) else {
            return if has_data { PSH } else { 0 } | if has_ack { ACK } else { 0 };
        };
        if flags.starts_with("0x") {
            return flags.split(' ').next().and_then(number).unwrap_or(0) as u8;
        }
        // Some escape the dots of tshark's string.
        let is_letters = flags.contains(['·', '*', '.']);
        let is_set = |name: &str| {
            flags.split([',', ' ']).any(|flag| flag == name)
                || is_letters && flags.contains(&name[..1])
        };
        let bits = flags::NAMES.iter().enumerate().filter(|(_, name)| is_set(name));
        bits.fold(0, |bits, (at, _)| bits | 1 << at)
    }
}

/// The last value of a field; the values of outer packets come first.
fn last(values: &str) -> &str {
    values.rsplit(',').next().unwrap_or(values).trim()
}

/// `1`, `0x1`, or `1    (relative sequence number)`.
fn number(text: &str) -> Option<u32> {
    // Quotes and commas of lists may stand behind it.
    let text = text.trim_end_matches(|sign: char| !sign.is_alphanumeric());
    let word = last(text).split([' ', '(']).next()?;
    match word.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => word.parse().ok(),
    }
}

/// `http (80)`, `HTTP(80)`, `name (10.0.0.1)`: what stands in parentheses is the number.
fn inner(value: &str) -> &str {
    value
        .split_once('(')
        .and_then(|(_, inside)| inside.split_once(')'))
        .map_or(value, |(inside, _)| inside)
}

/// `50000 → 80`, or without spaces, maybe after remarks: `[TCP Retransmission] 50000→80`.
fn ports(ends: &str) -> Option<[&str; 2]> {
    let ends = ends.rsplit(']').next()?.trim();
    let mut words = ends.split_whitespace();
    let (from, to) =
        match [words.next()?, words.next().unwrap_or_default(), words.next().unwrap_or_default()] {
            [both, "", ""] => {
                let is_arrow = |c: char| !c.is_ascii() || c == '>';
                let (from, to) = both.split_once(is_arrow)?;
                (from.trim_end_matches('-'), to.trim_start_matches(is_arrow))
            }
            [from, arrow, to] if tokens::is_arrow(arrow) => (from, to),
            _ => return None,
        };
    let are_ports = words.next().is_none()
        && [from, to].iter().all(|port| tokens::is_name(port) && !port.is_empty());
    are_ports.then_some([from, to])
}
