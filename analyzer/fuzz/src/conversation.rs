//! Programs of conversations: what up to four hosts say on four connections, when, and what of it was
//! captured.

use super::addresses::{HOSTS, World};
use super::wire::{self, ACK, FIN, Frame, Link, PSH, RST, SYN, Segment, Tunnel, Wiring};
use arbitrary::{Arbitrary, Unstructured};

/// A longer program is cut.
const MOST_FRAMES: usize = 400;
/// Captures begin in 2023.
const BEGIN_NS: i64 = 1_700_000_000_000_000_000;
/// Within what a capture can say: 146 years around the epoch.
const FARTHEST_NS: i64 = (1 << 62) - 1;

/// Client and server of each connection, as host and port: two to one server, one between other hosts,
/// and one that a relay makes.
const PARTIES: [[(u8, u16); 2]; 4] = [
    [(0, 40_000), (1, 80)],
    [(0, 40_001), (1, 80)],
    [(2, 40_000), (3, 8080)],
    [(1, 50_000), (3, 443)],
];

#[derive(Arbitrary, Debug)]
struct Head {
    link: Link,
    is_v6: bool,
    /// How much of each frame was captured.
    snap: Snap,
    has_timestamps: bool,
    mss: Mss,
    isn: [u32; 2],
    ip_ids: bool,
    /// The wrapping of each connection.
    tunnels: Option<[Tunnel; PARTIES.len()]>,
}

#[derive(Arbitrary, Debug)]
enum Snap {
    All,
    Headers,
    Some(u8),
}

#[derive(Arbitrary, Debug)]
enum Mss {
    Unsaid,
    Usual,
    Loopback,
    Any(u16),
}

#[derive(Arbitrary, Debug)]
struct Step {
    connection: u8,
    by_server: bool,
    gap: Gap,
    act: Act,
}

#[derive(Arbitrary, Debug)]
enum Gap {
    Nanos(u16),
    Micros(u16),
    /// Tens of microseconds.
    Short(u8),
    Millis(u16),
    /// Linux's delayed ACK, and so many microseconds.
    Delayed(u8),
    /// A clock of coarse steps.
    Ticks(u8),
    Seconds(u8),
    /// Frames of several queues are a little out of order.
    Back(u16),
    /// A clock that jumps: only if clocks may.
    Jump {
        exponent: u8,
        back: bool,
    },
    /// A clock that is set: only if clocks may.
    Set(i64),
}

#[derive(Arbitrary, Debug)]
enum Act {
    Open,
    Data(u16),
    Small(u8),
    /// Whole segments.
    Full(u8),
    Ack,
    /// Small data, its ACK after so many ms, and what was held for that ACK; then the peer's answer.
    Held {
        ack_ms: u8,
        lens: [u8; 2],
        answer: u8,
    },
    /// Data that was not captured.
    Lost(u16),
    /// The last data once more.
    Resend,
    Fin,
    Reset,
    /// A segment with anything in it.
    Odd {
        seq: i16,
        ack: i16,
        flags: u8,
        len: u16,
        window: u16,
        option: Odd,
    },
    /// The steps before this one again and again.
    Again {
        steps: u8,
        times: u8,
    },
}

#[derive(Arbitrary, Debug)]
enum Odd {
    Nothing,
    Sack([i16; 2]),
    Raw([u8; 8]),
    /// A host's address in a TCP option of this kind, of so many bytes in all.
    Address {
        kind: u8,
        host: u8,
        which: u8,
    },
    /// An address in an option of IPv4.
    IpAddress {
        kind: u8,
        host: u8,
    },
}

#[derive(Debug)]
pub struct Program {
    head: Head,
    steps: Vec<Step>,
}

impl<'a> Arbitrary<'a> for Program {
    fn arbitrary(from: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let head = from.arbitrary()?;
        let mut steps = Vec::new();
        while !from.is_empty() && steps.len() < MOST_FRAMES {
            steps.push(from.arbitrary()?);
        }
        Ok(Self { head, steps })
    }
}

/// The outcome of a program.
pub struct Conversation {
    pub frames: Vec<Frame>,
    pub world: World,
    link: Link,
    pub is_tunnelled: bool,
    /// All headers were captured.
    pub is_whole: bool,
}

impl Conversation {
    pub fn capture(&self) -> Vec<u8> {
        wire::capture(&self.frames, self.link)
    }

    /// Captures of the first frames, as many as `at`, and of the others.
    pub fn captures(&self, at: usize) -> [Vec<u8>; 2] {
        let (first, second) = self.frames.split_at(at);
        [first, second].map(|frames| wire::capture(frames, self.link))
    }

