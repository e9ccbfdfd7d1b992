"""Where work is done: executors of `concurrent.futures`, for processes of this machine or for a
Dask cluster. Nothing listens, and the processes hear no Ctrl-C."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from typing import Any, NamedTuple

from nagle_scan.errors import NagleScanError

DEADLINE_S, BYTES_PER_S = 300.0, 2e6
"""Tasks have hung when none ends for longer than both: this, and that for what one reads."""
LOOK_S = 1.0
"""Time between two looks at whether the batch of a run is due."""
JOIN_S = 5.0
"""Time for a killed process to end: a disk may hold it for ever."""
DIED = "the worker died each time"


class ClusterError(NagleScanError):
    """Scheduler or workers are missing, cannot do the work, or were lost."""


class Task(NamedTuple):
    """Items that a worker gets together."""

    items: Sequence[Any]
    size: int = 0
    """Bytes to read for them."""

    @property
    def single(self) -> Iterator[Task]:
        """A task for each item."""
        size = self.size // len(self.items)
        return (Task([one], size) for one in self.items)


class Done(NamedTuple):
    """A task that came to an end; its items may have been done one by one."""

    task: Task
    result: Any = None
    error: str = ""


class Workers:
    """Processes of this machine. They die together, and are given up together."""

    shown = "the workers of this machine"
    tries_again = False
    """An executor that repeats a task itself when its worker dies."""

    def __init__(self, count: int = 0) -> None:
        self._count = count
        self._pool: ProcessPoolExecutor | None = None

    def executor(self) -> Executor:
        """A new one after `close`."""
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._count, context, _begin)
        return self._pool

    def room(self) -> int:
        """How many tasks they can do at once."""
        return self._count

    def check(self) -> None:
        """Raises `ClusterError` if there is nobody left to work."""

    def close(self) -> None:
        """Nothing stays."""
        pool, self._pool = self._pool, None
        if pool is not None:
            processes = list((pool._processes or {}).values())
            for process in processes:
                process.kill()
            # Its threads may wait for a lock that an interrupt has left behind.
            pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.join(JOIN_S)

    def run(
        self,
        work: Callable[[Sequence[Any]], Any],
        tasks: Iterable[Task],
        on_look: Callable[[], None] = lambda: None,
    ) -> Iterator[Done]:
        """Each task, as soon as `work`, which can be pickled, has done its items; `on_look` is
        called every second or so.

        A pool of processes breaks as a whole when one of them dies: what ran is done anew, item by
        item and one at a time, so that the one that kills is known. One that hangs is given up.
        What `work` raises is an error of its task if it is a `NagleScanError`. Raises
        `ClusterError`.
        """
        running = _Running(self, work, tasks)
        try:
            while running.fill():
                on_look()
                yield from running.done()
                yield from running.hung()
        finally:
            running.stop()


class _Running:
    """Tasks on their way through workers."""

    def __init__(
        self, workers: Workers, work: Callable[[Sequence[Any]], Any], tasks: Iterable[Task]
    ) -> None:
        self._workers, self._work, self._waiting = workers, work, deque(tasks)
        self._suspects: deque[Task] = deque()
        self._alone: Future[Any] | None = None
        """The future of a suspect, which runs with no other."""
        self._given: dict[Future[Any], Task] = {}
        self._moved_s = time.monotonic()
        """When a task ended last, or the first one began."""

    def fill(self) -> bool:
        """Gives as many as there is room for; false when nothing is left."""
        room = self._workers.room() if self._waiting else 0
        while self._waiting and len(self._given) < room and not self._suspects:
            self._give(self._waiting.popleft())
        if self._suspects and not self._given:
            self._alone = self._give(self._suspects.popleft())
        return bool(self._given)

    def _give(self, task: Task) -> Future[Any]:
        if not self._given:
            self._moved_s = time.monotonic()
        try:
            future = self._workers.executor().submit(self._work, task.items)
        except BrokenExecutor:
            self._workers.close()
            future = self._workers.executor().submit(self._work, task.items)
        self._given[future] = task
        return future

    def done(self) -> Iterator[Done]:
        """Tasks that ended within `LOOK_S`."""
        for future in wait(self._given, LOOK_S, FIRST_COMPLETED).done:
            task = self._given.pop(future)
            self._moved_s = time.monotonic()
            try:
                yield Done(task, future.result())
            except ClusterError:
                raise
            except NagleScanError as error:
                yield Done(task, error=str(error))
            except ImportError as error:
                lacks = f"{self._workers.shown}: a worker lacks a package: {error}"
                raise ClusterError(lacks) from None
            except Exception as error:
                is_lost = isinstance(error, (BrokenExecutor, CancelledError))
                if not is_lost and type(error).__name__ != "KilledWorker":
                    raise
                self._workers.check()
                if future is self._alone or (len(task.items) == 1 and self._workers.tries_again):
                    yield Done(task, error=DIED)
                else:
                    self._suspects += task.single

    def hung(self) -> Iterator[Done]:
        """Tasks that are given up, since none has ended within the deadline."""
        size = max((task.size for task in self._given.values()), default=0)
        most_s = DEADLINE_S + size / BYTES_PER_S
        if not self._given or time.monotonic() - self._moved_s < most_s:
            return
        is_alone = self._alone in self._given
        tasks = list(self._given.values())
        for future in self._given:
            future.cancel()
        self._given.clear()
        if is_alone:
            why = f"no answer within {most_s:.0f} s: given up"
            yield from (Done(one, error=why) for one in tasks)
        else:
            self._suspects += (one for task in tasks for one in task.single)
        self._workers.check()
        self._workers.close()

    def stop(self) -> None:
        """Nobody waits for what is still to be done."""
        for future in self._given:
            future.cancel()
        if self._given:
            self._workers.close()


def _begin() -> None:
    """In a process, before its first task: it hears no Ctrl-C, says nothing, and ends with the
    process that has started it, however that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(0)
