//! Independent work on both cores, with the results in order.

use std::array;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// Worker threads; the caller takes their results.
const WORKERS: usize = 2;

/// Does `work` for each number below `pieces` and hands the results to `take`, in order. Workers run
/// only a little ahead, so memory does not grow with `pieces`.
///
/// # Errors
/// The first error of `take`, which ends the work.
pub fn in_order<T: Send, E>(
    pieces: usize,
    work: impl Fn(usize) -> T + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    thread::scope(|scope| {
        let work = &work;
        let workers: [Receiver<T>; WORKERS] = array::from_fn(|worker| {
            let (done, result) = sync_channel(1);
            scope.spawn(move || {
                for piece in (worker..pieces).step_by(WORKERS) {
                    if done.send(work(piece)).is_err() {
                        // Nobody takes results any more.
                        break;
                    }
                }
            });
            result
        });
        for piece in 0..pieces {
            // A worker that panicked has nothing to give; the scope hands the panic on.
            let Ok(done) = workers[piece % WORKERS].recv() else { break };
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
        assert_eq!(in_order(101, |piece| piece * piece, take), Ok(()));
        assert!(taken.into_iter().eq((0..101).map(|piece| piece * piece)));
    }

    #[test]
    fn an_error_ends_the_work() {
        let fail = |piece| if piece == 3 { Err(piece) } else { Ok(()) };
        assert_eq!(in_order(usize::MAX, |piece| piece, fail), Err(3));
    }
}
