//! Which connection does a direction pass on from? The one that has something for it before each of
//! its own sends.

use crate::judge::relays::ends::End;
use crate::judge::relays::partners::{Flow, Tally};
use crate::judge::thresholds::{ONE_HOST_RTT_NS, PASSED_ON_KNOWN_ONE_OF};
use crate::track::tracker::Block;
use crate::track::wait::fact;
use crate::track::{Connection, Endpoint, Side};
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// One kind of wait of one direction: between its own data, or before an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Direction {
    connection: u32,
    by: Side,
    own: bool,
}

impl Direction {
    pub fn of(blocks: &[Block], end: &End) -> Self {
        let wait = end.wait(blocks);
        Self { connection: wait.connection, by: wait.by, own: wait.is(fact::OWN_DATA_BEFORE) }
    }
}

/// Where what a direction passes on comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upstream {
    /// The same bytes, on a connection to a server: a plain relay.
    Stream(Endpoint),
    /// One connection, whose bytes are changed on the way.
    Connection(u32),
    /// The connections to a server, as a pool of them.
    Server(Endpoint),
}

pub type Upstreams = HashMap<Direction, Upstream, RandomState>;

impl Upstream {
    pub fn is(self, link: &Link) -> bool {
        match self {
            Self::Stream(server) => link.server == server && link.same_bytes,
            Self::Connection(connection) => link.connection == connection,
            Self::Server(server) => link.server == server,
        }
    }

    /// May this end be one of it?
    pub fn may_be(self, blocks: &[Block], end: &End) -> bool {
        let connection = end.connection(blocks);
        match self {
            Self::Connection(id) => connection.id == id,
            Self::Stream(server) | Self::Server(server) => connection.ends.server == server,
        }
    }
}

/// An end on another connection that brought something to the host that sends.
#[derive(Debug, Clone, Copy)]
pub struct Link {
    pub connection: u32,
    pub server: Endpoint,
    /// How long before the send it arrived.
    pub ahead_ns: i64,
    /// As many bytes at the same place in the stream.
    pub same_bytes: bool,
}

/// Did `arrived` bring something to who `sent`? A relay is the server of one connection and the client
/// of the other, and passes on in the same direction. Two connections to the same server are two of
/// its clients.
pub fn links(blocks: &[Block], sent: &End, arrived: &End) -> Option<Link> {
    let (to, from) = (sent.connection(blocks), arrived.connection(blocks));
    let (out, into) = (sent.wait(blocks), arrived.wait(blocks));
    let passes = to.id != from.id && out.by == into.by && to.ends.server != from.ends.server;
    let same_host = passes && is_one_host((to, out.by), (from, into.by.other()));
    same_host.then(|| Link {
        connection: from.id,
        server: from.ends.server,
        ahead_ns: sent.time_ns - arrived.time_ns,
        same_bytes: (out.len, out.rel_seq) == (into.len, into.rel_seq),
    })
}

/// Are these ends of two connections on one host? What a host calls itself is any of its addresses.
fn is_one_host(one: (&Connection, Side), other: (&Connection, Side)) -> bool {
    let [first, second] = [one, other].map(|(connection, side)| connection.endpoint(side).addr);
    let near = |(connection, side): (&Connection, Side)| {
        connection.half(side).measured_rtt_ns().is_some_and(|rtt_ns| rtt_ns < ONE_HOST_RTT_NS)
    };
    first == second || first.is_loopback() && near(other) || second.is_loopback() && near(one)
}

/// The connections to one server that send in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Service {
    server: Endpoint,
    by: Side,
}

type Tallies = HashMap<Direction, (Service, Tally), RandomState>;

/// The directions that pass on.
pub fn upstreams(blocks: &[Block], ends: &[End]) -> Upstreams {
    let mut tallies = Tallies::default();
    for (at, end) in ends.iter().enumerate() {
        let direction = Direction::of(blocks, end);
        let service = Service { server: end.connection(blocks).ends.server, by: direction.by };
        let (_, tally) = tallies.entry(direction).or_insert_with(|| (service, Tally::default()));
        tally.add(blocks, ends, at);
    }
    let ways = Ways::of(&tallies);
    tallies.retain(|_, (service, tally)| {
        tally.likely_server().is_some_and(|upstream| ways.leads(*service, upstream))
    });
    let mut upstreams = Upstreams::default();
    for (direction, (service, tally)) in &tallies {
        let plain = tally.likely_server().is_some_and(|server| ways.is_plain(*service, server));
        if let Some(upstream) = tally.upstream(plain) {
            upstreams.insert(*direction, upstream);
        }
    }
    adopt(&tallies, &ways, &mut upstreams);
    upstreams
}

/// From which server to which something is passed on.
struct Ways(HashMap<(Service, Endpoint), Flow, RandomState>);

impl Ways {
    fn of(tallies: &Tallies) -> Self {
        let mut ways = Self(HashMap::default());
        for (service, tally) in tallies.values() {
            for (upstream, flow) in tally.flows() {
                *ways.0.entry((*service, upstream)).or_default() += flow;
            }
        }
        ways
    }

    /// Does it lead from `upstream` to this service, and not back?
    fn leads(&self, service: Service, upstream: Endpoint) -> bool {
        let back = (Service { server: upstream, ..service }, service.server);
        let here = &self.0[&(service, upstream)];
        self.0.get(&back).is_none_or(|back| here.is_stronger_than(back))
    }

    fn is_plain(&self, service: Service, upstream: Endpoint) -> bool {
        self.0[&(service, upstream)].is_plain()
    }
}

/// Of many connections through one relay, in step with each other, some do not prove it by themselves:
/// they have the upstream of the others.
fn adopt(tallies: &Tallies, ways: &Ways, upstreams: &mut Upstreams) {
    let mut services: HashMap<(Service, Endpoint, bool), (u32, u32), RandomState> =
        HashMap::default();
    let key = |direction: &Direction, service: &Service, tally: &Tally| {
        tally.likely_server().map(|server| (*service, server, direction.own))
    };
    for (direction, (service, tally)) in tallies {
        let Some(key) = key(direction, service, tally) else { continue };
        let (all, proven) = services.entry(key).or_default();
        *all += 1;
        *proven += u32::from(upstreams.contains_key(direction));
    }
    for (direction, (service, tally)) in tallies {
        let Some(key) = key(direction, service, tally) else { continue };
        let (all, proven) = services[&key];
        if proven > 0 && proven * PASSED_ON_KNOWN_ONE_OF >= all {
            let server = key.1;
            upstreams.entry(*direction).or_insert(match ways.is_plain(*service, server) {
                true => Upstream::Stream(server),
                false => Upstream::Server(server),
            });
        }
    }
}
