"""Where work is done: executors of `concurrent.futures`, for processes of this machine or for a
Dask cluster. Nothing listens, and the processes hear no Ctrl-C."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
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

LOOK_S = 1.0
JOIN_S = 5.0
"""A process that waits for a disk cannot be killed at once."""
DIED = "the worker died each time"


class ClusterError(NagleScanError):
    """No scheduler, no worker, or a worker that cannot do the work."""


class Task(NamedTuple):
    """A function that can be imported, and the items that it is called with, together."""

    function: Callable[..., Any]
    items: Sequence[Any]
    rest: tuple[Any, ...] = ()
    size: int = 0
    """Bytes that it reads."""

    @property
    def single(self) -> Iterator[Task]:
        """A task for each item."""
        size = self.size // len(self.items)
        return (self._replace(items=[one], size=size) for one in self.items)


class Done(NamedTuple):
    """What became of a task; its items may have been done one by one."""

    task: Task
    result: Any = None
    error: str = ""


class Workers:
    """Processes of this machine. They die together."""

    shown = "the workers of this machine"

    def __init__(self, count: int = 0) -> None:
        self._count = count
        self._pool: ProcessPoolExecutor | None = None

    def executor(self) -> Executor:
        """A pool of processes, made anew after `close`."""
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._count, context, _begin)
        return self._pool

    @property
    def room(self) -> int:
        """Tasks in flight."""
        return self._count

    def check(self) -> None:
        """Raises `ClusterError` if there is nobody left to work."""

    def close(self) -> None:
        """Ends all processes. The next executor is a new one."""
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
        self, tasks: Iterable[Task], on_look: Callable[[], None] = lambda: None
    ) -> Iterator[Done]:
        """Each task, as soon as it is done; `on_look` is called every second or so.

        A pool of processes breaks as a whole when one of them dies: what ran is done again at the
        end, item by item and one at a time, which identifies the item that kills. What a function
        raises is an error of its task if it is a `NagleScanError`. Raises `ClusterError`.
        """
        suspects: list[Task] = []
        for done in self._all(deque(tasks), self.room, on_look):
            if done.error == DIED:
                suspects += done.task.single
            else:
                yield done
        yield from self._all(deque(suspects), 1, on_look)

    def _all(self, waiting: deque[Task], room: int, on_look: Callable[[], None]) -> Iterator[Done]:
        given: dict[Future[Any], Task] = {}
        try:
            while waiting or given:
                while waiting and len(given) < room:
                    task = waiting.popleft()
                    given[self._submitted(task)] = task
                on_look()
                for future in wait(given, LOOK_S, FIRST_COMPLETED).done:
                    yield self._done(given.pop(future), future)
        finally:
            for future in given:
                future.cancel()
            if given:
                self.close()

    def _submitted(self, task: Task) -> Future[Any]:
        call = task.function, task.items, *task.rest
        try:
            return self.executor().submit(*call)
        except BrokenExecutor:
            self.close()
            return self.executor().submit(*call)

    def _done(self, task: Task, future: Future[Any]) -> Done:
        try:
            return Done(task, future.result())
        except ClusterError:
            raise
        except NagleScanError as error:
            return Done(task, error=str(error))
        except ImportError as error:
            lacks = f"{self.shown}: a worker lacks a package: {error}"
            raise ClusterError(lacks) from None
        except Exception as error:
            is_lost = isinstance(error, (BrokenExecutor, CancelledError))
            if not is_lost and type(error).__name__ != "KilledWorker":
                raise
            self.check()
            return Done(task, error=DIED)


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
