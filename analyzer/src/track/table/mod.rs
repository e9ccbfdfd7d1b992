//! From addresses and ports to a connection, numbered in the order of their first frames.

mod asked;
pub mod key;
mod slots;
mod tunnels;

use crate::decode::tunnel::Tunnel;
use crate::decode::{ACK, Header, SYN};
use crate::track::Side;
use crate::track::table::asked::Asked;
use crate::track::table::key::{Address, AnyKey, Inside, Key, KeyInside, LongKey};
use crate::track::table::slots::Slots;
use crate::track::table::tunnels::Tunnels;
use foldhash::quality::RandomState;

/// The connection of a segment, and who sent it.
#[derive(Debug, Clone, Copy)]
pub struct Located {
    pub connection: u32,
    pub by: Side,
    /// The connection begins with this segment.
    pub is_new: bool,
}

impl Located {
    pub const NOTHING: Self = Self { connection: u32::MAX, by: Side::Client, is_new: false };
}

/// How a segment's connection is looked up.
#[derive(Debug, Clone, Copy)]
struct Lookup<K> {
    key: K,
    hash: u64,
    from_low: bool,
}

/// Finds the connection of a segment. The hash is seeded per process: an attacker chooses the
/// addresses, and must not choose the collisions.
#[derive(Default)]
pub struct Table {
    v4: Known<u32>,
    v6: Known<[u32; 4]>,
    inside: Known<Inside>,
    tunnels: Tunnels,
    flows: Flows,
}

/// Connections by their keys, and those that wait for an answer.
#[derive(Default)]
struct Known<A: Address> {
    slots: Slots<Key<A>>,
    asked: Asked<A>,
}

/// No flow is [`EMPTY`](slots::EMPTY), and none loses bits of its number.
const MOST_OF_SHARD: u32 = 1 << 28;

/// The flows of IPv4 and IPv6 alike.
#[derive(Default)]
struct Flows {
    seed: RandomState,
    /// One per connection.
    bases: Vec<Base>,
    /// The connection that had the ports of the newest one before it.
    replaced: Option<u32>,
}

/// An entry of the table: the number of a connection times four, and two facts.
#[derive(Debug, Clone, Copy)]
struct Flow(u32);

/// Initial sequence numbers of both sides, once known: they tell whether a SYN belongs to the
/// connection that had these ports last.
#[derive(Debug, Clone, Copy, Default)]
struct Base {
    seq: [u32; 2],
    known: [bool; 2],
}

impl Table {
    /// The hash of a key; prefetches what its look-up will read.
    #[inline]
    pub fn fetch(&self, key: AnyKey<'_>) -> u64 {
        match key {
            AnyKey::V4(key) => self.v4.slots.fetch(key.hash(&self.flows.seed)),
            AnyKey::Long(LongKey::V6(key)) => self.v6.slots.fetch(key.hash(&self.flows.seed)),
            // Its place depends on the lookups before it.
            AnyKey::Long(LongKey::Inside(..)) => 0,
        }
    }

    /// The connection of a segment, whose key has this hash; opens one where needed. Is the sender the
    /// lower endpoint of the key?
    #[expect(
        clippy::inline_always,
        reason = "not inlined, a look-up takes 20 to 30 instructions more"
    )]
    #[inline(always)]
    pub fn find(&mut self, key: AnyKey<'_>, hash: u64, from_low: bool, header: &Header) -> Located {
        match key {
            AnyKey::V4(key) => {
                self.flows.find(&mut self.v4, Lookup { key, hash, from_low }, header)
            }
            AnyKey::Long(&LongKey::V6(key)) => {
                self.flows.find(&mut self.v6, Lookup { key, hash, from_low }, header)
            }
            AnyKey::Long(&LongKey::Inside(key, tunnel)) => {
                self.find_inside(key, tunnel, from_low, header)
            }
        }
    }

    /// Like `find`, in a tunnel. Rare: kept out of the hot loop.
    #[cold]
    #[inline(never)]
    fn find_inside(
        &mut self,
        key: KeyInside,
        tunnel: Tunnel,
        from_low: bool,
        header: &Header,
    ) -> Located {
        let key = key.at(self.tunnels.place(key, tunnel, from_low, header));
        let hash = key.hash(&self.flows.seed);
        self.flows.find(&mut self.inside, Lookup { key, hash, from_low }, header)
    }

    /// The connection that had the ports of the newest one before it, if there was one.
    pub fn take_replaced(&mut self) -> Option<u32> {
        self.flows.replaced.take()
    }

    /// Later segments belong to other connections, even between the same ports: another capture
    /// that overlaps in time was opened.
    pub fn forget(&mut self) {
        self.v4 = Known::default();
        self.v6 = Known::default();
        self.inside = Known::default();
        self.tunnels = Tunnels::default();
    }
}

