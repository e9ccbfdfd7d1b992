//! Which connections are asked: the first few of each two programs, and the first few of their waits.

use crate::judge::releases::Releases;
use crate::judge::sisters::Family;
use crate::judge::thresholds::FEW_RELEASES;
use crate::track::thresholds::LOCAL_TOLERANCE_NS;
use crate::track::tracker::Block;
use crate::track::wait::Wait;
use crate::track::{Connection, Side};
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// So many families at most, sisters of each, and waits of each of these: 36 MB of waits in all.
const MOST_FAMILIES: usize = 1 << 10;
const MOST_SISTERS: usize = 8;
const MOST_WAITS: usize = 32;

/// A connection that is asked, and its waits of one direction in the order of their ends.
pub struct Member {
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

/// Those with enough sisters to tell something of each other.
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

/// The first sisters that have such waits, of the first families.
fn found(blocks: &[Block]) -> Families {
    let mut families = Families::default();
    for (number, block) in blocks.iter().enumerate() {
        let mut last = None;
        for wait in block.waits.iter().filter(|wait| is_suspect(wait)) {
            if last.replace((wait.connection, wait.by)) == Some((wait.connection, wait.by)) {
                continue;
            }
            let Some(place) = place(block, wait) else { continue };
            let family = Family::of(&block.connections[place], wait.by);
            if families.len() == MOST_FAMILIES && !families.contains_key(&family) {
                continue;
            }
            let (block, place) = (number as u32, place as u32);
            let members = families.entry(family).or_default();
            let is_known = |known: &Member| (known.block, known.place) == (block, place);
            if members.len() < MOST_SISTERS && !members.iter().any(is_known) {
                members.push(Member { block, place, waits: Vec::new() });
            }
        }
    }
    families
}

/// Hands out the waits to the members.
fn hand_out(blocks: &[Block], families: &mut Families) {
    let mut wanted: HashMap<(u32, Side), &mut Vec<Wait>, RandomState> = HashMap::default();
    let mut in_blocks: Vec<u32> = Vec::new();
    for (family, members) in families.iter_mut() {
        for member in members {
            let id = member.connection(blocks).id;
            in_blocks.push(member.block);
            wanted.insert((id, family.by), &mut member.waits);
        }
    }
    in_blocks.sort_unstable();
    in_blocks.dedup();
    let waits = in_blocks.into_iter().flat_map(|block| &blocks[block as usize].waits);
    for wait in waits.filter(|wait| wait.is_evidence() && wait.is_freed()) {
        let Some(waits) = wanted.get_mut(&(wait.connection, wait.by)) else { continue };
        if waits.len() < MOST_WAITS {
            waits.push(*wait);
        }
    }
}

fn place(block: &Block, wait: &Wait) -> Option<usize> {
    block.connections.binary_search_by_key(&wait.connection, |connection| connection.id).ok()
}
