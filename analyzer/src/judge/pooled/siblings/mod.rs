//! Sibling connections: of the same client's host to the same server. The same two programs are at work
//! there, so what few releases of one connection leave open the others may tell.
//!
//! Each release is compared with its own connection's round trip, and what is shared is how far off it
//! was. Runs before the connections are judged; only so many connections of so many programs are asked,
//! however many there are.

mod families;
mod pool;
mod releases;
#[cfg(test)]
mod tests;

use crate::judge::path::reference;
use crate::judge::path::releases::Releases;
use crate::judge::pooled::siblings::families::{Member, families};
use crate::judge::pooled::siblings::pool::Pool;
use crate::track::clock::Clocks;
use crate::track::tracked::Block;
use crate::track::{Connection, Endpoint, Side};
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
