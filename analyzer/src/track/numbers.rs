//! Wireshark's `tcp.stream`: connections are numbered in the order of their first frames, whichever
//! shard has them.

/// The connection at a place of a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place(u32);

/// Leaves four bits for the shard: a shard has no more connections.
const AT_BITS: u32 = 28;

impl Place {
    fn new(shard: usize, at: usize) -> Self {
        Self((shard as u32) << AT_BITS | at as u32)
    }

    pub fn shard(self) -> usize {
        (self.0 >> AT_BITS) as usize
    }

    /// Its place there.
    pub fn at(self) -> usize {
        (self.0 & ((1 << AT_BITS) - 1)) as usize
    }
}

/// By the first frames of the connections of each shard, in ascending order: all connections in the order
/// of their numbers, and the numbers of those of each shard.
pub fn number(first_frames: &[Vec<u32>]) -> (Vec<Place>, Vec<Vec<u32>>) {
    let mut places = Vec::with_capacity(first_frames.iter().map(Vec::len).sum());
    let mut numbers: Vec<Vec<u32>> =
        first_frames.iter().map(|frames| Vec::with_capacity(frames.len())).collect();
    loop {
        let shards = first_frames.iter().zip(&numbers).enumerate();
        let next = shards.filter_map(|(shard, (frames, of_shard))| {
            frames.get(of_shard.len()).map(|frame| (frame, shard))
        });
        let Some((_, shard)) = next.min() else { return (places, numbers) };
        places.push(Place::new(shard, numbers[shard].len()));
        numbers[shard].push(places.len() as u32 - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_numbered_by_their_first_frames_whichever_shard_has_them() {
        let first_frames = [vec![3, 70_000, 9_000_000], vec![], vec![1, 2, 4, 69_999, 200_000]];
        let (places, numbers) = number(&first_frames);
        assert_eq!(numbers, [vec![2, 5, 7], vec![], vec![0, 1, 3, 4, 6]]);
        let frame = |place: &Place| first_frames[place.shard()][place.at()];
        assert!(places.iter().map(frame).is_sorted());
        assert_eq!(places.len(), 8);
    }
}
