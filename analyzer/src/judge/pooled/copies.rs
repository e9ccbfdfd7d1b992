//! Connections that the capture holds several times: on a bridge and its veth pair, before and
//! behind NAT. Addresses and ports may differ; sequence numbers, bytes and times do not.

use crate::judge::thresholds::COPY_LAG_NS;
use crate::rules;
use crate::track::connection::Copies;
use crate::track::tracked::Block;
use crate::track::{Connection, Side};

/// More of one kind are made up: no host has so many bridges and translations one after the other.
const MOST_COPIES: usize = 8;

/// Connections in which copies are looked for first: a capture that has some has them all along.
const SAMPLE: u32 = 4096;

/// How a connection begins: its first sequence numbers; then its number and its place.
type Beginning = ([u32; 2], u32, BlockPlace);

/// The block of a connection, and its place there.
type BlockPlace = (u32, u32);

/// Marks all but the first of the connections that are one, and takes their waits out: they count once.
pub fn mark(blocks: &mut [Block]) {
    if rules::off("copies") {
        return;
    }
    if copies(blocks, SAMPLE).is_empty() {
        return;
    }
    for (original, copy) in copies(blocks, u32::MAX) {
        let server = |of: BlockPlace| at(blocks, of).endpoint(Side::Server);
        let has_same_server = server(original) == server(copy);
        if has_same_server {
            copies_of(blocks, original).add_one();
        }
        *copies_of(blocks, copy) = Copies::ONE_ITSELF;
    }
    for block in blocks {
        block.leave_out(|connection| connection.copies.is_one_itself());
    }
}

fn copies_of(blocks: &mut [Block], (block, place): BlockPlace) -> &mut Copies {
    &mut blocks[block as usize].connections[place as usize].copies
}

fn at(blocks: &[Block], (block, place): BlockPlace) -> &Connection {
    &blocks[block as usize].connections[place as usize]
}

/// The copies among the first `most` connections, each behind its original.
fn copies(blocks: &[Block], most: u32) -> Vec<(BlockPlace, BlockPlace)> {
    let mut beginnings: Vec<Beginning> = Vec::new();
    for (at, block) in (0..).zip(blocks) {
        let number = |connection: &Connection| block.numbers[connection.id as usize];
        // In the order of their numbers: of other blocks no more than the first is looked at.
        let first = block.connections.iter().take_while(|connection| number(connection) < most);
        for (place, connection) in (0..).zip(first) {
            let firsts = Side::BOTH.map(|side| connection.half(side).first_seq());
            // Printed text may count from 0 or 1.
            let is_absolute = firsts.iter().any(|&first| first > 1);
            if is_absolute && connection.halves.iter().all(|half| half.bytes() > 0) {
                beginnings.push((firsts, number(connection), (at, place)));
            }
        }
    }
    beginnings.sort_unstable();
    let of = |one: &Beginning| at(blocks, one.2);
    let mut found = Vec::new();
    let groups = beginnings.chunk_by(|one, next| one.0 == next.0);
    for same in groups.filter(|same| (2..=MOST_COPIES).contains(&same.len())) {
        let mut originals = vec![&same[0]];
        for next in &same[1..] {
            match originals.iter().find(|first| is_copy(of(first), of(next))) {
                Some(first) => found.push((first.2, next.2)),
                None => originals.push(next),
            }
        }
    }
    found
}

/// Is it the same connection, captured elsewhere on its way?
fn is_copy(first: &Connection, next: &Connection) -> bool {
    let is_near = |one: i64, other: i64| (one - other).abs() <= COPY_LAG_NS;
    let same_bytes =
        Side::BOTH.iter().all(|&side| first.half(side).bytes() == next.half(side).bytes());
    same_bytes && is_near(first.first_ns, next.first_ns) && is_near(first.last_ns(), next.last_ns())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::story::{Story, client, server};

    /// Connections of blocks of their own, as those of other addresses often are.
    fn marked(each: Vec<Story>) -> Vec<(bool, usize)> {
        let block = |(number, story): (u32, Story)| {
            let told = story.end();
            let connections = vec![told.connection];
            Block {
                connections,
                waits: told.waits,
                numbers: vec![number].into(),
                ..Block::default()
            }
        };
        let mut blocks: Vec<Block> = (0..).zip(each).map(block).collect();
        mark(&mut blocks);
        blocks
            .iter()
            .map(|block| (block.connections[0].copies.is_one_itself(), block.waits.len()))
            .collect()
    }

    fn held(begin_ms: f64, bytes: u32) -> Story {
        let story = Story::new().after_ms(begin_ms, client(bytes)).after_ms(40.0, server(0));
        story.after_ms(0.02, client(50)).after_ms(1.0, server(200))
    }

    #[test]
    fn what_is_captured_behind_nat_too_counts_once() {
        assert_eq!(marked(vec![held(0.0, 100), held(0.05, 100)]), [(false, 1), (true, 0)]);
    }

    #[test]
    fn a_replay_and_another_conversation_count_apart() {
        assert_eq!(marked(vec![held(0.0, 100), held(900.0, 100)]), [(false, 1), (false, 1)]);
        assert_eq!(marked(vec![held(0.0, 100), held(0.0, 101)]), [(false, 1), (false, 1)]);
    }
}
