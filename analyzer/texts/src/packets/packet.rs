//! A packet as a text prints it.

use crate::ends::SocketPair;
use crate::flags::SYN;
use crate::times::PrintedTime;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrintedPacket {
    Tcp(SocketPair, PrintedSegment),
    /// A row of a packet list that shows a message instead of ports and numbers, of this length on
    /// the wire; 0 if its place is unknown. Ports that are not printed are 0.
    Message(SocketPair, u32),
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

impl PrintedPacket {
    pub fn ends(&self) -> Option<SocketPair> {
        match self {
            Self::Tcp(ends, _) | Self::Message(ends, _) => Some(*ends),
            _ => None,
        }
    }

    pub fn segment(&self) -> Option<(SocketPair, &PrintedSegment)> {
        match self {
            Self::Tcp(ends, segment) => Some((*ends, segment)),
            _ => None,
        }
    }
}

/// A packet with the time that is printed before it.
pub type Stamped = (PrintedTime, PrintedPacket);

/// The answer of lines, rows and records: a packet, or what is needed for one.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub enum Outcome {
    Packet(Stamped),
    /// The packet goes on in the next line, unless that belongs to something else.
    More(Option<Stamped>),
    /// Names of columns, or what stands before the first packet.
    Heading,
    /// Nothing of a packet.
    #[default]
    Nothing,
}

impl Outcome {
    pub fn is_packet(&self) -> bool {
        matches!(self, Self::Packet(_) | Self::More(Some(_)))
    }

    /// The packet, where no more of it comes.
    pub fn ended(self) -> Option<Stamped> {
        match self {
            Self::Packet(packet) | Self::More(Some(packet)) => Some(packet),
            _ => None,
        }
    }
}

/// One of the captures in a text.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// A heading, or tcpdump's first and last lines, part it from the one before.
    pub number: u16,
    /// How often tcpdump was started before.
    pub starts: u16,
}

/// A packet and its time, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimedPacket {
    pub time_ns: i64,
    pub run: Run,
    pub packet: PrintedPacket,
}

/// The numbers of a TCP segment as printed: they may be relative.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PrintedSegment {
    /// 0 where it is not printed: without `-v`, and in IPv6.
    pub ip_id: u16,
    pub flags: u8,
    /// Not printed of a pure ACK.
    pub seq: Option<u32>,
    pub ack: Option<u32>,
    pub window: u32,
    /// A row of a packet list: numbers count alike; the window is scaled if both SYNs were seen.
    pub is_listed: bool,
    pub options: PrintedOptions,
    /// Options were not printed, or the snap length cut them: which ones were sent is not known.
    pub is_cut: bool,
    /// Other connections could have sent it, or another number of bytes: it proves nothing.
    pub is_inferred: bool,
    pub len: u32,
    /// Its length is not printed: the rows that follow tell it.
    pub lacks_len: bool,
    /// Length of the frame; 0 where it is not printed.
    pub wire_len: u32,
}

/// Lengths of padded frames, without the check sequence: Ethernet's, and Linux cooked captures'.
pub const PADDED: [u32; 2] = [60, 62];

impl PrintedSegment {
    /// Header bytes of a frame; `None` for a SYN, which has more options, and for a padded one.
    pub fn headers_len(&self) -> Option<u32> {
        let is_usual =
            self.flags & SYN == 0 && self.wire_len > 0 && !PADDED.contains(&self.wire_len);
        is_usual.then(|| self.wire_len.checked_sub(self.len)).flatten()
    }

    /// Marks the options of a SYN without an MSS as cut: any stack announces one (RFC 9293, section
    /// 3.7.1), so they were not printed.
    pub fn with_cut_marked(mut self) -> Self {
        self.is_cut |= self.flags & SYN != 0 && self.options.mss.is_none();
        self
    }
}

/// The options that the analysis knows.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PrintedOptions {
    pub mss: Option<u16>,
    pub allows_sack: bool,
    pub window_shift: Option<u8>,
    /// Value and echo.
    pub timestamps: Option<(u32, u32)>,
    /// Where the blocks of SACK begin and end.
    pub sack: [Option<(u32, u32)>; 4],
    /// They make a header longer.
    pub nops: u8,
}

impl PrintedOptions {
    /// Reads `mss 1460,sackOK,TS val 1 ecr 0,nop,wscale 7`; old versions have `timestamp 1 0`.
    pub fn read(printed: &str) -> Self {
        let mut options = Self::default();
        for option in printed.split(',') {
            let mut words = option.split_whitespace();
            let name = words.next().unwrap_or_default();
            let mut numbers = words.clone().filter_map(|word| word.parse().ok());
            let value = words.next().unwrap_or_default();
            match name {
                "nop" => options.nops = options.nops.saturating_add(1),
                "mss" => options.mss = value.parse().ok(),
                "sackOK" => options.allows_sack = true,
                "wscale" => options.window_shift = value.parse().ok(),
                "TS" | "timestamp" => options.timestamps = numbers.next().zip(numbers.next()),
                "sack" => options.set_sack(option.split(['{', '}']).filter_map(block)),
                _ => {}
            }
        }
        options
    }

    pub fn set_sack(&mut self, blocks: impl Iterator<Item = (u32, u32)>) {
        for (into, block) in self.sack.iter_mut().zip(blocks) {
            *into = Some(block);
        }
    }
}

/// `201:301`
fn block(printed: &str) -> Option<(u32, u32)> {
    let (begin, end) = printed.split_once(':')?;
    Some((begin.parse().ok()?, end.parse().ok()?))
}
