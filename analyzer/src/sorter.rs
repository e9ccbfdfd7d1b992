//! Rows of one block of connections after the other, put in order.

use crate::flow::BLOCK_LEN;
use std::mem;
use std::sync::{Mutex, PoisonError};

/// More rows than this are sorted where they lie: 25 MB of findings.
const MOST_MOVED: usize = 1 << 18;

/// Sorts the rows of blocks by moving them into the memory of the last block: that is faster than to
/// sort them where they lie, and fresh memory would cost more than it saves. One block at once, so that
/// there is little of it.
pub struct Sorter<T> {
    spare: Mutex<Vec<T>>,
}

impl<T> Default for Sorter<T> {
    fn default() -> Self {
        Self { spare: Mutex::default() }
    }
}

impl<T: Copy> Sorter<T> {
    /// Sorts the rows of one block by connection, and those of each connection by `key`.
    pub fn sort<K: Ord>(
        &self,
        rows: &mut Vec<T>,
        connection: impl Fn(&T) -> u32,
        key: impl Fn(&T) -> K,
    ) {
        if rows.len() > MOST_MOVED {
            rows.sort_unstable_by_key(|row| (connection(row), key(row)));
            return;
        }
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        group(rows, &mut spare, &connection);
        drop(spare);
        // Mostly they are in this order.
        for own in rows.chunk_by_mut(|a, b| connection(a) == connection(b)) {
            own.sort_unstable_by_key(&key);
        }
    }
}

/// Puts the rows of each connection together, in the order in which they come, by way of the memory
/// of `spare`, which then has that of `rows`. Few rows stay where they are: they would keep much.
fn group<T: Copy>(rows: &mut Vec<T>, spare: &mut Vec<T>, connection: impl Fn(&T) -> u32) {
    let Some(&any) = rows.first() else { return };
    let place = |row: &T| connection(row) as usize % BLOCK_LEN;
    // How many rows each has; then where its next row goes.
    let mut next = [0; BLOCK_LEN];
    for row in &*rows {
        next[place(row)] += 1;
    }
    let mut begin = 0;
    for count in &mut next {
        begin += mem::replace(count, begin);
    }
    let len = rows.len();
    let few = spare.len() / 2 > len;
    spare.resize(len.max(spare.len()), any);
    for row in &*rows {
        let next = &mut next[place(row)];
        spare[*next] = *row;
        *next += 1;
    }
    if few {
        rows.copy_from_slice(&spare[..len]);
    } else {
        mem::swap(rows, spare);
        rows.truncate(len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Connection and key, neither in order.
    fn rows(count: usize) -> Vec<(u32, usize)> {
        let number = |row: usize| row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let connection = |row| (5 * BLOCK_LEN + number(row) % 300) as u32;
        (0..count).map(|row| (connection(row), number(row + count) % 50)).collect()
    }

    #[test]
    fn rows_of_each_block_are_in_order() {
        let sorter = Sorter::default();
        for count in [7, 0, 1, 20_000, 300, MOST_MOVED + 1, 4_000] {
            let mut own = rows(count);
            let mut expected = own.clone();
            sorter.sort(&mut own, |row| row.0, |row| row.1);
            expected.sort_unstable();
            assert_eq!(own, expected);
        }
    }

    #[test]
    fn few_rows_do_not_keep_the_memory_of_many() {
        let sorter = Sorter::default();
        for count in [20_000, 100, 50, 20_000, 9] {
            let mut own = rows(count);
            sorter.sort(&mut own, |row| row.0, |row| row.1);
            assert!(own.capacity() <= 2 * count);
        }
    }
}
