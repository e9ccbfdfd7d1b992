//! Relays: programs that pass on what arrives on another of their connections.
//!
//! Behind an upstream that stalls, a relay looks like a hold. The delayed-ACK timers of both its legs
//! fire in the same jiffy of the host, the upstream's piece is released, and the relay, whatever its
//! socket options, sends it on some 70 us after the ACK of its own client. What tells the two apart is
//! the other leg: the piece arrived there just before, release after release.
//!
//! Runs before the connections are judged, over all their waits, as it is the only rule that looks at
//! several connections at once.

mod ends;
mod links;
mod partners;
#[cfg(test)]
mod tests;
mod upstreams;

use crate::judge::pooled::relays::ends::End;
use crate::judge::pooled::relays::links::{Direction, Upstream, links};
use crate::judge::pooled::relays::upstreams::Upstreams;
use crate::track::Side;
use crate::track::tracked::Block;
use crate::track::wait::fact;
use foldhash::fast::RandomState;
use hashbrown::HashSet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A direction whose program passes on what arrives on another connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassedOn {
    pub connection: u32,
    pub by: Side,
    /// The first connection on which something for it arrived.
    pub upstream: u32,
}

/// Marks the waits that ended because something arrived on another connection, with
/// [`fact::PASSED_ON`]; returns the directions that have some, in the order of their connections.
pub fn mark(blocks: &mut [Block]) -> Vec<PassedOn> {
    let Some(sample) = ends::sample(blocks) else {
        return Vec::new();
    };
    let upstreams = upstreams::upstreams(blocks, &sample.ends);
    if upstreams.is_empty() {
        return Vec::new();
    }
    let ends = match sample.is_whole {
        true => sample.ends,
        false => all_of(blocks, &upstreams),
    };
    let mut found: BTreeMap<(u32, u8), PassedOn> = BTreeMap::new();
    for at in 0..ends.len() {
        let end = &ends[at];
        let direction = Direction::of(blocks, end);
        let Some(&upstream) = upstreams.get(&direction) else { continue };
        if let Some(upstream) = passes_on(blocks, &ends, at, upstream) {
            let (connection, by) = (end.connection, end.by);
            end.wait_mut(blocks).facts |= fact::PASSED_ON;
            let one = PassedOn { connection, by, upstream };
            found.entry((connection, by as u8)).or_insert(one);
        }
    }
    found.into_values().collect()
}

/// All ends of directions that have an upstream, and of what may be it.
fn all_of(blocks: &[Block], upstreams: &Upstreams) -> Vec<End> {
    let known: HashSet<Upstream, RandomState> = upstreams.values().copied().collect();
    ends::all(blocks, |end| {
        upstreams.contains_key(&Direction::of(blocks, end))
            || Upstream::of(blocks, end).iter().any(|upstream| known.contains(upstream))
    })
}

/// The upstream connection, if something of it arrived just before this end.
fn passes_on(blocks: &[Block], ends: &[End], at: usize, upstream: Upstream) -> Option<u32> {
    let arrivals = ends::before(ends, at);
    let linked = arrivals.filter_map(|earlier| links(blocks, &ends[at], earlier));
    linked.filter(|link| upstream.is(link)).map(|link| link.connection).next()
}