impl Flows {
    #[inline]
    fn find<A: Address>(
        &mut self,
        known: &mut Known<A>,
        lookup: Lookup<Key<A>>,
        header: &Header,
    ) -> Located {
        let flow = known.slots.find(lookup.hash, lookup.key).map(Flow);
        match flow.filter(|flow| flow.is_settled() && !header.has(SYN)) {
            Some(flow) => flow.found(lookup.from_low),
            None => self.find_or_open(known, flow, lookup, header),
        }
    }

    /// Like `find`, for SYNs and for connections whose bases are not both known.
    #[inline(never)]
    fn find_or_open<A: Address>(
        &mut self,
        known: &mut Known<A>,
        flow: Option<Flow>,
        lookup: Lookup<Key<A>>,
        header: &Header,
    ) -> Located {
        let (key, from_low) = (lookup.key, lookup.from_low);
        let base_of = |flow: &Flow| self.bases[flow.connection() as usize];
        let is_answer = header.has(SYN) && !header.is_opening();
        let fits =
            |flow: &Flow| !header.has(SYN) || base_of(flow).fits(header, flow.side(from_low));
        let may_answer = |connection: u32| !self.bases[connection as usize].known[1];
        let translated = || {
            let asked = is_answer.then(|| known.asked.answered(key, header, may_answer))?;
            asked.map(|connection| Flow::new(connection, !from_low))
        };
        let own = flow.filter(fits).or_else(translated);
        let going_on = own.or(flow.filter(|_| is_answer));
        if going_on.is_none() {
            self.replaced = flow.map(Flow::connection);
        }
        let flow = going_on.unwrap_or_else(|| self.open(lookup, header));
        if going_on.is_none() && header.is_opening() {
            known.asked.add(key, header, flow.connection());
        }
        let base = &mut self.bases[flow.connection() as usize];
        base.note(header, flow.side(from_low));
        let flow = flow.settled(base.known == [true; 2]);
        known.slots.set(lookup.hash, key, flow.0, |key| key.hash(&self.seed));
        Located { is_new: going_on.is_none(), ..flow.found(from_low) }
    }

    fn open<A: Address>(&mut self, lookup: Lookup<Key<A>>, header: &Header) -> Flow {
        let connection = self.bases.len() as u32;
        assert!(connection < MOST_OF_SHARD, "a shard with more than 268 million connections");
        self.bases.push(Base::default());
        let [low, high] = lookup.key.ports;
        let from_client = if lookup.from_low {
            is_from_client(low, high, header)
        } else {
            is_from_client(high, low, header)
        };
        Flow::new(connection, lookup.from_low == from_client)
    }
}

impl Flow {
    /// Is the client's endpoint the lower one of the key?
    const CLIENT_LOW: u32 = 1;
    /// The bases of both sides are known.
    const SETTLED: u32 = 2;
    fn new(connection: u32, client_low: bool) -> Self {
        Self(connection << 2 | u32::from(client_low))
    }

    fn settled(self, settled: bool) -> Self {
        Self(self.0 | if settled { Self::SETTLED } else { 0 })
    }

    #[inline]
    fn connection(self) -> u32 {
        self.0 >> 2
    }

    #[inline]
    fn is_settled(self) -> bool {
        self.0 & Self::SETTLED != 0
    }

