//! Segments as frames, and frames as a capture.

use super::addresses::World;
use arbitrary::Arbitrary;

pub const SYN: u8 = 2;
pub const ACK: u8 = 16;
pub const PSH: u8 = 8;
pub const FIN: u8 = 1;
pub const RST: u8 = 4;

/// Payload is zeros, and of no more than this: only its length counts.
const KEPT_PAYLOAD: usize = 64;

#[derive(Arbitrary, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    Ethernet,
    Vlan,
    Raw,
}

/// The tunnel in which the frames of a connection came: as a cloud mirrors them.
#[derive(Arbitrary, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tunnel {
    None,
    /// RFC 2890, with this key.
    Gre(u8),
    /// RFC 7348, of this network.
    Vxlan(u8),
}

/// Both ends of a tunnel are hosts that also talk themselves.
const TUNNEL_ENDS: [u8; 2] = [2, 3];

/// The properties that all frames of a capture share.
#[derive(Debug, Clone, Copy)]
pub struct Wiring {
    pub link: Link,
    pub is_v6: bool,
    pub snap_len: usize,
    pub world: World,
}

pub struct Segment {
    pub tunnel: Tunnel,
    pub from: (u8, u16),
    pub to: (u8, u16),
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub window: u16,
    pub options: Vec<u8>,
    pub ip_options: Vec<u8>,
    pub ip_id: u16,
    pub len: usize,
}

#[derive(Debug, Clone)]
pub struct Frame {
    pub time_ns: i64,
    pub wire_len: usize,
    pub data: Vec<u8>,
}

impl Segment {
    pub fn frame(mut self, time_ns: i64, wiring: Wiring) -> Frame {
        padded(&mut self.options);
        padded(&mut self.ip_options);
        let tcp = self.tcp(wiring);
        let packet = [self.ip_header(tcp.len() + self.len, wiring), tcp].concat();
        let mut data = self.wrapped(&packet, wiring);
        let wire_len = data.len() + self.len;
        data.resize(data.len() + self.len.min(KEPT_PAYLOAD), 0);
        data.truncate(wiring.snap_len);
        Frame { time_ns, wire_len, data }
    }

    /// The header of a link before a packet of this type.
    fn link_header(&self, link: Link, ether_type: [u8; 2], world: World) -> Vec<u8> {
        let [to, from] = [self.to, self.from].map(|(host, _)| world.mac(host));
        match link {
            Link::Raw => Vec::new(),
            Link::Ethernet => [&to[..], &from, &ether_type].concat(),
            Link::Vlan => [&to[..], &from, &[0x81, 0, 0, 7], &ether_type].concat(),
        }
    }

    /// The frame of a packet whose payload follows; the outer packet of a tunnel is IPv4.
    fn wrapped(&self, packet: &[u8], wiring: Wiring) -> Vec<u8> {
        let kind = ether_type(wiring.is_v6);
        let header = |link, kind| self.link_header(link, kind, wiring.world);
        let (protocol, inner) = match self.tunnel {
            Tunnel::None => return [&header(wiring.link, kind), packet].concat(),
            Tunnel::Gre(key) => (47, [&[0x20, 0], &kind[..], &[0, 0, 0, key], packet].concat()),
            Tunnel::Vxlan(network) => {
                let frame = [&header(Link::Ethernet, kind), packet].concat();
                let len = (16 + frame.len() + self.len) as u16;
                let udp = [[0xc0, 0], 4789_u16.to_be_bytes(), len.to_be_bytes(), [0; 2]].concat();
                (17, [&udp[..], &[8, 0, 0, 0, 0, 0, network, 0], &frame].concat())
            }
        };
        let addresses = TUNNEL_ENDS.map(|host| wiring.world.v4(host)).concat();
        let outer = ipv4_header(protocol, inner.len() + self.len, 0, &addresses, &[]);
        [header(wiring.link, ether_type(false)), outer, inner].concat()
    }

