//! Fan-out: servers that pass on to some clients what arrives from others, as brokers do.
//!
//! A subscriber's ACK and the publisher's next message take the same round trip, so that a broker sends
//! just after an ACK what Nagle's algorithm never held, over any network. What tells the two apart is the
//! other connection: something for the server arrived there after the ACK, or so shortly before the
//! release as this program takes to pass something on, release after release and more often than chance.
//!
//! All times are those at the server: what arrives passes the capture point one half of the round trip
//! before, what leaves the other half after.

mod arrivals;
mod reaction;
#[cfg(test)]
mod tests;

use crate::judge::pooled::fan_out::arrivals::Arrived;
use crate::judge::pooled::fan_out::reaction::Service;
use crate::track::tracked::Block;
use crate::track::wait::{Wait, fact};
use crate::track::{Endpoint, Side};
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// Where a wait is among those of all blocks.
#[derive(Debug, Clone, Copy)]
struct Place {
    block: usize,
    wait: usize,
}

/// Marks the waits of servers that ended because something arrived on another connection, with
/// [`fact::PASSED_ON`].
pub fn mark(blocks: &mut [Block]) {
    let services = services(blocks, &Arrived::of(blocks));
    for place in services.values().flat_map(Service::passed_on) {
        blocks[place.block].waits[place.wait].facts |= fact::PASSED_ON;
    }
}

/// What each server sent after ACKs, where something looks held.
fn services(blocks: &[Block], arrived: &Arrived) -> HashMap<Endpoint, Service, RandomState> {
    let mut services: HashMap<Endpoint, Service, RandomState> = HashMap::default();
    for (number, block) in blocks.iter().enumerate() {
        for (index, wait) in block.waits.iter().enumerate().filter(|(_, wait)| may_pass_on(wait)) {
            let Some(at) = block.place_of(wait) else { continue };
            let (connection, id) =
                (&block.connections[at], block.numbers[wait.connection as usize]);
            if let Some(before) = arrived.before(wait, connection, id) {
                let service = services.entry(connection.ends.server).or_default();
                service.add(id, Place { block: number, wait: index }, before);
            }
        }
    }
    services
}

/// Did a server wait for an ACK, or for something else, since its own last data?
fn may_pass_on(wait: &Wait) -> bool {
    wait.by == Side::Server && wait.has_pure_ack() && !wait.is(fact::ACK_ONLY)
}
