//! All findings, in the memory of the waits.

use crate::judge::findings::{Finding, Findings, Ruling};
use crate::track::wait::Wait;

/// The waits of a block of connections with their rulings.
#[derive(Debug, Clone, Default)]
pub struct BlockFindings {
    pub waits: Vec<Wait>,
    pub rulings: Vec<Ruling>,
}

impl BlockFindings {
    fn all(&self) -> Findings<'_> {
        Findings::new(&self.waits, &self.rulings)
    }
}

/// Findings in the order of their connections, and of each connection in the order of their ends.
#[derive(Debug, Clone, Default)]
pub struct AllFindings {
    /// Of some connections each.
    blocks: Vec<BlockFindings>,
    /// Where those of each connection begin.
    begins: Vec<Place>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    block: u32,
    at: u32,
}

impl AllFindings {
    /// Adds those of the next connections; `begins` are the indices of each one's first finding.
    pub fn push(&mut self, findings: BlockFindings, begins: &[u32]) {
        let block = self.blocks.len() as u32;
        self.begins.extend(begins.iter().map(|&at| Place { block, at }));
        self.blocks.push(findings);
    }

    pub fn len(&self) -> usize {
        self.blocks.iter().map(|block| block.rulings.len()).sum()
    }

    pub fn iter(&self) -> impl Iterator<Item = Finding<'_>> {
        self.blocks.iter().flat_map(|block| block.all().iter())
    }

    /// All in order, in slices of at most `len`.
    pub fn chunks(&self, len: usize) -> impl Iterator<Item = Findings<'_>> {
        self.blocks.iter().flat_map(move |block| block.all().chunks(len))
    }

    /// Those of the connection with this index.
    #[inline]
    pub fn of(&self, connection: usize) -> Findings<'_> {
        let begin = self.begins[connection];
        let block = self.blocks[begin.block as usize].all();
        let next = self.begins.get(connection + 1).filter(|next| next.block == begin.block);
        let end = next.map_or(block.len(), |next| next.at as usize);
        block.slice(begin.at as usize..end)
    }

    /// Of the first `count` findings: how many connections they are whole of, and the rest.
    pub fn split(&self, mut count: usize) -> (usize, Findings<'_>) {
        let mut block = 0;
        while self.blocks.get(block).is_some_and(|findings| findings.rulings.len() < count) {
            count -= self.blocks[block].rulings.len();
            block += 1;
        }
        let end = Place { block: block as u32, at: count as u32 };
        let whole = self.begins.partition_point(|begin| *begin <= end).saturating_sub(1);
        let rest = self.begins.get(whole).filter(|begin| begin.block == end.block);
        let rest = rest.map(|begin| self.blocks[block].all().slice(begin.at as usize..count));
        (whole, rest.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::causes::Cause;
    use crate::judge::confidence::Doubts;
    use crate::track::Side;

    /// So many findings of each connection, in blocks of connections.
    fn findings(blocks: &[&[u32]]) -> AllFindings {
        let ruling = Ruling { cause: Cause::Unknown, doubts: Doubts::default() };
        let mut all = AllFindings::default();
        let mut connection = 0;
        for counts in blocks {
            let (mut waits, mut begins) = (Vec::new(), Vec::new());
            for &count in *counts {
                begins.push(waits.len() as u32);
                waits.extend((0..count).map(|_| Wait::unknown(connection, Side::Client)));
                connection += 1;
            }
            let rulings = vec![ruling; waits.len()];
            all.push(BlockFindings { waits, rulings }, &begins);
        }
        all
    }
    #[test]
    fn each_connection_has_its_own() {
        let counts: [&[u32]; 5] = [&[0, 3, 0], &[0, 0], &[], &[2, 0, 1], &[4]];
        let all = findings(&counts);
        for (connection, &count) in counts.concat().iter().enumerate() {
            let own = all.of(connection);
            assert_eq!(own.len(), count as usize);
            assert!(own.iter().all(|row| row.wait.connection as usize == connection));
        }
        assert_eq!((all.len(), all.iter().count()), (10, 10));
        assert_eq!(all.chunks(2).map(Findings::len).collect::<Vec<_>>(), [2, 1, 2, 1, 2, 2]);
    }

    #[test]
    fn what_is_split_off_is_whole_connections_and_a_rest() {
        let counts: [&[u32]; 5] = [&[0, 3, 0], &[0, 0], &[], &[2, 0, 1], &[4]];
        let all = findings(&counts);
        for count in 0..=all.len() {
            let (whole, rest) = all.split(count);
            let before: u32 = counts.concat()[..whole].iter().sum();
            assert_eq!(before as usize + rest.len(), count);
            assert!(rest.iter().all(|row| row.wait.connection as usize == whole));
        }
        assert_eq!(AllFindings::default().split(0).0, 0);
    }
}