    /// Filters see neither behind VLAN tags nor into tunnels.
    pub fn is_wrapped(&self) -> bool {
        self.link == Link::Vlan || self.is_tunnelled
    }
}

impl Program {
    /// The same, seen outside of all tunnels.
    pub fn untunnelled(mut self) -> Self {
        self.head.tunnels = None;
        self
    }

    /// `may_jump`: clocks may jump by years.
    pub fn run(&self, world: World, may_jump: bool) -> Conversation {
        let head = &self.head;
        let snap_len = match head.snap {
            Snap::All => usize::MAX,
            Snap::Headers => 96,
            Snap::Some(len) => len.into(),
        };
        let wiring = Wiring { link: head.link, is_v6: head.is_v6, snap_len, world };
        let end = |isn| End { isn, next: isn, last_len: 0, ip_id: isn as u16 };
        let ends = [head.isn.map(end); PARTIES.len()];
        let mut run = Run { head, wiring, may_jump, time_ns: BEGIN_NS, ends, frames: Vec::new() };
        for (at, step) in self.steps.iter().enumerate() {
            run.step(step);
            if let Act::Again { steps, times } = step.act {
                let before = &self.steps[at.saturating_sub(steps.into())..at];
                (0..times).for_each(|_| before.iter().for_each(|step| run.step(step)));
            }
        }
        Conversation {
            frames: run.frames,
            world,
            link: head.link,
            is_tunnelled: head.tunnels.is_some(),
            is_whole: snap_len == usize::MAX,
        }
    }
}

#[derive(Clone, Copy)]
struct End {
    isn: u32,
    next: u32,
    last_len: u16,
    ip_id: u16,
}

struct Run<'a> {
    head: &'a Head,
    wiring: Wiring,
    may_jump: bool,
    time_ns: i64,
    ends: [[End; 2]; PARTIES.len()],
    frames: Vec<Frame>,
}

