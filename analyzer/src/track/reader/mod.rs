//! Reads captures in ranges and hands each range to all shards of the connections, with as many threads
//! as there are.

pub mod capture_summary;
mod decoder;
pub mod index;
mod job;
pub mod labels;
mod order;
mod plan;
pub mod range;
mod series;

use crate::capture::error::ScanError;
use crate::capture::progress::Progress;
use crate::capture::ranges::RangedFile;
use crate::capture::{self, Capture, system};
use crate::decode::filter::Filter;
use crate::track::reader::capture_summary::CaptureSummary;
use crate::track::reader::decoder::Decoder;
use crate::track::reader::job::{Job, Opened};
use crate::track::reader::labels::Labels;
use crate::track::reader::order::Order;
use crate::track::reader::plan::Plan;
use crate::track::reader::range::{Range, SHARDS};
use crate::track::reader::series::rank;
use std::fs;
use std::io::Read;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Bytes that one thread reads at once: enough for each shard to have some rows of its connections in
/// cache, few enough that little memory is on its way.
const RANGE_LEN: u64 = 1 << 20;

/// More threads than shards would mostly wait.
const MOST_THREADS: usize = SHARDS;

/// Captures of fewer bytes in all are read by one thread: to start more takes as long.
const SMALL_LEN: u64 = 4 << 20;

/// How captures are read.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    pub threads: usize,
    /// It takes so little that nothing need watch it.
    pub is_short: bool,
    /// Bytes of a range. No result depends on it.
    pub range_len: u64,
}

impl Reading {
    /// With `threads` threads, at least one.
    pub fn by(threads: usize) -> Self {
        Self { threads: threads.clamp(1, MOST_THREADS), is_short: false, range_len: RANGE_LEN }
    }

    /// By as many threads as there are processors that this process may use.
    pub fn by_all() -> Self {
        Self::by(thread::available_parallelism().map_or(1, usize::from))
    }

    /// Of `paths`, with `threads` threads; by default, one per processor, or one for what is small.
    pub fn of(paths: &[String], threads: Option<usize>) -> Self {
        match threads {
            Some(threads) => Self::by(threads),
            None if is_small(paths) => Self { is_short: true, ..Self::by(1) },
            None => Self::by_all(),
        }
    }
}

/// Are these plain files, and few bytes in all? Special files tell no length, and packed ones not how much is in them.
fn is_small(paths: &[String]) -> bool {
    let len = |path: &String| {
        // A pipe is opened once.
        let about = fs::metadata(path).ok().filter(|about| path != "-" && about.is_file())?;
        let mut start = [0; 4];
        system::open(path).ok()?.read_exact(&mut start).ok()?;
        (!capture::is_packed(&start)).then_some(about.len())
    };
    paths
        .iter()
        .try_fold(0_u64, |sum, path| Some(sum.saturating_add(len(path)?)))
        .is_some_and(|sum| sum < SMALL_LEN)
}

