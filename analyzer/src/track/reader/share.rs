//! Threads that share a scan: one range is read at a time; each shard takes the ranges in order.
//!
//! All threads are alike. One that has nothing to take reads the next range, and one that has taken
//! its own shards takes those of another: a thread that only read would wait, or let the others
//! wait, for a fifth of the time.

use crate::track::reader::Reader;
use crate::track::reader::range::Range;
use crate::track::reader::series::CaptureSeries;
use std::sync::{Condvar, LockResult, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread;

/// Reads with `threads` threads, but no more than there are shards. Each does what there is to do:
/// takes ranges into its own shards, or into those of others that wait, or reads the next range. A
/// shard takes the ranges in order.
pub fn share<T: FnMut(&Range, usize) + Send>(
    reader: Reader<'_>,
    shards: Vec<(usize, T)>,
    threads: usize,
) -> CaptureSeries {
    let threads = threads.min(shards.len());
    let groups = (GROUPS_OF_THREAD * threads).min(shards.len());
    let ranges = [(); RANGES].map(|()| RwLock::new(Range::new(shards.len())));
    let mut of_group: Vec<Vec<(usize, T)>> = (0..groups).map(|_| Vec::new()).collect();
    for (shard, take) in shards {
        of_group[shard % groups].push((shard, take));
    }
    let work = Work {
        reader: Mutex::new(reader),
        ranges,
        groups: of_group.into_iter().map(Mutex::new).collect(),
        turns: Mutex::new(Turns { taken: vec![0; groups], ..Turns::default() }),
        has_changed: Condvar::new(),
        threads,
    };
    thread::scope(|scope| {
        for thread in 1..threads {
            let work = &work;
            scope.spawn(move || work.run(thread));
        }
        work.run(0);
    });
    held(work.reader.into_inner()).series
}

/// Ranges that are read ahead of the one that is taken last: more gain nothing.
const RANGES: usize = 8;
/// A thread that waits finds some of another's shards to do.
const GROUPS_OF_THREAD: usize = 2;

/// The captures, and the shards that take them.
struct Work<'a, T> {
    reader: Mutex<Reader<'a>>,
    ranges: [RwLock<Range>; RANGES],
    groups: Vec<Mutex<Vec<(usize, T)>>>,
    turns: Mutex<Turns>,
    has_changed: Condvar,
    threads: usize,
}

/// How far each has come.
#[derive(Default)]
struct Turns {
    read: usize,
    is_reading: bool,
    /// There are no more.
    is_over: bool,
    /// A thread panicked: the others end, and the scope hands the panic on.
    is_failed: bool,
    /// Ranges that each group has taken; and a bit for each that a thread is at.
    taken: Vec<usize>,
    busy: u32,
}

enum Task {
    Read(usize),
    Take(usize, usize),
}

impl Turns {
    /// The next task of a thread: to read if few ranges wait, or to take for the group that is most
    /// behind, its own first.
    fn next(&mut self, thread: usize, threads: usize) -> Option<Task> {
        let least = self.taken.iter().min().copied().unwrap_or(0);
        let waiting = self.read - least;
        let can_read = !self.is_reading && !self.is_over && waiting < RANGES;
        let open = |group: &usize| self.busy & 1 << group == 0 && self.taken[*group] < self.read;
        let order = |group: &usize| (group % threads != thread, self.taken[*group]);
        let group = (0..self.taken.len()).filter(open).min_by_key(order);
        match group {
            _ if can_read && waiting < RANGES / 2 => {}
            Some(group) => {
                self.busy |= 1 << group;
                return Some(Task::Take(group, self.taken[group]));
            }
            None => {}
        }
        can_read.then(|| {
            self.is_reading = true;
            Task::Read(self.read)
        })
    }
}

impl<T: FnMut(&Range, usize) + Send> Work<'_, T> {
    fn run(&self, thread: usize) {
        let _failing = PanicNotice(self);
        let mut turns = self.turns();
        while !turns.is_failed {
            let Some(task) = turns.next(thread, self.threads) else {
                if turns.is_over && turns.taken.iter().all(|&taken| taken == turns.read) {
                    return;
                }
                turns = held(self.has_changed.wait(turns));
                continue;
            };
            drop(turns);
            match task {
                Task::Read(turn) => {
                    let is_read = {
                        let mut range = held(self.ranges[turn % RANGES].write());
                        held(self.reader.lock()).read(&mut range)
                    };
                    turns = self.turns();
                    turns.is_reading = false;
                    turns.read += usize::from(is_read);
                    turns.is_over |= !is_read;
                }
                Task::Take(group, turn) => {
                    let range = held(self.ranges[turn % RANGES].read());
                    for (shard, take) in &mut *held(self.groups[group].lock()) {
                        take(&range, *shard);
                    }
                    drop(range);
                    turns = self.turns();
                    turns.taken[group] += 1;
                    turns.busy &= !(1 << group);
                }
            }
            self.has_changed.notify_all();
        }
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        held(self.turns.lock())
    }
}

/// Tells the other threads where this one panics.
struct PanicNotice<'a, 'b, T: FnMut(&Range, usize) + Send>(&'a Work<'b, T>);

impl<T: FnMut(&Range, usize) + Send> Drop for PanicNotice<'_, '_, T> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.turns().is_failed = true;
            self.0.has_changed.notify_all();
        }
    }
}

/// The contents of a lock. After a panic nothing of them is used any more.
fn held<G>(lock: LockResult<G>) -> G {
    lock.unwrap_or_else(PoisonError::into_inner)
}
