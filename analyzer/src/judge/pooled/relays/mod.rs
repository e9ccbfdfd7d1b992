//! Relays: programs that pass on what arrives on another of their connections.
//!
//! Behind an upstream that stalls, a relay looks like a hold. The delayed-ACK timers of both its legs
//! fire in the same jiffy of the host, the upstream's piece is released, and the relay, whatever its
//! socket options, sends it on some 70 us after the ACK of its own client. The other leg tells the two
//! apart: the piece arrived there just before, release after release.
//!
//! A relay that holds a piece of its own request upstream replies as late: its client waited for that.

mod deliveries;
mod ends;
mod partners;
#[cfg(test)]
mod tests;
mod upstreams;

use crate::judge::pooled::relays::deliveries::{Upstream, delivery};
use crate::judge::pooled::relays::ends::{Passable, WaitEnd};
use crate::judge::pooled::relays::upstreams::{RelayLeg, upstreams};
use crate::rules;
use crate::track::Side;
use crate::track::tracked::Block;
use crate::track::wait::fact;
use std::collections::BTreeMap;

/// A direction whose program passes on what arrives on another connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassedOn {
    pub connection: u32,
    pub by: Side,
    /// The first connection on which something for it arrived, or a request of its own was held.
    pub upstream: u32,
}

/// Marks the waits that ended because of what another connection brought or held, with
/// [`fact::PASSED_ON`]; returns the directions that have some, in the order of their connections.
pub fn mark(blocks: &mut [Block]) -> Vec<PassedOn> {
    let passable = ends::passable(blocks);
    if rules::off("relays") || passable == Passable::Nothing {
        return Vec::new();
    }
    let one_of = passable.one_of(blocks);
    let mut ends = passable.ends(blocks, one_of);
    let upstreams = upstreams(blocks, &ends);
    if upstreams.is_empty() {
        return Vec::new();
    }
    if one_of > 1 {
        ends = passable.ends(blocks, 1);
    }
    let mut found: BTreeMap<(u32, u8), PassedOn> = BTreeMap::new();
    for (at, end) in ends.iter().enumerate() {
        let upstream = upstreams.get(&RelayLeg::of(blocks, end));
        if let Some(upstream) = upstream.and_then(|&from| passed_on_from(blocks, &ends, at, from)) {
            let (connection, by) = (end.connection, end.by);
            end.at.wait_mut(blocks).facts |= fact::PASSED_ON;
            let one = PassedOn { connection, by, upstream };
            found.entry((connection, by as u8)).or_insert(one);
        }
    }
    found.into_values().collect()
}

/// The upstream connection, if it made this end wait.
fn passed_on_from(
    blocks: &[Block],
    ends: &[WaitEnd],
    at: usize,
    upstream: Upstream,
) -> Option<u32> {
    let deliveries =
        ends::before(ends, at).filter_map(|earlier| delivery(blocks, &ends[at], earlier));
    deliveries.filter(|from| upstream.is(from)).map(|from| from.connection).next()
}
