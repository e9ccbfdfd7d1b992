"""Gives tasks to workers, wherever they run, and tells which could not be done."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass
from typing import Any, NamedTuple

from nagle_scan.errors import NagleScanError
from nagle_scan.words.wording import times

DEADLINE_S = 300.0
BYTES_PER_S = 2e6
"""A task has hung when it takes longer than both together: this for what it reads."""
NO_WORKER_S = 30.0
"""Workers may start after their scheduler, or anew after they died."""
LOOK_S = 1.0
MOST_LOSSES = 2


class ClusterError(NagleScanError):
    """There is no scheduler, no worker, one that cannot do the work, or no longer one."""


class LostError(Exception):
    """The worker died, or was given up, before it had a result."""


class Task(NamedTuple):
    """A function that can be imported, and what it is given."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    host: str = ""
    """The only one whose workers can do it; empty if all can."""
    size: int = 0
    """Bytes that it reads."""


class Done(NamedTuple):
    """What became of a task."""

    task: Task
    result: Any = None
    error: str = ""
    """Why there is no result."""
    attempts: int = 1


class Worker(ABC):
    """Does one task at a time: if it dies, we know which one it died of."""

    def __init__(self, name: str, host: str = "") -> None:
        self.name = name
        self.host = host
        self.has_started = True
        self.why_lost = "died"

    @abstractmethod
    def begin(self, task: Task) -> Future[Any]:
        """Its result, or what the function raises, or `LostError`."""

    @abstractmethod
    def stop(self, why: str) -> None:
        """Ends what it does: `LostError`, or a future that is cancelled."""


@dataclass(slots=True)
class _Try:
    task: Task
    losses: int = 0
    begun_s: float = math.inf

    @property
    def is_late(self) -> bool:
        """Has it hung?"""
        return time.monotonic() - self.begun_s > DEADLINE_S + self.task.size / BYTES_PER_S


class Pool:
    """Workers that can be given tasks."""

    shown = "the workers of this machine"

    def __init__(self) -> None:
        self.workers: dict[str, Worker] = {}
        """Those that are there, by name."""
        self.notes: list[str] = []
        """What a user must know of them; without full stops."""
        self.hosts: tuple[str, ...] = ()
        """Names of those that tasks can be pinned to."""
        self.silent: list[str] = []
        """Hosts, or addresses of workers, that did not answer when they were asked."""
        self.late: list[str] = []
        """Those that were given up during a task."""
        self.on_look: Callable[[], None] = lambda: None
        """Is called every second or so while tasks run."""

    def look(self) -> None:
        """Which workers came, which have gone? Raises `ClusterError`."""

    def give_up(self, worker: Worker) -> None:
        """It does not answer."""
        told = worker.host or worker.name
        self.late.append(told)
        self.notes.append(f"{told} does not answer: given up, its tasks went elsewhere")
        worker.stop("did not answer")

    def run(self, tasks: Iterable[Task]) -> Iterator[Done]:
        """Each task, as soon as it is done.

        A task whose worker died, or did not answer in time, is tried once more. What a function
        raises is the task's error if it is a `NagleScanError`. Raises `ClusterError`.
        """
        run = _Run(self, tasks)
        try:
            yield from run.all()
        finally:
            run.stop()


class _Run:
    """Tasks on their way through the workers of a pool."""

    def __init__(self, pool: Pool, tasks: Iterable[Task]) -> None:
        self._pool = pool
        self._waiting: defaultdict[str, deque[_Try]] = defaultdict(deque)
        """By host."""
        for task in tasks:
            self._waiting[task.host].append(_Try(task))
        self._running: dict[Future[Any], tuple[Worker, _Try]] = {}
        self._seen_s = dict.fromkeys(["", *self._waiting], time.monotonic())

    def all(self) -> Iterator[Done]:
        """Until nothing is left."""
        looked_s = -math.inf
        while self._running or any(self._waiting.values()):
            if time.monotonic() - looked_s >= LOOK_S:
                yield from self._look()
                looked_s = time.monotonic()
            self._fill()
            if not self._running:
                time.sleep(LOOK_S / 10)
            for future in wait(self._running, LOOK_S, FIRST_COMPLETED).done:
                done = self._outcome(future, *self._running.pop(future))
                if done is not None:
                    yield done

    def stop(self) -> None:
        """Nobody waits for what is still to be done."""
        for worker, _ in self._running.values():
            worker.stop("was stopped")

    def _look(self) -> Iterator[Done]:
        self._pool.look()
        self._pool.on_look()
        for worker, tried in self._running.values():
            if tried.is_late:
                tried.begun_s = math.inf
                self._pool.give_up(worker)
        now_s = time.monotonic()
        for worker in self._pool.workers.values():
            self._seen_s[worker.host] = self._seen_s[""] = now_s
        gone = [host for host, seen_s in self._seen_s.items() if now_s - seen_s > NO_WORKER_S]
        if "" in gone:
            raise ClusterError(f"{self._pool.shown}: no worker for {NO_WORKER_S:g} s")
        for host in gone:
            while queue := self._waiting[host]:
                tried = queue.popleft()
                self._pool.late.append(host)
                yield Done(tried.task, None, f"no worker on {host} answers", tried.losses + 1)

    def _fill(self) -> None:
        busy = {worker.name for worker, _ in self._running.values()}
        for worker in self._pool.workers.values():
            queue = self._waiting[worker.host] or self._waiting[""]
            if queue and worker.name not in busy:
                tried = queue.popleft()
                tried.begun_s = time.monotonic()
                self._running[worker.begin(tried.task)] = worker, tried

    def _outcome(self, future: Future[Any], worker: Worker, tried: _Try) -> Done | None:
        """None if it is to be tried again."""
        try:
            return Done(tried.task, future.result(), "", tried.losses + 1)
        except (LostError, CancelledError):
            self._pool.look()
            tried.losses += worker.has_started
            if tried.losses < MOST_LOSSES:
                self._waiting[tried.task.host].appendleft(tried)
                return None
            why = f"the worker {worker.why_lost} {times(tried.losses)}"
            return Done(tried.task, None, why, tried.losses)
        except ClusterError:
            raise
        except NagleScanError as error:
            return Done(tried.task, None, str(error), tried.losses + 1)
        except ImportError as error:
            told = f"{self._pool.shown}: a worker lacks a package: {error}"
            raise ClusterError(told) from None