    fn ip_header(&self, tcp_len: usize, wiring: Wiring) -> Vec<u8> {
        if wiring.is_v6 {
            let mut header = vec![0x60, 0, 0, 0];
            header.extend((tcp_len as u16).to_be_bytes());
            header.extend([6, 64]);
            header.extend(self.addresses(wiring));
            return header;
        }
        ipv4_header(6, tcp_len, self.ip_id, &self.addresses(wiring), &self.ip_options)
    }

    fn addresses(&self, wiring: Wiring) -> Vec<u8> {
        let hosts = [self.from.0, self.to.0];
        match wiring.is_v6 {
            true => hosts.map(|host| wiring.world.v6(host)).concat(),
            false => hosts.map(|host| wiring.world.v4(host)).concat(),
        }
    }

    fn tcp(&self, wiring: Wiring) -> Vec<u8> {
        let mut tcp = Vec::new();
        tcp.extend(self.from.1.to_be_bytes());
        tcp.extend(self.to.1.to_be_bytes());
        tcp.extend(self.seq.to_be_bytes());
        tcp.extend(self.ack.to_be_bytes());
        tcp.extend([((20 + self.options.len()) / 4 * 16) as u8, self.flags]);
        tcp.extend(self.window.to_be_bytes());
        tcp.extend([0; 4]);
        tcp.extend(&self.options);
        let len = (tcp.len() + self.len) as u16;
        let pseudo = [&self.addresses(wiring)[..], &[0, 6], &len.to_be_bytes()];
        let sum = checksum(&[&pseudo.concat()[..], &tcp].concat());
        tcp[16..18].copy_from_slice(&sum.to_be_bytes());
        tcp
    }
}

fn ether_type(is_v6: bool) -> [u8; 2] {
    if is_v6 { [0x86, 0xdd] } else { [8, 0] }
}

fn ipv4_header(
    protocol: u8,
    payload_len: usize,
    id: u16,
    addresses: &[u8],
    options: &[u8],
) -> Vec<u8> {
    let len = 20 + options.len();
    let mut header = vec![0x40 | (len / 4) as u8, 0];
    header.extend(((len + payload_len) as u16).to_be_bytes());
    header.extend(id.to_be_bytes());
    header.extend([0x40, 0, 64, protocol, 0, 0]);
    header.extend(addresses);
    header.extend(options);
    let sum = checksum(&header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    header
}

/// The longest options, in whole words, that a header can hold.
fn padded(options: &mut Vec<u8>) {
    options.truncate(40);
    options.resize(options.len().next_multiple_of(4), 0);
}

fn checksum(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| low.into());
    let sum: u32 = bytes.chunks(2).map(word).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

/// Times of a capture begin so many seconds before the epoch: 158 years.
const BEGIN_S: i64 = -5_000_000_000;

/// A pcapng file, which can hold any time.
pub fn capture(frames: &[Frame], link: Link) -> Vec<u8> {
    let mut file = Vec::new();
    let magic = 0x1a2b_3c4d_u32.to_le_bytes();
    block(&mut file, 0x0a0d_0d0a, &[&magic, &[1, 0, 0, 0], &[0xff; 8]]);
    let link_type = if link == Link::Raw { 101_u32 } else { 1 };
    let offset = BEGIN_S.to_le_bytes();
    let options = [&[9, 0, 1, 0, 9, 0, 0, 0], &[14, 0, 8, 0][..], &offset, &[0; 4]];
    block(&mut file, 1, &[&link_type.to_le_bytes(), &[0; 4], &options.concat()]);
    for frame in frames {
        let time = (i128::from(frame.time_ns) - i128::from(BEGIN_S) * 1_000_000_000) as u64;
        let lens = [frame.data.len(), frame.wire_len].map(|len| (len as u32).to_le_bytes());
        let [high, low] = [(time >> 32) as u32, time as u32].map(u32::to_le_bytes);
        block(&mut file, 6, &[&[0; 4], &high, &low, &lens.concat(), &frame.data]);
    }
    file
}

fn block(file: &mut Vec<u8>, kind: u32, parts: &[&[u8]]) {
    let mut body = parts.concat();
    body.resize(body.len().next_multiple_of(4), 0);
    let len = (body.len() as u32 + 12).to_le_bytes();
    file.extend([&kind.to_le_bytes()[..], &len, &body, &len].concat());
}
