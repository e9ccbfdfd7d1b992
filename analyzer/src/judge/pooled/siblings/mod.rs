//! Sibling connections: of the same client's host to the same server. The same two programs are at work
//! there, so what few releases of one connection leave open the others may tell.
//!
//! Each release is compared with its own connection's round trip; shared is how far off it was.

mod families;
mod pool;
#[cfg(test)]
mod tests;

use crate::judge::case::Line;
use crate::judge::path::reference::{self, Reference};
use crate::judge::path::releases::{Releases, SiblingReleases};
use crate::judge::pooled::siblings::families::{Member, families};
use crate::judge::pooled::siblings::pool::Pool;
use crate::judge::thresholds::{SECURE_OVER_NEAR, SECURE_RELEASES};
use crate::track::clock::Clocks;
use crate::track::tracked::Block;
use crate::track::wait::Wait;
use crate::track::{Connection, Endpoint, NETWORK_RTT_NS, Side};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::net::IpAddr;

/// One direction of all connections of the same two programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Family {
    client: IpAddr,
    server: Endpoint,
    by: Side,
}

impl Family {
    fn of(connection: &Connection, by: Side) -> Self {
        Self { client: connection.ends.client.addr, server: connection.ends.server, by }
    }
}

/// What connections of the same two programs say of each other.
#[derive(Debug, Default)]
pub struct Siblings {
    families: HashMap<Family, Vec<(u32, Pool)>, RandomState>,
}

impl Siblings {
    /// Asks the connections of `blocks`.
    pub fn of(blocks: &[Block], clocks: &Clocks) -> Self {
        let mut siblings = Self::default();
        for (family, members) in families(blocks) {
            let ask = |member: Member| member.ask(blocks, clocks, family.by);
            siblings.families.insert(family, members.into_iter().map(ask).collect());
        }
        siblings
    }

    pub fn is_empty(&self) -> bool {
        self.families.is_empty()
    }

    /// What the others say of this direction of `connection`; `None` without any.
    pub fn others(&self, connection: &Connection, by: Side) -> Option<Pool> {
        let family = self.families.get(&Family::of(connection, by))?;
        let others = family.iter().filter(|(sibling, _)| *sibling != connection.id);
        Some(others.fold(Pool::default(), |all, (_, one)| all.and(one)))
    }
}

impl Member {
    fn ask(mut self, blocks: &[Block], clocks: &Clocks, by: Side) -> (u32, Pool) {
        let connection = self.connection(blocks);
        reference::share_reactions(&mut self.waits);
        let clock_ns = clocks.behind_ns(&self.waits);
        let releases = Releases::measure(connection, by, &self.waits, clock_ns);
        (self.number, Pool::of(connection, by, &self.waits, &releases))
    }
}

impl Releases {
    /// Adds what sibling connections show, where these releases are too few to show anything by themselves.
    pub fn add_siblings(
        &mut self,
        siblings: &Siblings,
        connection: &Connection,
        by: Side,
        waits: &[Wait],
    ) {
        if waits.is_empty() || siblings.is_empty() || !self.needs_siblings() {
            return;
        }
        let Some(others) = siblings.others(connection, by) else { return };
        let own = Pool::of(connection, by, waits, self);
        let secure = others.in_band() >= SECURE_RELEASES
            && others.in_band() > SECURE_OVER_NEAR * others.near
            && others.shows_holds(self.clock_ns);
        let Pool { connections, frame, .. } = others;
        let with_own = own.in_band() > 0 && others.and(&own).shows_holds(self.clock_ns);
        if with_own || (secure && own.near > 0) {
            self.lines = self.lines.with(Line::SiblingPeak, true);
            self.siblings = Some(SiblingReleases { connections, frame, secure });
        }
    }

    /// On one host a relay of all these connections would look the same.
    fn needs_siblings(&self) -> bool {
        let few = self.matches() <= 1;
        (few || !self.show_holds())
            && self.full_sized <= self.in_band
            && self.is_measured()
            && self.reference == Reference::RoundTrip
            && !self.lines.has(Line::MadeUpTimes)
            && self.band.center_ns >= NETWORK_RTT_NS
    }
}
