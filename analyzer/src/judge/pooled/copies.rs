//! Connections that the capture holds several times: on a bridge and its veth pair, before and behind NAT. Addresses
//! and ports may differ; sequence numbers, bytes and times do not.

use crate::judge::thresholds::COPY_LAG_NS;
use crate::rules;
use crate::track::tracked::Block;
use crate::track::{Connection, Side};

/// More of one kind are made up: no host has so many bridges and translations one after the other.
const MOST_COPIES: usize = 8;

/// Connections in which copies are looked for first: a capture that shows packets several times does so all along.
const SAMPLE: u32 = 4096;

/// A connection among all: its number, its block and its place there.
type Row = ([u32; 2], u32, (u32, u32));

/// Marks all but the first of the connections that are one, and takes their waits out: they count once.
pub fn mark(blocks: &mut [Block]) {
    if rules::off("copies") {
        return;
    }
    if copies(blocks, SAMPLE).is_empty() {
        return;
    }
    for (block, place) in copies(blocks, u32::MAX) {
        blocks[block as usize].connections[place as usize].is_copy = true;
    }
    for block in blocks {
        block.leave_out(|connection| connection.is_copy);
    }
}

/// Block and place of the copies among the first `most` connections.
fn copies(blocks: &[Block], most: u32) -> Vec<(u32, u32)> {
    let mut rows: Vec<Row> = Vec::new();
    for (at, block) in (0..).zip(blocks) {
        let number = |connection: &Connection| block.numbers[connection.id as usize];
        // In the order of their numbers: of other blocks no more than the first is looked at.
        let first = block.connections.iter().take_while(|connection| number(connection) < most);
        for (place, connection) in (0..).zip(first) {
            let firsts = Side::BOTH.map(|side| connection.half(side).first_seq());
            // Printed text may count from 0 or 1.
            let is_absolute = firsts.iter().any(|&first| first > 1);
            if is_absolute && connection.halves.iter().all(|half| half.bytes() > 0) {
                rows.push((firsts, number(connection), (at, place)));
            }
        }
    }
    rows.sort_unstable();
    let of = |row: &Row| &blocks[row.2.0 as usize].connections[row.2.1 as usize];
    let mut found = Vec::new();
    let groups = rows.chunk_by(|one, next| one.0 == next.0);
    for same in groups.filter(|same| (2..=MOST_COPIES).contains(&same.len())) {
        let mut originals = vec![of(&same[0])];
        for row in &same[1..] {
            if originals.iter().any(|first| is_copy(first, of(row))) {
                found.push(row.2);
            } else {
                originals.push(of(row));
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
        blocks.iter().map(|block| (block.connections[0].is_copy, block.waits.len())).collect()
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
