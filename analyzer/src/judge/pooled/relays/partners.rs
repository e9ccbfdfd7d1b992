//! Candidate upstreams: which connections delivered data just before this direction sent, and how often.

use crate::judge::pooled::relays::deliveries::{Delivery, Upstream, delivery};
use crate::judge::pooled::relays::ends::{self, WaitEnd};
use crate::judge::thresholds::{FEW_RELEASES, PEAK_OVER_CHANCE};
use crate::track::Endpoint;
use crate::track::tracked::Block;
use std::cmp::Reverse;
use std::ops::AddAssign;

/// Partners looked at for each direction, and servers of theirs.
const MOST_PARTNERS: usize = 16;
const MOST_SERVERS: usize = 4;
/// The part of a relay's sends that follow one of its upstreams.
const USUAL_ONE_OF: u32 = 8;

/// Candidate upstreams: which connections delivered data just before this direction sent.
#[derive(Default)]
pub struct Partners {
    pub sends: u32,
    connections: Vec<(u32, Coupling)>,
    servers: Vec<(Endpoint, Coupling)>,
}

/// How many sends follow a partner's deliveries, and how long after them in all.
#[derive(Debug, Clone, Copy, Default)]
pub struct Coupling {
    /// Sends just after a delivery; sends with a delivery just after them, or too long before.
    after: Coupled,
    beside: Coupled,
    ahead_ns: i64,
    /// Did any of it arrive at another address?
    is_apart: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Coupled {
    all: u32,
    same_bytes: u32,
    of_stream: u32,
}

impl Partners {
    pub fn add(&mut self, blocks: &[Block], ends: &[WaitEnd], at: usize) {
        self.sends += 1;
        let delivered = |end: &WaitEnd| delivery(blocks, &ends[at], end);
        let arrived: Vec<Delivery> = ends::before(ends, at).filter_map(delivered).collect();
        if arrived.is_empty() && self.servers.is_empty() {
            return;
        }
        let mut others: Vec<Delivery> = ends::beside(ends, at).filter_map(delivered).collect();
        for from in &arrived {
            add_partner(&mut self.connections, from.connection, MOST_PARTNERS);
            add_partner(&mut self.servers, from.server, MOST_SERVERS);
        }
        for (connection, coupling) in &mut self.connections {
            coupling.add(&arrived, &others, |from| from.connection == *connection);
        }
        // One of many connections has something at any time.
        others.extend(ends::long_before(ends, at).filter_map(delivered));
        for (server, coupling) in &mut self.servers {
            coupling.add(&arrived, &others, |from| from.server == *server);
        }
    }

    /// A server, or else one connection to it, that delivers data before this direction sends.
    /// `plain`: does it pass on bytes as they are?
    pub fn upstream(&self, plain: bool) -> Option<Upstream> {
        let server = best(&self.servers).filter(|(_, best)| best.is_upstream(self.sends, plain));
        let connection =
            || best(&self.connections).filter(|(_, best)| best.is_upstream(self.sends, plain));
        match (plain, server) {
            (true, Some((server, _))) => Some(Upstream::Stream(server)),
            (true, None) => connection().and(self.likely_server()).map(Upstream::Stream),
            (false, Some((server, _))) => Some(Upstream::Server(server)),
            (false, None) => connection().map(|(connection, _)| Upstream::Connection(connection)),
        }
    }

    /// The server that most of its sends follow, if any.
    pub fn likely_server(&self) -> Option<Endpoint> {
        best(&self.servers).map(|(server, _)| server)
    }

    /// For each server, how closely these sends follow it.
    pub fn servers(&self) -> impl Iterator<Item = (Endpoint, Coupling)> {
        self.servers.iter().copied()
    }
}

/// In a chain, prefers the nearest leg.
fn best<T: Copy>(partners: &[(T, Coupling)]) -> Option<(T, Coupling)> {
    let rank =
        |(_, one): &&(T, Coupling)| (one.after.all, one.after.same_bytes, Reverse(one.ahead_ns));
    partners.iter().max_by_key(rank).copied()
}

/// Adds the one of this name while there is room.
fn add_partner<T: PartialEq>(known: &mut Vec<(T, Coupling)>, who: T, most: usize) {
    if known.len() < most && known.iter().all(|(partner, _)| *partner != who) {
        known.push((who, Coupling::default()));
    }
}

impl Coupling {
    /// Counts a send by what came before it and beside it, as far as it is `own`.
    fn add(&mut self, arrived: &[Delivery], others: &[Delivery], own: impl Fn(&Delivery) -> bool) {
        self.after.add(arrived.iter().filter(|from| own(from)));
        self.beside.add(others.iter().filter(|from| own(from)));
        let nearest = arrived.iter().find(|from| own(from));
        self.ahead_ns += nearest.map_or(0, |from| from.ahead_ns);
        self.is_apart |= nearest.is_some_and(|from| from.is_apart);
    }

    /// Are bytes passed on as they arrived? No program changes them and keeps length and place.
    pub fn is_plain(&self) -> bool {
        let Coupled { all, same_bytes, .. } = self.after;
        same_bytes >= FEW_RELEASES || (all > 0 && same_bytes == all)
    }

    /// Do so many sends of all connections follow, and hardly ever the other way round? On a short connection one may
    /// by chance.
    pub fn is_usual(&self, sends: u32, plain: bool) -> bool {
        self.is_one_way(plain) && USUAL_ONE_OF * self.after.of(plain) >= sends
    }

    fn is_one_way(&self, plain: bool) -> bool {
        let [after, beside] = [self.after, self.beside].map(|count| f64::from(count.of(plain)));
        PEAK_OVER_CHANCE * beside <= after
    }

    /// Consistently, and hardly ever the other way round; a few times may be chance, unless it is the same
    /// bytes. What passes on the same bytes may hold others itself.
    fn is_upstream(&self, sends: u32, plain: bool) -> bool {
        let after = self.after.of(plain);
        let mostly = 2 * after >= sends;
        let often = after >= FEW_RELEASES;
        // Nothing but the bytes says that two addresses are one host's.
        let enough = if plain && !self.is_apart { mostly || often } else { mostly && often };
        after > 0 && self.is_one_way(plain) && enough
    }

    /// Is this one of two servers in step the one that passes on? The sends of the one that does
    /// come after the other's more often, and sooner.
    pub fn is_stronger_than(&self, back: &Self) -> bool {
        let strength = |coupling: &Self| {
            let after = f64::from(coupling.after.all);
            after * after / coupling.ahead_ns.max(1) as f64
        };
        strength(self) > strength(back)
    }
}

impl Coupled {
    fn of(self, plain: bool) -> u32 {
        if plain { self.of_stream } else { self.all }
    }

    /// Counts once, if there is any.
    fn add<'a>(&mut self, mut deliveries: impl Iterator<Item = &'a Delivery> + Clone) {
        self.all += u32::from(deliveries.clone().next().is_some());
        self.same_bytes += u32::from(deliveries.clone().any(|from| from.same_bytes));
        self.of_stream += u32::from(deliveries.any(Delivery::is_of_stream));
    }
}

impl AddAssign for Coupling {
    fn add_assign(&mut self, more: Self) {
        for (count, more) in [(&mut self.after, more.after), (&mut self.beside, more.beside)] {
            count.all += more.all;
            count.same_bytes += more.same_bytes;
            count.of_stream += more.of_stream;
        }
        self.ahead_ns = self.ahead_ns.saturating_add(more.ahead_ns);
        self.is_apart |= more.is_apart;
    }
}