impl Run<'_> {
    fn step(&mut self, step: &Step) {
        let connection = usize::from(step.connection) % PARTIES.len();
        let by = usize::from(step.by_server);
        self.wait(&step.gap);
        let end = &mut self.ends[connection][by];
        match step.act {
            Act::Open => self.open(connection),
            Act::Data(len) => self.data(connection, by, len),
            Act::Small(len) => self.data(connection, by, len.into()),
            Act::Full(count) => {
                let mss = self.mss().unwrap_or(1460);
                (0..=count % 8).for_each(|_| self.data(connection, by, mss));
            }
            Act::Ack => self.send(connection, by, ACK, 0, 0),
            Act::Held { ack_ms, lens, answer } => self.held(connection, by, ack_ms, lens, answer),
            Act::Lost(len) => end.next = end.next.wrapping_add(len.into()),
            Act::Resend => {
                let len = end.last_len;
                self.send(connection, by, ACK | PSH, len, u32::from(len).wrapping_neg());
            }
            Act::Fin => {
                self.send(connection, by, ACK | FIN, 0, 0);
                self.ends[connection][by].next = self.ends[connection][by].next.wrapping_add(1);
            }
            Act::Reset => self.send(connection, by, RST, 0, 0),
            Act::Odd { .. } => self.odd(connection, by, &step.act),
            Act::Again { .. } => {}
        }
    }

    fn wait(&mut self, gap: &Gap) {
        let gap_ns = match *gap {
            Gap::Nanos(count) => count.into(),
            Gap::Micros(count) => i64::from(count) * 1_000,
            Gap::Short(count) => i64::from(count) * 10_000,
            Gap::Millis(count) => i64::from(count) * 1_000_000,
            Gap::Delayed(count) => 40_000_000 + i64::from(count) * 1_000,
            Gap::Ticks(count) => {
                let tick_ns = 4_000_000;
                i64::from(count) * tick_ns - self.time_ns % tick_ns
            }
            Gap::Seconds(count) => i64::from(count) * 1_000_000_000,
            Gap::Back(count) => i64::from(count) * -1_000,
            Gap::Jump { exponent, back } if self.may_jump => {
                let far_ns = 1 << (exponent % 63);
                if back { -far_ns } else { far_ns }
            }
            Gap::Set(time_ns) if self.may_jump => time_ns.saturating_sub(self.time_ns),
            Gap::Jump { .. } | Gap::Set(_) => 0,
        };
        self.time_ns = self.time_ns.saturating_add(gap_ns).clamp(-FARTHEST_NS, FARTHEST_NS);
    }

    fn open(&mut self, connection: usize) {
        for end in &mut self.ends[connection] {
            (end.next, end.last_len) = (end.isn, 0);
        }
        self.send(connection, 0, SYN, 0, 0);
        self.ends[connection][0].next = self.ends[connection][0].isn.wrapping_add(1);
        self.wait(&Gap::Short(3));
        self.send(connection, 1, SYN | ACK, 0, 0);
        self.ends[connection][1].next = self.ends[connection][1].isn.wrapping_add(1);
        self.wait(&Gap::Short(2));
        self.send(connection, 0, ACK, 0, 0);
    }

    fn data(&mut self, connection: usize, by: usize, len: u16) {
        self.send(connection, by, ACK | PSH, len, 0);
        let end = &mut self.ends[connection][by];
        end.next = end.next.wrapping_add(len.into());
        end.last_len = len;
    }

    fn held(&mut self, connection: usize, by: usize, ack_ms: u8, lens: [u8; 2], answer: u8) {
        self.data(connection, by, lens[0].into());
        self.wait(&Gap::Millis(ack_ms.into()));
        self.send(connection, 1 - by, ACK, 0, 0);
        self.wait(&Gap::Short(2));
        self.data(connection, by, lens[1].into());
        self.wait(&Gap::Short(answer));
        self.data(connection, 1 - by, answer.into());
    }

    fn mss(&self) -> Option<u16> {
        match self.head.mss {
            Mss::Unsaid => None,
            Mss::Usual => Some(1460),
            Mss::Loopback => Some(65_483),
            Mss::Any(mss) => Some(mss),
        }
    }

    fn send(&mut self, connection: usize, by: usize, flags: u8, len: u16, seq_off: u32) {
        let segment = self.segment(connection, by, flags, len, seq_off);
        self.captured(segment);
    }

    fn captured(&mut self, segment: Segment) {
        if self.frames.len() < MOST_FRAMES {
            self.frames.push(segment.frame(self.time_ns, self.wiring));
        }
    }

    fn segment(
        &mut self,
        connection: usize,
        by: usize,
        flags: u8,
        len: u16,
        seq_off: u32,
    ) -> Segment {
        let mut options = Vec::new();
        if flags & SYN != 0 {
            let mss = self.mss().into_iter();
            options.extend(mss.flat_map(|mss| [2, 4, (mss >> 8) as u8, mss as u8]));
        }
        if self.head.has_timestamps {
            let millis = (self.time_ns / 1_000_000) as u32;
            options.extend([1, 1, 8, 10]);
            options.extend([millis, millis.wrapping_sub(1)].map(u32::to_be_bytes).concat());
        }
        let peer = self.ends[connection][1 - by];
        let end = &mut self.ends[connection][by];
        end.ip_id = end.ip_id.wrapping_add(u16::from(self.head.ip_ids));
        let [from, to] = [PARTIES[connection][by], PARTIES[connection][1 - by]];
        Segment {
            tunnel: self.head.tunnels.map_or(Tunnel::None, |tunnels| tunnels[connection]),
            from,
            to,
            seq: end.next.wrapping_add(seq_off),
            ack: if flags & ACK == 0 { 0 } else { peer.next },
            flags,
            window: 0xffff,
            options,
            ip_options: Vec::new(),
            ip_id: end.ip_id,
            len: len.min(65_300).into(),
        }
    }

    fn odd(&mut self, connection: usize, by: usize, act: &Act) {
        let Act::Odd { seq, ack, flags, len, window, option } = act else { return };
        let mut segment = self.segment(connection, by, *flags, *len, i32::from(*seq) as u32);
        segment.ack = segment.ack.wrapping_add_signed((*ack).into());
        segment.window = *window;
        let world = self.wiring.world;
        match option {
            Odd::Nothing => {}
            Odd::Sack(offs) => {
                let edges = offs.map(|off| segment.ack.wrapping_add_signed(off.into()));
                segment.options.extend([5, 10]);
                segment.options.extend(edges.map(u32::to_be_bytes).concat());
            }
            Odd::Raw(bytes) => segment.options.extend(bytes),
            Odd::Address { kind, host, which } => {
                let address = &world.all(host % HOSTS)[usize::from(which % 3)];
                segment.options.extend([*kind, address.len() as u8 + 2]);
                segment.options.extend(address);
            }
            Odd::IpAddress { kind, host } => {
                segment.ip_options.extend([*kind, 7, 4]);
                segment.ip_options.extend(world.v4(host % HOSTS));
            }
        }
        self.captured(segment);
    }
}
