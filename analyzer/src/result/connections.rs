//! All judged connections, in the memory of the tracked ones.

use crate::judge::judged::JudgedConnection;
use crate::track::BLOCK_LEN;
use std::ops::Index;

/// Judged connections in the order of the numbers of their connections.
#[derive(Debug, Clone, Default)]
pub struct JudgedConnections {
    /// All but the last are full.
    blocks: Vec<Vec<JudgedConnection>>,
}

impl JudgedConnections {
    /// Takes the connections of each block of connections.
    pub fn new(mut blocks: Vec<Vec<JudgedConnection>>) -> Self {
        blocks.retain(|block| !block.is_empty());
        let full = blocks.iter().rev().skip(1).all(|block| block.len() == BLOCK_LEN);
        Self { blocks: if full { blocks } else { filled(blocks) } }
    }

    pub fn len(&self) -> usize {
        let last_len = self.blocks.last().map_or(0, Vec::len);
        self.blocks.len().saturating_sub(1) * BLOCK_LEN + last_len
    }

    fn get(&self, index: usize) -> Option<&JudgedConnection> {
        self.blocks.get(index / BLOCK_LEN)?.get(index % BLOCK_LEN)
    }

    pub fn iter(&self) -> impl Iterator<Item = &JudgedConnection> {
        self.blocks.iter().flatten()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut JudgedConnection> {
        self.blocks.iter_mut().flatten()
    }

    pub fn blocks(&self) -> impl Iterator<Item = &[JudgedConnection]> {
        self.blocks.iter().map(Vec::as_slice)
    }

    /// Place of the connection with this number; `None` if it is not listed.
    pub fn index_of(&self, id: u32) -> Option<usize> {
        // Mostly none is missing.
        if self.get(id as usize).is_some_and(|judged| judged.id == id) {
            return Some(id as usize);
        }
        let place = self.blocks.partition_point(|block| block[0].id <= id).checked_sub(1)?;
        let at = self.blocks[place].binary_search_by_key(&id, |judged| judged.id).ok()?;
        Some(place * BLOCK_LEN + at)
    }
}

impl Index<usize> for JudgedConnections {
    type Output = JudgedConnection;

    fn index(&self, index: usize) -> &JudgedConnection {
        &self.blocks[index / BLOCK_LEN][index % BLOCK_LEN]
    }
}

/// The same in full blocks.
fn filled(blocks: Vec<Vec<JudgedConnection>>) -> Vec<Vec<JudgedConnection>> {
    let mut all = blocks.into_iter().flatten();
    let next =
        || Some(all.by_ref().take(BLOCK_LEN).collect()).filter(|block: &Vec<_>| !block.is_empty());
    std::iter::from_fn(next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::blocks::judge_all;
    use crate::track::Connections;
    use crate::track::clock::Clocks;
    use crate::track::tracker::Block;

    fn connections(count: usize) -> Vec<JudgedConnection> {
        let blocks = Connections::unknown(count).into_blocks();
        let piece = |connections| Block { connections, ..Block::default() };
        let judged = judge_all(blocks.map(piece).collect(), 0, &Clocks::default(), 0);
        judged.connections.iter().cloned().collect()
    }

    #[test]
    fn every_connection_is_found_though_some_are_missing() {
        let all = connections(3 * BLOCK_LEN + 7);
        let listed = |judged: &JudgedConnection| !(5..BLOCK_LEN as u32 + 9).contains(&judged.id);
        let blocks = all.chunks(BLOCK_LEN).map(|block| block.iter().filter(|row| listed(row)));
        let some = JudgedConnections::new(blocks.map(|block| block.cloned().collect()).collect());
        let ids: Vec<u32> = all.iter().filter(|row| listed(row)).map(|row| row.id).collect();
        assert!(some.iter().map(|judged| judged.id).eq(ids.iter().copied()));
        assert_eq!((some.len(), some.get(some.len()).is_none()), (ids.len(), true));
        for (index, &id) in ids.iter().enumerate() {
            assert_eq!((some[index].id, some.index_of(id)), (id, Some(index)));
        }
        assert_eq!([5, 4000].map(|id| some.index_of(id)), [None, None]);
        assert_eq!(JudgedConnections::default().index_of(0), None);
    }
}
