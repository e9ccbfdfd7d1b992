//! Which connections are asked: the first few of each two programs, and the first few of their waits.

use crate::judge::path::releases::Releases;
use crate::judge::pooled::siblings::Family;
use crate::judge::thresholds::FEW_RELEASES;
use crate::track::thresholds::LOCAL_TOLERANCE_NS;
use crate::track::tracked::Block;
use crate::track::wait::Wait;
use crate::track::{Connection, Side};
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// So many families at most, siblings of each, and waits of each of these: 36 MB of waits in all.
const MOST_FAMILIES: usize = 1 << 10;
const MOST_SIBLINGS: usize = 8;
const MOST_WAITS: usize = 32;

/// A connection that is asked, and its waits of one direction in the order of their ends.
pub struct Member {
    /// The number of the connection, and the frame that ended the first such wait.
    pub number: u32,
    since: u64,
    block: u32,
    /// Index among the connections of the block.
    place: u32,
    pub waits: Vec<Wait>,
}

impl Member {
    pub fn connection<'a>(&self, blocks: &'a [Block]) -> &'a Connection {
        &blocks[self.block as usize].connections[self.place as usize]
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
    for (at, block) in blocks.iter().enumerate() {
        let mut last = None;
        for wait in block.waits.iter().filter(|wait| is_suspect(wait)) {
            if last.replace((wait.connection, wait.by)) == Some((wait.connection, wait.by)) {
                continue;
            }
            let Some(place) = block.place_of(wait) else { continue };
            let family = Family::of(&block.connections[place], wait.by);
            if families.len() == MOST_FAMILIES && !families.contains_key(&family) {
                continue;
            }
            let number = block.numbers[wait.connection as usize];
            let members = families.entry(family).or_default();
            let since = wait.to.frame;
            let next = members.partition_point(|known| known.since < since);
            if next < MOST_SIBLINGS && members.iter().all(|known| known.number != number) {
                let (block, place) = (at as u32, place as u32);
                members.insert(next, Member { number, since, block, place, waits: Vec::new() });
                members.truncate(MOST_SIBLINGS);
            }
        }
    }
    families
}

/// Hands out the waits to the members.
fn hand_out<'a>(blocks: &'a [Block], families: &mut Families) {
    let mut wanted: HashMap<(u32, Side), &mut Vec<Wait>, RandomState> = HashMap::default();
    let mut in_blocks: Vec<u32> = Vec::new();
    for (family, members) in families.iter_mut() {
        for member in members {
            in_blocks.push(member.block);
            wanted.insert((member.number, family.by), &mut member.waits);
        }
    }
    in_blocks.sort_unstable();
    in_blocks.dedup();
    let of_block = |block: &'a Block| block.waits.iter().map(move |wait| (block, wait));
    let waits = in_blocks.into_iter().flat_map(|block| of_block(&blocks[block as usize]));
    for (block, wait) in waits.filter(|(_, wait)| wait.is_evidence() && wait.is_freed()) {
        let number = block.numbers[wait.connection as usize];
        let Some(waits) = wanted.get_mut(&(number, wait.by)) else { continue };
        if waits.len() < MOST_WAITS {
            waits.push(*wait);
        }
    }
}
