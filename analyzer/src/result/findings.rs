//! All findings, where they were judged.

use crate::judge::verdict::Finding;

/// Findings in the order of their connections, and of each connection in the order of their ends.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// Those of some connections each.
    blocks: Vec<Vec<Finding>>,
    /// Where those of each connection begin.
    begins: Vec<Place>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    block: u32,
    at: u32,
}

impl Findings {
    /// Adds those of the next connections, which begin at these places.
    pub fn push(&mut self, findings: Vec<Finding>, begins: &[u32]) {
        let block = self.blocks.len() as u32;
        self.begins.extend(begins.iter().map(|&at| Place { block, at }));
        self.blocks.push(findings);
    }

    pub fn len(&self) -> usize {
        self.blocks.iter().map(Vec::len).sum()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Finding> {
        self.blocks.iter().flatten()
    }

    /// All in order, so many at once at most.
    pub fn chunks(&self, len: usize) -> impl Iterator<Item = &[Finding]> {
        self.blocks.iter().flat_map(move |block| block.chunks(len))
    }

    /// Those of the connection with this index.
    #[inline]
    pub fn of(&self, connection: usize) -> &[Finding] {
        let begin = self.begins[connection];
        let block = &self.blocks[begin.block as usize];
        let next = self.begins.get(connection + 1).filter(|next| next.block == begin.block);
        let end = next.map_or(block.len(), |next| next.at as usize);
        &block[begin.at as usize..end]
    }

    /// Of the first `count` findings: how many connections they are whole of, and the rest.
    pub fn split(&self, mut count: usize) -> (usize, &[Finding]) {
        let mut block = 0;
        while self.blocks.get(block).is_some_and(|findings| findings.len() < count) {
            count -= self.blocks[block].len();
            block += 1;
        }
        let end = Place { block: block as u32, at: count as u32 };
        let whole = self.begins.partition_point(|begin| *begin <= end).saturating_sub(1);
        let rest = self.begins.get(whole).filter(|begin| begin.block == end.block);
        (whole, rest.map_or(&[], |begin| &self.blocks[block][begin.at as usize..count]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::Side;
    use crate::track::wait::Wait;

    fn finding(connection: u32) -> Finding {
        Finding::unjudged(Wait::unknown(connection, Side::Client))
    }

    /// So many findings of each connection, in blocks of connections.
    fn findings(blocks: &[&[u32]]) -> Findings {
        let mut all = Findings::default();
        let mut connection = 0;
        for counts in blocks {
            let (mut rows, mut begins) = (Vec::new(), Vec::new());
            for &count in *counts {
                begins.push(rows.len() as u32);
                rows.extend((0..count).map(|_| finding(connection)));
                connection += 1;
            }
            all.push(rows, &begins);
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
        assert_eq!(all.chunks(2).map(<[_]>::len).collect::<Vec<_>>(), [2, 1, 2, 1, 2, 2]);
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
        assert_eq!(Findings::default().split(0).0, 0);
    }
}
