//! Which connection does a direction pass on from? The one that has something for it before each of
//! its own sends.

use crate::judge::pooled::relays::ends::End;
use crate::judge::pooled::relays::links::{Direction, Upstream};
use crate::judge::pooled::relays::partners::{Flow, Tally};
use crate::judge::thresholds::PASSED_ON_KNOWN_ONE_OF;
use crate::track::tracked::Block;
use crate::track::{Endpoint, Side};
use foldhash::fast::RandomState;
use hashbrown::HashMap;

pub type Upstreams = HashMap<Direction, Upstream, RandomState>;

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
