//! Who had something for a direction just before its sends, and how often.

use crate::judge::pooled::relays::ends::{self, End};
use crate::judge::pooled::relays::links::{Link, Upstream, links};
use crate::judge::thresholds::{
    PASSED_ON_APART, PASSED_ON_ONE_OF, PASSED_ON_TIMES, PASSED_ON_UNLESS_ONE_OF,
};
use crate::track::Endpoint;
use crate::track::tracked::Block;
use std::cmp::Reverse;
use std::ops::AddAssign;

/// Partners looked at for each direction, and servers of theirs.
const MOST_PARTNERS: usize = 16;
const MOST_SERVERS: usize = 4;

/// What came before the sends of one direction.
#[derive(Default)]
pub struct Tally {
    sends: u32,
    connections: Vec<Partner<u32>>,
    servers: Vec<Partner<Endpoint>>,
}

struct Partner<T> {
    who: T,
    flow: Flow,
}

/// How many sends follow something, and how long after it in all.
#[derive(Debug, Clone, Copy, Default)]
pub struct Flow {
    /// Sends just after something of it arrived; those with something of it just after them, or too
    /// long before. With them, of how many it is the same bytes.
    after: Count,
    beside: Count,
    ahead_ns: i64,
    /// Did any of it arrive at another address?
    is_apart: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    all: u32,
    same_bytes: u32,
}

impl Tally {
    pub fn add(&mut self, blocks: &[Block], ends: &[End], at: usize) {
        self.sends += 1;
        let linked = |end: &End| links(blocks, &ends[at], end);
        let arrived: Vec<Link> = ends::before(ends, at).filter_map(linked).collect();
        if arrived.is_empty() && self.servers.is_empty() {
            return;
        }
        let mut others: Vec<Link> = ends::beside(ends, at).filter_map(linked).collect();
        for link in &arrived {
            partner(&mut self.connections, link.connection, MOST_PARTNERS);
            partner(&mut self.servers, link.server, MOST_SERVERS);
        }
        for known in &mut self.connections {
            known.flow.add(&arrived, &others, |link| link.connection == known.who);
        }
        // Of many connections some has something at any time.
        others.extend(ends::long_before(ends, at).filter_map(linked));
        for known in &mut self.servers {
            known.flow.add(&arrived, &others, |link| link.server == known.who);
        }
    }

    /// What has something for this direction before its sends: a server, or else one connection to it.
    /// `plain`: does it pass on bytes as they are?
    pub fn upstream(&self, plain: bool) -> Option<Upstream> {
        let server = best(&self.servers, self.sends, plain).map(|partner| partner.who);
        let connection = || best(&self.connections, self.sends, plain).map(|partner| partner.who);
        match (plain, server) {
            (true, Some(server)) => Some(Upstream::Stream(server)),
            (true, None) => connection().and(self.likely_server()).map(Upstream::Stream),
            (false, Some(server)) => Some(Upstream::Server(server)),
            (false, None) => connection().map(Upstream::Connection),
        }
    }

    /// The server that most of its sends follow, if any.
    pub fn likely_server(&self) -> Option<Endpoint> {
        self.servers.iter().max_by_key(|partner| partner.flow.rank()).map(|partner| partner.who)
    }

    /// For each server, how much of it these sends follow.
    pub fn flows(&self) -> impl Iterator<Item = (Endpoint, Flow)> {
        self.servers.iter().map(|partner| (partner.who, partner.flow))
    }
}

fn best<T>(partners: &[Partner<T>], sends: u32, plain: bool) -> Option<&Partner<T>> {
    let best = partners.iter().max_by_key(|partner| partner.flow.rank());
    best.filter(|partner| partner.flow.is_upstream(sends, plain))
}

/// Adds the one of this name while there is room.
fn partner<T: PartialEq>(known: &mut Vec<Partner<T>>, who: T, most: usize) {
    if known.len() < most && known.iter().all(|partner| partner.who != who) {
        known.push(Partner { who, flow: Flow::default() });
    }
}

impl Flow {
    /// Counts a send by the links before it and beside it that are `own`.
    fn add(&mut self, arrived: &[Link], others: &[Link], own: impl Fn(&Link) -> bool) {
        self.after.add(arrived.iter().filter(|link| own(link)));
        self.beside.add(others.iter().filter(|link| own(link)));
        let nearest = arrived.iter().find(|link| own(link));
        self.ahead_ns += nearest.map_or(0, |link| link.ahead_ns);
        self.is_apart |= nearest.is_some_and(|link| link.is_apart);
    }

    /// The best has the highest. Of a chain the next leg comes before those behind it.
    fn rank(&self) -> (u32, u32, Reverse<i64>) {
        (self.after.all, self.after.same_bytes, Reverse(self.ahead_ns))
    }

    /// Are bytes passed on as they arrived? No program changes them and keeps length and place.
    pub fn is_plain(&self) -> bool {
        let Count { all, same_bytes } = self.after;
        same_bytes >= PASSED_ON_TIMES || (all > 0 && same_bytes == all)
    }

    /// Consistently, and hardly ever the other way round; a few times may be chance, unless it is the same
    /// bytes. What passes on the same bytes may hold others itself.
    fn is_upstream(&self, sends: u32, plain: bool) -> bool {
        let count = |count: Count| if plain { count.same_bytes } else { count.all };
        let (after, beside) = (count(self.after), count(self.beside));
        let one_way = beside * PASSED_ON_UNLESS_ONE_OF <= after;
        let mostly = after * PASSED_ON_ONE_OF >= sends;
        let often = after >= PASSED_ON_TIMES;
        let enough = match (self.is_apart, plain) {
            // Nothing but the bytes says that they are passed on.
            (true, _) => after * PASSED_ON_APART.1 >= sends * PASSED_ON_APART.0 && often,
            (false, true) => mostly || often,
            (false, false) => mostly && often,
        };
        after > 0 && one_way && enough
    }

    /// Of two servers in step, which passes on to which? The sends of the one that does come after the
    /// other's more often, and sooner.
    pub fn is_stronger_than(&self, back: &Self) -> bool {
        let strength = |flow: &Self| {
            let after = f64::from(flow.after.all);
            after * after / flow.ahead_ns.max(1) as f64
        };
        strength(self) > strength(back)
    }
}

impl Count {
    /// Counts once, if there is any.
    fn add<'a>(&mut self, mut links: impl Iterator<Item = &'a Link> + Clone) {
        self.all += u32::from(links.clone().next().is_some());
        self.same_bytes += u32::from(links.any(|link| link.same_bytes));
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, more: Self) {
        self.all += more.all;
        self.same_bytes += more.same_bytes;
    }
}

impl AddAssign for Flow {
    fn add_assign(&mut self, more: Self) {
        self.after += more.after;
        self.beside += more.beside;
        self.ahead_ns = self.ahead_ns.saturating_add(more.ahead_ns);
        self.is_apart |= more.is_apart;
    }
}
