//! Sorts the rows of a block of connections before they are judged.

use crate::track::wait::Wait;
use crate::track::{BLOCK_LEN, Suspect};
use std::mem;
use std::sync::{Mutex, PoisonError};

/// Blocks with more rows are sorted in place: this many waits take 23 MB.
const MOST_MOVED: usize = 1 << 18;

/// Sorts the rows of a block by moving them into the memory of the block before: that is faster than
/// sorting in place, and fresh memory would cost more than it saves. There are as many such buffers as
/// threads that sort at once.
#[derive(Default)]
pub struct Sorter {
    waits: Mutex<Vec<Vec<Wait>>>,
    suspects: Mutex<Vec<Vec<Suspect>>>,
}

impl Sorter {
    /// Sorts the waits of one block by connection, then by time.
    pub fn sort_waits(&self, rows: &mut Vec<Wait>) {
        let end = |row: &Wait| (row.to.frame, row.by as u8);
        if rows.len() > MOST_MOVED {
            rows.sort_unstable_by_key(|row| (row.connection, end(row)));
            return;
        }
        group(rows, &self.waits, |row| row.connection);
        // Mostly they are in order already.
        for own in rows.chunk_by_mut(|a, b| a.connection == b.connection) {
            own.sort_unstable_by_key(end);
        }
    }

    /// Sorts the suspects of one block, those of each connection in the order of time, by connection.
    pub fn sort_suspects(&self, rows: &mut Vec<Suspect>) {
        if rows.len() > MOST_MOVED {
            rows.sort_unstable_by_key(|row| (row.connection, row.begin_frame));
        } else {
            group(rows, &self.suspects, |row| row.connection);
        }
    }
}

/// Groups `rows` by connection and keeps their order otherwise: a counting sort into one of the `spare`
/// buffers, which gets the memory of `rows`. Few rows are copied back, or they would hold on to a large buffer.
fn group<T: Copy>(rows: &mut Vec<T>, spares: &Mutex<Vec<Vec<T>>>, connection: impl Fn(&T) -> u32) {
    let Some(&any) = rows.first() else { return };
    let spares = || spares.lock().unwrap_or_else(PoisonError::into_inner);
    let mut spare = spares().pop().unwrap_or_default();
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
        mem::swap(rows, &mut spare);
        rows.truncate(len);
    }
    spares().push(spare);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::{Exchange, Mark, Side};

    /// Connection, frame and side, none of them in order.
    type RowKey = (u32, u64, u8);

    fn keys(count: u64) -> Vec<RowKey> {
        let number = |row: u64| row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let connection = |row| 5 * BLOCK_LEN as u32 + (number(row) % 300) as u32;
        (0..count).map(|row| (connection(row), number(row + count) % 50, row as u8 % 2)).collect()
    }

    fn waits(keys: &[RowKey]) -> Vec<Wait> {
        let wait = |&(connection, frame, by): &RowKey| {
            let mut wait = Wait::unknown(connection, Side::BOTH[usize::from(by)]);
            wait.to.frame = frame;
            wait
        };
        keys.iter().map(wait).collect()
    }

    #[test]
    fn rows_of_each_block_are_in_order() {
        let sorter = Sorter::default();
        for count in [7, 0, 1, 20_000, 300, MOST_MOVED as u64 + 1, 4_000] {
            let mut expected = keys(count);
            let mut rows = waits(&expected);
            sorter.sort_waits(&mut rows);
            expected.sort_unstable();
            let key = |row: &Wait| (row.connection, row.to.frame, row.by as u8);
            assert_eq!(rows.iter().map(key).collect::<Vec<RowKey>>(), expected);
        }
    }

    /// In the order of time, as they are found.
    fn suspects(count: u64) -> Vec<Suspect> {
        let suspect = |(frame, (connection, ..)): (u64, RowKey)| {
            let begin = Mark { time_ns: 0, frame };
            let (request_bytes, response_bytes) = (0, 0);
            Suspect::new(&Exchange { connection, begin, end: begin, request_bytes, response_bytes })
        };
        (1..).zip(keys(count)).map(suspect).collect()
    }

    #[test]
    fn suspects_of_each_connection_stay_in_the_order_of_time() {
        let sorter = Sorter::default();
        for count in [7, 0, 20_000, 300, MOST_MOVED as u64 + 1] {
            let mut rows = suspects(count);
            let key = |row: &Suspect| (row.connection, row.begin_frame);
            let mut expected: Vec<(u32, u64)> = rows.iter().map(key).collect();
            sorter.sort_suspects(&mut rows);
            expected.sort_unstable();
            assert_eq!(rows.iter().map(key).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn few_rows_do_not_keep_the_memory_of_many() {
        let sorter = Sorter::default();
        for count in [20_000, 100, 50, 20_000, 9] {
            let mut rows = waits(&keys(count));
            sorter.sort_waits(&mut rows);
            assert!(rows.capacity() as u64 <= 2 * count);
        }
    }
}
