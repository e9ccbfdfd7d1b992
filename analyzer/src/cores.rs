//! Independent work on all cores, with the results in order.

use std::convert::Infallible;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// Runs `work` for each number below `pieces` on `threads` threads, and hands the results to `take`
/// in order. The threads run only a little ahead, so memory does not grow with `pieces`.
///
/// # Errors
/// The first error of `take`, which ends the work.
pub fn in_order<T: Send, E>(
    threads: usize,
    pieces: usize,
    work: impl Fn(usize) -> T + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    if threads <= 1 || pieces <= 1 {
        return (0..pieces).try_for_each(|piece| take(work(piece)));
    }
    thread::scope(|scope| {
        let work = &work;
        let start = |worker: usize| {
            let (done, result) = sync_channel(1);
            scope.spawn(move || {
                for piece in (worker..pieces).step_by(threads) {
                    if done.send(work(piece)).is_err() {
                        // Nobody takes results any more.
                        break;
                    }
                }
            });
            result
        };
        let workers: Vec<Receiver<T>> = (0..threads.min(pieces)).map(start).collect();
        for piece in 0..pieces {
            // A worker that panicked has nothing to give; the scope hands the panic on.
            let Ok(done) = workers[piece % threads].recv() else { break };
            take(done)?;
        }
        Ok(())
    })
}

/// Maps the numbers below `pieces` on `threads` threads; the results are in order.
pub fn all<T: Send>(threads: usize, pieces: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut all = Vec::with_capacity(pieces);
    let Ok(()) = in_order(threads, pieces, work, |one| {
        all.push(one);
        Ok::<(), Infallible>(())
    });
    all
}

/// Maps pieces of `rows`, each `len` rows long, on `threads` threads; the results are in order.
pub fn of_pieces<R: Sync, T: Send>(
    threads: usize,
    rows: &[R],
    len: usize,
    work: impl Fn(&[R]) -> T + Sync,
) -> Vec<T> {
    let pieces: Vec<&[R]> = rows.chunks(len.max(1)).collect();
    all(threads, pieces.len(), |piece| work(pieces[piece]))
}

/// Maps pieces of `blocks` on `threads` threads; the results are in order.
pub fn of_blocks<R: Sync, T: Send>(
    threads: usize,
    blocks: &[R],
    work: impl Fn(&[R]) -> T + Sync,
) -> Vec<T> {
    of_pieces(threads, blocks, blocks_at_once(blocks.len()), work)
}

/// Blocks that are handed over at once: each by itself is slow where there are many. Their number
/// must not depend on the number of threads, because sums of floating point depend on it.
pub fn blocks_at_once(all: usize) -> usize {
    (all / 32).clamp(1, 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order() {
        let mut taken = Vec::new();
        let take = |square| {
            taken.push(square);
            Ok::<(), ()>(())
        };
        assert_eq!(in_order(3, 101, |piece| piece * piece, take), Ok(()));
        assert!(taken.into_iter().eq((0..101).map(|piece| piece * piece)));
    }

    #[test]
    fn pieces_leave_out_no_block() {
        for count in [0, 1, 33, 1_000] {
            let blocks: Vec<usize> = (0..count).collect();
            assert_eq!(of_blocks(3, &blocks, <[usize]>::to_vec).concat(), blocks);
        }
    }

    #[test]
    fn an_error_ends_the_work() {
        let fail = |piece| if piece == 3 { Err(piece) } else { Ok(()) };
        assert_eq!(in_order(2, usize::MAX, |piece| piece, fail), Err(3));
    }
}