    #[inline]
    fn side(self, from_low: bool) -> Side {
        let client_low = self.0 & Self::CLIENT_LOW != 0;
        if from_low == client_low { Side::Client } else { Side::Server }
    }

    #[inline]
    fn found(self, from_low: bool) -> Located {
        Located { connection: self.connection(), by: self.side(from_low), is_new: false }
    }
}

impl Base {
    /// Does a SYN belong to it? Another sequence number than the sender's data has opens a new
    /// connection on the same ports (Wireshark's 'TCP port numbers reused'); and an answer
    /// acknowledges the other side's.
    fn fits(&self, syn: &Header, by: Side) -> bool {
        let is =
            |side: Side, seq: u32| !self.known[side as usize] || self.seq[side as usize] == seq;
        is(by, syn.seq) && (syn.is_opening() || is(by.other(), syn.ack.wrapping_sub(1)))
    }

    /// The first segment of a side tells where its sequence numbers begin, or the first ACK of the
    /// other side does.
    fn note(&mut self, header: &Header, by: Side) {
        let first = header.seq.wrapping_sub(u32::from(!header.has(SYN)));
        self.set(by, first);
        if header.has(ACK) {
            self.set(by.other(), header.ack.wrapping_sub(1));
        }
    }

    fn set(&mut self, side: Side, seq: u32) {
        let side = side as usize;
        if !self.known[side] {
            self.known[side] = true;
            self.seq[side] = seq;
        }
    }
}

/// The client sends the SYN. Without one, the server has the port of a service, or else the lower
/// one: well-known and registered ports lie below the ephemeral ones (RFC 6335, section 6).
fn is_from_client(src: u16, dst: u16, header: &Header) -> bool {
    match (header.has(SYN), header.has(ACK)) {
        (true, false) => true,
        (true, true) => false,
        _ => match (is_service(src), is_service(dst)) {
            (false, true) => true,
            (true, false) => false,
            _ => src >= dst,
        },
    }
}

/// Is it a well-known port, or that of a service whose clients may have a lower one? Windows took
/// client ports from 1025 on until 2008, and others still do; clients of NFS and of the `r`
/// commands take reserved ones, which only root may (`bindresvport`).
fn is_service(port: u16) -> bool {
    port < FIRST_RESERVED || SERVICES.binary_search(&port).is_ok()
}

const FIRST_RESERVED: u16 = 512;

