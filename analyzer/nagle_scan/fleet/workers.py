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

from nagle_scan import _core
from nagle_scan.errors import NagleScanError

DEADLINE_S, BYTES_PER_S = 300.0, 2e6
"""A task has hung when it takes longer than both together: this, and that for what it reads."""
ASK_S = 30.0
"""For a short answer, and for a worker to come."""
LOOK_S = 1.0
JOIN_S = 5.0
"""A process that a disk holds does not end."""
DIED = "the worker died each time"


class ClusterError(NagleScanError):
    """There is no scheduler, no worker, one that cannot do the work, or no longer one."""


class Task(NamedTuple):
    """A function that can be imported, and the items that it is called with, together."""

    function: Callable[..., Any]
    items: Sequence[Any]
    rest: tuple[Any, ...] = ()
    host: str = ""
    """The only one whose workers can do it; empty if all can."""
    size: int = 0
    """Bytes that it reads."""

    @property
    def most_s(self) -> float:
        """Longer is hung."""
        return DEADLINE_S + self.size / BYTES_PER_S

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
    """Processes of this machine. They die together, and are given up together."""

    shown = "the workers of this machine"
    is_pool = True

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool: ProcessPoolExecutor | None = None
        self.hosts: tuple[str, ...] = ()
        """Names of those that tasks can be pinned to."""
        self.silent: list[str] = []
        """Hosts that did not answer when they were asked."""
        self.late: list[str] = []
        """Those that were given up during a task."""

    def executor(self, host: str) -> Executor:  # noqa: ARG002
        """Of a host, or of all."""
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._count, context, _begin)
        return self._pool

    def room(self) -> dict[str, int]:
        """How many tasks each host can do at once; '' is any. Raises `ClusterError`."""
        return {"": self._count}

    def close(self) -> None:
        """Nothing stays. The next executor is a new one."""
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

        A pool of processes breaks as a whole when one of them dies: what ran is done anew, item by
        item and one at a time, so that the one that kills is known. One that hangs is given up.
        What a function raises is an error of its task if it is a `NagleScanError`. Raises
        `ClusterError`.
        """
        running = _Running(self, tasks)
        try:
            while running.fill():
                on_look()
                yield from running.done()
                yield from running.late()
        finally:
            running.stop()


class _Running:
    """Tasks on their way through workers."""

    def __init__(self, workers: Workers, tasks: Iterable[Task]) -> None:
        self._workers = workers
        self._waiting: dict[str, deque[Task]] = {}
        """By host."""
        for task in tasks:
            self._waiting.setdefault(task.host, deque()).append(task)
        self._suspects: deque[Task] = deque()
        self._given: dict[Future[Any], tuple[Task, float]] = {}
        """With its begin."""
        self._alone: Future[Any] | None = None
        """That of a suspect."""
        self._seen_s = dict.fromkeys(self._waiting, time.monotonic())

    def fill(self) -> bool:
        """Gives as many as there is room for; false when nothing is left."""
        room = self._workers.room()
        self._seen_s |= dict.fromkeys((host for host in room if room[host]), time.monotonic())
        for host, waiting in self._waiting.items():
            busy = sum(task.host == host for task, _ in self._given.values())
            while waiting and busy < room.get(host, 0) and not self._suspects:
                busy += 1
                self._give(waiting.popleft())
        if self._suspects and not self._given:
            self._alone = self._give(self._suspects.popleft())
        return bool(self._given or self._suspects or any(self._waiting.values()))

    def _give(self, task: Task) -> Future[Any]:
        given = _core.VERSION, task.function, task.items, task.rest
        try:
            future = self._workers.executor(task.host).submit(call, *given)
        except BrokenExecutor:
            self._workers.close()
            future = self._workers.executor(task.host).submit(call, *given)
        self._given[future] = task, time.monotonic()
        return future

    def done(self) -> Iterator[Done]:
        """What has come within `LOOK_S`."""
        if not self._given:
            time.sleep(LOOK_S / 10)
        for future in wait(self._given, LOOK_S, FIRST_COMPLETED).done:
            task, _ = self._given.pop(future)
            try:
                yield Done(task, future.result())
            except ClusterError:
                raise
            except NagleScanError as error:
                yield Done(task, error=str(error))
            except ImportError as error:
                lacks = f"{self._workers.shown}: a worker lacks a package: {error}"
                raise ClusterError(lacks) from None
            except (BrokenExecutor, CancelledError):
                # Has the scheduler gone?
                self._workers.room()
                yield from self._lost(task, future is self._alone)
            except Exception as error:
                if type(error).__name__ != "KilledWorker":
                    raise
                yield from self._lost(task, future is self._alone)

    def _lost(self, task: Task, is_alone: bool) -> Iterator[Done]:
        # A cluster has tried it again itself.
        if is_alone or (len(task.items) == 1 and not self._workers.is_pool):
            yield Done(task, error=DIED)
        else:
            self._suspects += task.single

    def late(self) -> Iterator[Done]:
        """What has hung, and what waits for a host that does not come back."""
        now_s = time.monotonic()
        hung = [one for one, (task, at) in self._given.items() if now_s - at > task.most_s]
        for future in hung:
            task, _ = self._given.pop(future)
            future.cancel()
            if task.host:
                self._seen_s[task.host] = 0.0
                yield Done(task, error=f"no worker on {task.host} answers")
            elif len(task.items) > 1:
                self._suspects += task.single
            else:
                yield Done(task, error=f"no answer within {task.most_s:.0f} s: given up")
        if hung and self._workers.is_pool:
            self._workers.close()
            # The others of the pool are not to blame.
            for task, _ in self._given.values():
                self._waiting[task.host].appendleft(task)
            self._given.clear()
        for host in [one for one, at in self._seen_s.items() if now_s - at > ASK_S]:
            if not host:
                raise ClusterError(f"{self._workers.shown}: no worker for {ASK_S:g} s")
            if self._waiting.get(host):
                self._workers.late.append(host)
            for task in self._waiting.pop(host, ()):
                yield Done(task, error=f"no worker on {host} answers")

    def stop(self) -> None:
        """Nobody waits for what is still to be done."""
        for future in self._given:
            future.cancel()
        if self._given:
            self._workers.close()


def call(version: str, function: Callable[..., Any], items: Any, rest: Sequence[Any]) -> Any:  # noqa: ANN401
    """Runs on a worker, which may have come later, with another version."""
    if version != _core.VERSION:
        raise ClusterError(f"a worker has nagle-scan {_core.VERSION}, this is {version}")
    return function(items, *rest)


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
