//! Independent work on all cores, with the results in order.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// Does `work` for each number below `pieces`, in so many `threads`, and hands the results to `take`, in
/// order. Threads run only a little ahead, so memory does not grow with `pieces`.
///
/// # Errors
/// The first error of `take`, which ends the work.
pub fn in_order<T: Send, E>(
    threads: usize,
    pieces: usize,
    work: impl Fn(usize) -> T + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
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
    fn an_error_ends_the_work() {
        let fail = |piece| if piece == 3 { Err(piece) } else { Ok(()) };
        assert_eq!(in_order(2, usize::MAX, |piece| piece, fail), Err(3));
    }
}