/// Reads `paths` in the order of their first frames and gives the ranges in order to each shard's
/// `take`, with its number. There are as many shards, a power of two, as there are of these.
///
/// # Errors
/// An input cannot be read at all, or the filter cannot be compiled.
pub fn read_all<T: FnMut(&Range, usize) + Send>(
    paths: &[String],
    labels: &Labels,
    filter: Option<&str>,
    reading: Reading,
    progress: &Arc<Progress>,
    takes: Vec<T>,
) -> Result<Vec<CaptureSummary>, ScanError> {
    let filters = (0..reading.threads).map(|_| filter.map(Filter::new).transpose());
    let filters: Vec<Option<Filter>> = filters.collect::<Result<_, _>>()?;
    progress.expect(paths);
    // Each thread reads one range while its last one is taken.
    let most = 2 * reading.threads + 1;
    let order = Order::new(progress);
    let plan = Plan::new(in_order(paths), takes.len(), reading.range_len, most, order);
    let shards = takes.into_iter().map(Mutex::new).collect();
    let work = Work { plan: Mutex::new(plan), changed: Condvar::new(), shards, labels, progress };
    let mut decoders = filters.into_iter().map(|filter| Decoder::new(filter, progress));
    let own = decoders.next();
    thread::scope(|scope| {
        let helpers: Vec<_> =
            decoders.map(|decoder| scope.spawn(|| work.until_done(decoder))).collect();
        if let Some(decoder) = own {
            work.until_done(decoder);
        }
        for helper in helpers {
            helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
    let plan = work.plan.into_inner().unwrap_or_else(PoisonError::into_inner);
    plan.order.into_summaries()
}

/// What the threads share.
struct Work<'a, T> {
    plan: Mutex<Plan<'a>>,
    changed: Condvar,
    shards: Vec<Mutex<T>>,
    labels: &'a Labels,
    progress: &'a Arc<Progress>,
}

/// Lets the other threads end when one panics.
struct Watch<'a, 'b>(&'a Mutex<Plan<'b>>, &'a Condvar);

impl Drop for Watch<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).give_up();
            self.1.notify_all();
        }
    }
}

impl<'a, T: FnMut(&Range, usize)> Work<'a, T> {
    /// Works with the others until all is done.
    fn until_done(&self, mut decoder: Decoder) {
        let _watch = Watch(&self.plan, &self.changed);
        let mut plan = self.plan();
        while !plan.is_done() {
            let Some(job) = plan.next() else {
                plan.waiting += 1;
                plan = self.changed.wait(plan).unwrap_or_else(PoisonError::into_inner);
                plan.waiting -= 1;
                continue;
            };
            drop(plan);
            plan = self.work(job, &mut decoder);
            if plan.waiting > 0 {
                self.changed.notify_all();
            }
        }
    }

    fn plan(&self) -> MutexGuard<'_, Plan<'a>> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does a job and notes what came of it.
    fn work(&self, job: Job<'a>, decoder: &mut Decoder) -> MutexGuard<'_, Plan<'a>> {
        match job {
            Job::Open(path) => {
                let opened = self.open(path);
                let mut plan = self.plan();
                plan.opened(self.labels.of(path), opened);
                plan
            }
            Job::Unpack(unpacker) => {
                unpacker.fill();
                self.plan()
            }
            Job::Read { number, part, known, first, range } => {
                let range = decoder.part(&part, known, first, range);
                let mut plan = self.plan();
                plan.read_was(number, range);
                plan
            }
            Job::Stream { number, mut capture, len, first, frames, range } => {
                let range = decoder.stream(&mut capture, len, first, frames, range);
                let mut plan = self.plan();
                plan.streamed(number, capture, range);
                plan
            }
            Job::Take { shard, range } => {
                let mut take = self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner);
                take(&range, shard);
                drop((take, range));
                let mut plan = self.plan();
                plan.taken(shard);
                plan
            }
        }
    }

    fn open(&self, path: &str) -> Result<Opened, ScanError> {
        match RangedFile::open(path, self.progress) {
            Some(file) => Ok(Opened::Ranged(Arc::new(file))),
            None => match Capture::open(path, self.progress) {
                Ok(capture) => Ok(Opened::Stream(Box::new(capture))),
                Err(error) => Err(error.called(self.labels.of(path))),
            },
        }
    }
}

/// Rotated files (`tcpdump -C`, `-G`) in the order of their first frames, whatever order the shell
/// gave them. Standard input can be read only once, so with it the order stays.
pub fn in_order(paths: &[String]) -> Vec<&str> {
    let mut ordered: Vec<&str> = paths.iter().map(String::as_str).collect();
    if ordered.len() > 1 && !ordered.contains(&"-") {
        ordered.sort_by_cached_key(|path| rank(Capture::first_time_ns(path)));
    }
    ordered
}

#[cfg(test)]
mod tests;
