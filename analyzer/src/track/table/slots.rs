//! A hash table whose slots can be prefetched before the look-up, so that cache misses overlap. No
//! library offers that: with `hashbrown` the reader takes a tenth longer.

use crate::track::prefetch::prefetch;

/// Slots of the first table of a shard: a power of two.
const FIRST_LEN: usize = 64;
/// Tables this long take 64 MiB for IPv4, all shards together: from here on they may be a little fuller.
const LARGE: usize = 1 << 18;

/// Open addressing and linear probing, half full at most or, where memory counts, a little more.
/// Values are never [`EMPTY`]. Single entries are never removed, only all at once.
pub struct Slots<K> {
    slots: Vec<Slot<K>>,
    used: usize,
}

#[derive(Clone, Copy)]
struct Slot<K> {
    key: K,
    value: u32,
}

/// The value of a slot that holds nothing.
pub const EMPTY: u32 = u32::MAX;

impl<K: Copy + Default + Eq> Default for Slots<K> {
    fn default() -> Self {
        Self::with_len(FIRST_LEN)
    }
}

impl<K: Copy + Default + Eq> Slots<K> {
    fn with_len(len: usize) -> Self {
        Self { slots: vec![Slot { key: K::default(), value: EMPTY }; len], used: 0 }
    }

    /// Prefetches the slot at which the look-up of `hash` begins.
    #[inline]
    pub fn fetch(&self, hash: u64) -> u64 {
        prefetch(&self.slots[self.place(hash)]);
        hash
    }

    /// The value of `key`, whose hash is `hash`.
    #[inline]
    pub fn find(&self, hash: u64, key: K) -> Option<u32> {
        let slot = &self.slots[self.probe(hash, key)];
        (slot.value != EMPTY).then_some(slot.value)
    }

    /// Sets the value of `key`, whose hash is `hash`; `hash_of` gives that of any key.
    pub fn set(&mut self, hash: u64, key: K, value: u32, hash_of: impl Fn(K) -> u64) {
        if self.used >= self.most() {
            self.grow(&hash_of);
        }
        let at = self.probe(hash, key);
        self.used += usize::from(self.slots[at].value == EMPTY);
        self.slots[at] = Slot { key, value };
    }

    /// How many go in before the table grows.
    fn most(&self) -> usize {
        match self.slots.len() {
            len @ ..LARGE => len / 2,
            len => len / 8 * 5,
        }
    }

    #[inline]
    fn place(&self, hash: u64) -> usize {
        hash as usize & (self.slots.len() - 1)
    }

    /// Where `key` is, or where it belongs.
    #[inline]
    fn probe(&self, hash: u64, key: K) -> usize {
        let mut at = self.place(hash);
        while self.slots[at].key != key && self.slots[at].value != EMPTY {
            at = (at + 1) & (self.slots.len() - 1);
        }
        at
    }

    #[cold]
    fn grow(&mut self, hash_of: &impl Fn(K) -> u64) {
        let larger = Self::with_len(self.slots.len() * 2);
        let smaller = std::mem::replace(self, larger);
        for slot in smaller.slots.into_iter().filter(|slot| slot.value != EMPTY) {
            let at = self.probe(hash_of(slot.key), slot.key);
            self.slots[at] = slot;
        }
        self.used = smaller.used;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Ports;
    use crate::track::table::key::{Key, KeyV4};
    use foldhash::quality::RandomState;

    /// All keys of a pair share their hash.
    fn hash_of(key: u32) -> u64 {
        u64::from(key / 2).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    #[test]
    fn every_key_is_found_again_whatever_its_hash() {
        let mut slots = Slots::default();
        for key in 0..5000 {
            assert_eq!(slots.find(hash_of(key), key), None);
            slots.set(hash_of(key), key, key + 1, hash_of);
        }
        slots.set(hash_of(7), 7, 70, hash_of);
        assert_eq!(slots.find(hash_of(7), 7), Some(70));
        assert!((8..5000).all(|key| slots.find(hash_of(key), key) == Some(key + 1)));
    }

    /// One client calls one server from one port after the other: whatever the seed, no segment has
    /// to walk far. (foldhash's `fast` lets such keys pile up with one seed in some hundred.)
    #[test]
    fn neighbouring_ports_do_not_pile_up() {
        for _ in 0..300 {
            let seed = RandomState::default();
            let lookup = |src| {
                let ports = Ports { src, dst: 80 };
                let (key, _): (KeyV4, bool) = Key::new([0x0a00_0001, 0xc000_0250], ports);
                (key, key.hash(&seed))
            };
            let mut slots = Slots::default();
            for src in 20_000..30_000 {
                let (key, hash) = lookup(src);
                slots.set(hash, key, u32::from(src), |key| key.hash(&seed));
            }
            let walked = (20_000..30_000).map(|src| {
                let (key, hash) = lookup(src);
                slots.probe(hash, key).wrapping_sub(slots.place(hash)) % slots.slots.len()
            });
            let walked: usize = walked.sum();
            assert!(walked < 20_000, "{walked} slots for 10,000 look-ups");
        }
    }
}