/// Ports (IANA) of common services from there on, in ascending order; of plants, 2404 is IEC 60870-5-104, 4840
/// OPC UA, 20000 DNP3 and 44818 EtherNet/IP.
const SERVICES: [u16; 56] = [
    512, 513, 514, 515, 543, 544, 548, 554, 563, 587, 593, 631, 636, 646, 853, 860, 873, 902, 989,
    990, 993, 995, 1433, 1521, 1723, 1863, 1883, 2049, 2404, 3128, 3260, 3306, 3389, 4840, 5050,
    5060, 5190, 5222, 5269, 5432, 5672, 5900, 5984, 6000, 6379, 6667, 8000, 8080, 8443, 8883, 9042,
    9092, 11211, 20000, 27017, 44818,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Options, Ports};
    use crate::track::table::key::addresses_v4;

    const CLIENT_PORTS: Ports = Ports { src: 40_000, dst: 80 };
    const SERVER_PORTS: Ports = Ports { src: 80, dst: 40_000 };

    const CLIENT: [u8; 4] = [10, 0, 0, 1];
    const SERVER: [u8; 4] = [10, 0, 0, 2];

    /// The connection of a segment between two hosts, with these flags and this sequence number.
    fn find(table: &mut Table, ports: Ports, flags: u8, seq: u32) -> Located {
        let hosts = if ports == CLIENT_PORTS { [CLIENT, SERVER] } else { [SERVER, CLIENT] };
        find_between(table, hosts, ports, flags, [seq, 0])
    }

    fn find_between(
        table: &mut Table,
        [from, to]: [[u8; 4]; 2],
        ports: Ports,
        flags: u8,
        [seq, ack]: [u32; 2],
    ) -> Located {
        let mut addresses = [0; 8];
        addresses[..4].copy_from_slice(&from);
        addresses[4..].copy_from_slice(&to);
        let options = Options::default();
        let header = Header { seq, ack, len: 0, window: 0, ip_id: 0, options, flags };
        let (key, from_low) = Key::new(addresses_v4(addresses), ports);
        let key = AnyKey::V4(key);
        table.find(key, table.fetch(key), from_low, &header)
    }

    /// The bridge of a container host: the server sees the host's address, and answers the client's.
    #[test]
    fn an_answer_to_another_address_is_of_the_connection_whose_syn_it_acknowledges() {
        const HOST: [u8; 4] = [172, 17, 0, 1];
        let mut table = Table::default();
        let asks = |table: &mut Table, flags, seq| {
            find_between(table, [HOST, SERVER], CLIENT_PORTS, flags, [seq, 901])
        };
        let answers = |table: &mut Table, to, flags, numbers| {
            let located = find_between(table, [SERVER, to], SERVER_PORTS, flags, numbers);
            (located.connection, located.by)
        };
        // The ports are used again.
        for (number, base) in [(0, 100), (1, 5000)] {
            assert_eq!(asks(&mut table, SYN, base).connection, number);
            let syn_ack = answers(&mut table, CLIENT, SYN | ACK, [900, base + 1]);
            assert_eq!(syn_ack, (number, Side::Server));
            assert_eq!(asks(&mut table, ACK, base + 1).connection, number);
            let data = answers(&mut table, CLIENT, ACK, [901, base + 1]);
            assert_eq!(data, (number, Side::Server));
        }
        // An answer to nothing, or to a SYN that has its answer, is a connection of its own.
        let other = [10, 0, 0, 3];
        assert_eq!(answers(&mut table, other, SYN | ACK, [900, 5001]).0, 2);
        assert_eq!(asks(&mut table, SYN, 7000).connection, 3);
        assert_eq!(answers(&mut table, [10, 0, 0, 4], SYN | ACK, [900, 42]).0, 4);
    }

    #[test]
    fn both_directions_are_one_connection_and_the_syn_names_the_client() {
        let mut table = Table::default();
        let asked = find(&mut table, CLIENT_PORTS, SYN, 100);
        let answered = find(&mut table, SERVER_PORTS, SYN | ACK, 900);
        assert_eq!((asked.connection, answered.connection), (0, 0));
        assert_eq!((asked.by, answered.by), (Side::Client, Side::Server));
    }

    #[test]
    fn ports_used_again_are_a_new_connection_and_a_syn_sent_again_is_not() {
        let mut table = Table::default();
        let connections =
            [100, 100, 5000].map(|seq| find(&mut table, CLIENT_PORTS, SYN, seq).connection);
        assert_eq!(connections, [0, 0, 1]);
        assert_eq!(find(&mut table, CLIENT_PORTS, ACK, 5001).connection, 1);
    }

    #[test]
    fn without_a_syn_a_service_is_the_server_whatever_port_its_client_has() {
        let by = |src, dst| find(&mut Table::default(), Ports { src, dst }, ACK, 100).by;
        assert_eq!([by(1047, 5222), by(5222, 1047)], [Side::Client, Side::Server]);
        assert_eq!([by(6667, 80), by(80, 6667)], [Side::Client, Side::Server]);
        // Ports of industry are registered among the ephemeral ones.
        assert_eq!([by(3033, 44_818), by(44_818, 3033)], [Side::Client, Side::Server]);
        // An NFS client on a reserved port, and one of a protocol nobody knows.
        assert_eq!([by(909, 2049), by(2049, 909)], [Side::Client, Side::Server]);
        assert_eq!([by(40_000, 909), by(40_000, 993)], [Side::Client; 2]);
        assert!(SERVICES.is_sorted());
    }

    #[test]
    fn another_capture_shares_no_connection_with_the_last() {
        let mut table = Table::default();
        find(&mut table, CLIENT_PORTS, ACK, 100);
        table.forget();
        assert_eq!(find(&mut table, CLIENT_PORTS, ACK, 200).connection, 1);
    }
}
