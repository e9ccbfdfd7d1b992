//! A bounded sample: the first few connections of each client/server pair, and their first few waits.

use crate::judge::path::releases::Releases;
use crate::judge::pooled::listed::{self, WaitIndex};
use crate::judge::pooled::siblings::Family;
use crate::judge::thresholds::FEW_RELEASES;
use crate::track::Connection;
use crate::track::thresholds::LOCAL_TOLERANCE_NS;
use crate::track::tracked::Block;
use crate::track::wait::Wait;
use foldhash::fast::RandomState;
use hashbrown::HashMap;

// 36 MB of waits in all.
const MOST_FAMILIES: usize = 1 << 10;
const MOST_SIBLINGS: usize = 8;
const MOST_WAITS: usize = 32;

/// A connection that is asked, and its waits of one direction in the order of their ends.
pub struct Member {
    pub number: u32,
    /// The first wait that may be a hold, and the frame that ended it.
    first: WaitIndex,
    since: u64,
    pub waits: Vec<Wait>,
}

impl Member {
    pub fn connection<'a>(&self, blocks: &'a [Block]) -> &'a Connection {
        self.first.connection(blocks)
    }
}

type Families = HashMap<Family, Vec<Member>, RandomState>;

/// Those with enough siblings to tell something of each other.
pub fn families(blocks: &[Block]) -> Families {
    let mut families = found(blocks);
    families.retain(|_, members| members.len() >= FEW_RELEASES as usize);
    if !families.is_empty() {
        hand_out(blocks, &mut families);
    }
    for member in families.values_mut().flatten() {
        member.waits.sort_unstable_by_key(|wait| wait.to.frame);
    }
    families
}

/// May this wait, over a network, be a hold?
fn is_suspect(wait: &Wait) -> bool {
    // What most waits are not comes first.
    wait.is_freed()
        && Releases::may_hold(wait)
        && wait.release_ns() > LOCAL_TOLERANCE_NS
        && wait.is_evidence()
}

/// The first siblings that have such waits, of the first families.
fn found(blocks: &[Block]) -> Families {
    let mut families = Families::default();
    for row in listed::waits(blocks, is_suspect) {
        let family = Family::of(row.connection, row.wait.by);
        if families.len() == MOST_FAMILIES && !families.contains_key(&family) {
            continue;
        }
        let members = families.entry(family).or_default();
        let (number, first, since) = (row.number, row.at, row.wait.to.frame);
        let next = members.partition_point(|known| known.since < since);
        if next < MOST_SIBLINGS && members.iter().all(|known| known.number != number) {
            members.insert(next, Member { number, first, since, waits: Vec::new() });
            members.truncate(MOST_SIBLINGS);
        }
    }
    families
}

/// Hands out the waits to the members.
fn hand_out(blocks: &[Block], families: &mut Families) {
    for row in listed::waits(blocks, |wait| wait.is_evidence() && wait.is_freed()) {
        let members = families.get_mut(&Family::of(row.connection, row.wait.by));
        let member = members.into_iter().flatten().find(|member| member.number == row.number);
        if let Some(member) = member.filter(|member| member.waits.len() < MOST_WAITS) {
            member.waits.push(*row.wait);
        }
    }
}
