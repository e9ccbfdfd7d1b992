//! The fields of one row of a list, whatever its columns are called: tshark's and Wireshark's packet lists,
//! CSV, `-T fields`, `-T json` and `-V`.

use super::ends::EndNames;
use super::packet::{Options, Packet, Segment, Stamped};
use super::time;
use crate::capture::flags::{ACK, PSH};
use std::iter;

/// The role of a column or of a named value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Time,
    Source,
    Destination,
    SourcePort,
    DestinationPort,
    Protocol,
    /// Length of the frame.
    Length,
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
    /// The factor of windows, and its logarithm.
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
const NAMES: [(Role, &[&str]); 20] = [
    (
        Role::Time,
        &[
            "time",
            "frame.time",
            "frame.time.epoch",
            "frame.time.relative",
            "frame.time.utc",
            "epoch time",
            "epoch arrival time",
        ],
    ),
    (Role::Source, &["source", "src", "ip.src", "ipv6.src"]),
    (Role::Destination, &["destination", "dst", "ip.dst", "ipv6.dst"]),
    (Role::SourcePort, &["source port", "src port", "srcport", "sport", "tcp.srcport"]),
    (
        Role::DestinationPort,
        &["destination port", "dest port", "dst port", "dstport", "dport", "tcp.dstport"],
    ),
    (Role::Protocol, &["protocol", "frame.protocols"]),
    (Role::Length, &["length", "frame.len"]),
    (Role::Info, &["info"]),
    (Role::Flags, &["flags", "tcp.flags", "tcp.flags.str"]),
    (Role::Seq, &["seq", "sequence number", "tcp.seq"]),
    (Role::Ack, &["ack", "acknowledgment number", "tcp.ack"]),
    (Role::Len, &["len", "tcp.len"]),
    (Role::Window, &["win", "tcp.window.size", "calculated window size"]),
    (Role::RawWindow, &["tcp.window.size.value", "window", "window size value"]),
    (Role::Mss, &["mss", "tcp.options.mss.val", "mss value"]),
    (Role::Scale, &["ws"]),
    (Role::Shift, &["tcp.options.wscale.shift", "shift count"]),
    (Role::TsVal, &["tsval", "timestamp value", "tcp.options.timestamp.tsval"]),
    (Role::TsEcr, &["tsecr", "timestamp echo reply", "tcp.options.timestamp.tsecr"]),
    (Role::IpId, &["ip.id", "identification"]),
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
    let is_same = |known: &&str| {
        known.len() == name.len()
            && iter::zip(known.bytes(), name.bytes()).all(|(known, byte)| {
                known == byte.to_ascii_lowercase() || known == b'.' && byte == b'_'
            })
    };
    NAMES.iter().find(|(_, names)| names.iter().any(is_same)).map(|(role, _)| *role)
}

/// Not TCP. Other protocols may be messages in TCP segments.
const OTHERS: &str = "ARP ICMP ICMPv6 IGMPv2 IGMPv3 UDP DNS MDNS LLMNR NBNS DHCP DHCPv6 NTP SSDP QUIC SNMP \
                      STP LLDP RTP RTCP CLDAP WireGuard";

/// From the lowest bit on.
const FLAGS: [&str; 8] = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];

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

    /// The packet; `None` where time or ends are missing.
    pub fn packet(mut self, names: &mut EndNames) -> Option<Stamped> {
        let stamp = time::listed(self.get(Role::Time)?)?;
        self.read_info();
        let of = |role| self.get(role).map(last);
        let hosts = [of(Role::Source)?, of(Role::Destination)?];
        let ports = [of(Role::SourcePort), of(Role::DestinationPort)];
        let segment = ports[0].and(ports[1]).and_then(|_| self.segment());
        if segment.is_none() && self.is_other() {
            return Some((stamp, Packet::NotTcp));
        }
        let [from, to] = [0, 1].map(|at| (hosts[at], ports[at].unwrap_or("0")));
        let packet = match (names.ends([from, to], hosts[0].contains(':')), segment) {
            (None, _) => Packet::Unreadable,
            (Some(ends), Some(segment)) => Packet::Tcp(ends, segment),
            (Some(ends), None) => Packet::Message(ends, self.message_len()),
        };
        Some((stamp, packet))
    }

    /// Is it known to be no TCP?
    fn is_other(&self) -> bool {
        match self.get(Role::Protocol) {
            Some(protocol) if protocol.contains(':') => !protocol.contains(":tcp"),
            Some(protocol) => OTHERS.split(' ').any(|other| other == protocol),
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
    fn read_info(&mut self) -> Option<()> {
        let info = self.get(Role::Info)?;
        let (before, numbers) = info.split_at(info.find(" Seq=").or_else(|| info.find(" Len="))?);
        let (ends, flags) = before.rsplit_once('[')?;
        let (flags, _) = flags.rsplit_once(']')?;
        let mut words = ends.split_whitespace().rev();
        let (to, _arrow, from) = (words.next()?, words.next()?, words.next()?);
        self.set(Role::SourcePort, from);
        self.set(Role::DestinationPort, to);
        self.set(Role::Flags, flags);
        for (name, value) in numbers.split_whitespace().filter_map(|word| word.split_once('=')) {
            if let Some(role) = role(name) {
                self.set(role, value);
            }
        }
        self.set(Role::Sack, numbers);
        Some(())
    }

    /// `None` where Seq or Len are missing.
    fn segment(&self) -> Option<Segment> {
        let (seq, len) = (self.number(Role::Seq)?, self.number(Role::Len)?);
        let ack = self.number(Role::Ack);
        let flags = self.flags(ack.is_some(), len > 0);
        let window = self.number(Role::Window).or(self.number(Role::RawWindow));
        Some(Segment {
            ip_id: self.number(Role::IpId).and_then(|id| id.try_into().ok()).unwrap_or(0),
            flags,
            seq: Some(seq),
            ack: ack.filter(|_| flags & ACK != 0),
            window: window.unwrap_or(u16::MAX.into()),
            is_listed: true,
            options: self.options(),
            is_cut: false,
            len,
            wire_len: self.number(Role::Length).unwrap_or(0),
        })
    }

    fn options(&self) -> Options {
        let shift = self.number(Role::Scale).map(u32::trailing_zeros).or(self.number(Role::Shift));
        // A window that is not scaled is not to be scaled back.
        let shift = shift.filter(|_| self.number(Role::RawWindow).is_none());
        let mut options = Options {
            mss: self.number(Role::Mss).and_then(|mss| mss.try_into().ok()),
            window_shift: shift.and_then(|shift| shift.try_into().ok()),
            timestamps: self.number(Role::TsVal).zip(self.number(Role::TsEcr)),
            nops: 1,
            ..Options::default()
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
        let is_letters = flags.contains(['·', '*']);
        let is_set = |name: &str| {
            flags.split([',', ' ']).any(|flag| flag == name)
                || is_letters && flags.contains(&name[..1])
        };
        let bits = FLAGS.iter().enumerate().filter(|(_, name)| is_set(name));
        bits.fold(0, |bits, (at, _)| bits | 1 << at)
    }
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

pub fn is_digits(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}
