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

/// Frames looked at together: who opens a connection with each of them fits into the cache.
const FRAMES: u64 = 1 << 16;
const NOBODY: u8 = u8::MAX;

/// By the first frames of the connections of each shard, in ascending order: all connections in the order
/// of their numbers, and the numbers of those of each shard.
pub fn number(first_frames: &[Vec<u64>]) -> (Vec<Place>, Vec<Vec<u32>>) {
    let count = first_frames.iter().map(Vec::len).sum();
    let mut places = Vec::with_capacity(count);
    let mut numbers: Vec<Vec<u32>> =
        first_frames.iter().map(|frames| Vec::with_capacity(frames.len())).collect();
    let mut opened_by = vec![NOBODY; FRAMES as usize];
    let mut next = vec![0; first_frames.len()];
    while places.len() < count {
        let waiting = first_frames.iter().zip(&next).filter_map(|(frames, &next)| frames.get(next));
        let begin = waiting.min().copied().unwrap_or_default();
        for (shard, (frames, next)) in first_frames.iter().zip(&mut next).enumerate() {
            let some = frames[*next..].iter().take_while(|&&frame| frame - begin < FRAMES);
            for frame in some {
                opened_by[(frame - begin) as usize] = shard as u8;
                *next += 1;
            }
        }
        for opened_by in opened_by.iter_mut().filter(|opened_by| **opened_by != NOBODY) {
            let shard = usize::from(std::mem::replace(opened_by, NOBODY));
            let of_shard = &mut numbers[shard];
            of_shard.push(places.len() as u32);
            places.push(Place::new(shard, of_shard.len() - 1));
        }
    }
    (places, numbers)
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
