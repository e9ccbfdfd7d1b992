//! The upstream of each direction: the connection that delivers data before each of its sends.

use crate::judge::pooled::ServerDirection;
use crate::judge::pooled::relays::deliveries::Upstream;
use crate::judge::pooled::relays::ends::WaitEnd;
use crate::judge::pooled::relays::partners::{Coupling, Partners};
use crate::judge::thresholds::FEW_RELEASES;
use crate::track::tracked::Block;
use crate::track::wait::fact;
use crate::track::{Endpoint, Side};
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// One kind of wait of one direction of a connection: between its own data, or before an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RelayLeg {
    connection: u32,
    by: Side,
    own: bool,
}

impl RelayLeg {
    pub fn of(blocks: &[Block], end: &WaitEnd) -> Self {
        let own = end.at.wait(blocks).is(fact::OWN_DATA_BEFORE);
        Self { connection: end.connection, by: end.by, own }
    }
}

pub type Upstreams = HashMap<RelayLeg, Upstream, RandomState>;
type PartnersOf = HashMap<RelayLeg, (ServerDirection, Partners), RandomState>;

/// The directions that pass on.
pub fn upstreams(blocks: &[Block], ends: &[WaitEnd]) -> Upstreams {
    let mut legs = PartnersOf::default();
    for (at, end) in ends.iter().enumerate() {
        let to = (end.server, end.by);
        let (_, partners) =
            legs.entry(RelayLeg::of(blocks, end)).or_insert_with(|| (to, Partners::default()));
        partners.add(blocks, ends, at);
    }
    let ways = Ways::of(&legs);
    let upstream = |(leg, (to, partners)): (RelayLeg, (ServerDirection, Partners))| {
        let from = partners.likely_server().filter(|&from| ways.leads(from, to))?;
        let is_shown = partners.sends >= FEW_RELEASES || ways.is_usual(from, to);
        let upstream = partners.upstream(ways.is_plain(from, to)).filter(|_| is_shown)?;
        Some((leg, upstream))
    };
    legs.into_iter().filter_map(upstream).collect()
}

/// How closely what one server sends follows what another one does.
#[derive(Default)]
struct Ways {
    couplings: HashMap<(Endpoint, ServerDirection), Coupling, RandomState>,
    sends: HashMap<ServerDirection, u32, RandomState>,
}

impl Ways {
    fn of(legs: &PartnersOf) -> Self {
        let mut ways = Self::default();
        for (to, partners) in legs.values() {
            *ways.sends.entry(*to).or_default() += partners.sends;
            for (from, coupling) in partners.servers() {
                *ways.couplings.entry((from, *to)).or_default() += coupling;
            }
        }
        ways
    }

    /// Is data relayed this way more often than the reverse?
    fn leads(&self, from: Endpoint, to: ServerDirection) -> bool {
        let back = (to.0, (from, to.1));
        let here = &self.couplings[&(from, to)];
        self.couplings.get(&back).is_none_or(|back| here.is_stronger_than(back))
    }

    /// Is it so on all of the server's connections together?
    fn is_usual(&self, from: Endpoint, to: ServerDirection) -> bool {
        self.couplings[&(from, to)].is_usual(self.sends[&to], self.is_plain(from, to))
    }

    fn is_plain(&self, from: Endpoint, to: ServerDirection) -> bool {
        self.couplings[&(from, to)].is_plain()
    }
}
