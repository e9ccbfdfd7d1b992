"""Gives tasks to workers, wherever they run, and tells which could not be done."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from nagle_scan.errors import NagleScanError
from nagle_scan.words.wording import times

DEADLINE_S = 300.0
"""A task that takes longer than this, and than what it reads at `BYTES_PER_S`, has hung."""
BYTES_PER_S = 2e6
NO_WORKER_S = 30.0
"""Workers may start after their scheduler, or anew after they died."""
LOOK_S = 1.0
MOST_LOSSES = 2
AHEAD = 8
"""Tasks for each worker that are taken before one is free."""


class ClusterError(NagleScanError):
    """There is no scheduler, no worker, one that cannot do the work, or no longer one."""


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


class LostError(Exception):
    """The worker died, or was given up, `count` times during the task."""

    def __init__(self, why: str, count: int = 1) -> None:
        super().__init__(why)
        self.count = count


@dataclass(eq=False, slots=True)
class Try:
    """A task on its way."""

    task: Task
    losses: int = 0
    begun_s: float = math.inf

    def is_late(self) -> bool:
        """Has it hung?"""
        deadline_s = DEADLINE_S + self.task.size / BYTES_PER_S
        return time.monotonic() - self.begun_s > deadline_s


class Worker(ABC):
    """Does so many tasks at a time, and holds one more; each is asked for by a thread here."""

    def __init__(self, name: str, threads: int = 1, host: str = "") -> None:
        self.name = name
        self.threads = threads
        self.host = host
        self.given: dict[Future[Any], Try] = {}
        self._askers = ThreadPoolExecutor(threads)

    @abstractmethod
    def ask(self, task: Task) -> Any:  # noqa: ANN401
        """Its result. Raises what the function raises, and `LostError`."""

    @abstractmethod
    def stop(self, why: str) -> None:
        """Ends what it does: `ask` raises `LostError`."""

    def has_room(self, tried: Try) -> bool:
        """A task that lost a worker runs alone: if it loses another, it did so itself."""
        if tried.losses or any(other.losses for other in self.given.values()):
            return not self.given
        return len(self.given) <= self.threads

    def give(self, tried: Try, done: SimpleQueue[tuple[Worker, Future[Any]]]) -> Future[Any]:
        """Tells `done` when it has a result, or none."""
        future = self._askers.submit(self._begin, tried)
        self.given[future] = tried
        future.add_done_callback(lambda future: done.put((self, future)))
        return future

    def _begin(self, tried: Try) -> Any:  # noqa: ANN401
        tried.begun_s = time.monotonic()
        return self.ask(tried.task)

    def forget(self) -> None:
        """Nobody waits for its tasks any more."""
        if self.given:
            for future in self.given:
                future.cancel()
            self.given.clear()
            self.stop("was stopped")

    def close(self) -> None:
        """Ends it. Workers of others go on without its tasks."""
        self.forget()
        self._askers.shutdown()


class Pool(ABC):
    """Workers that can be given tasks."""

    shown = "the workers of this machine"

    def __init__(self) -> None:
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

    @property
    @abstractmethod
    def workers(self) -> Mapping[str, Worker]:
        """Those that are there, by name."""

    @property
    def slots(self) -> int:
        """So many tasks are done at a time."""
        return max(1, sum(worker.threads for worker in self.workers.values()))

    def look(self) -> None:  # noqa: B027
        """Which workers came, which have gone? Raises `ClusterError`."""

    def give_up(self, worker: Worker) -> None:
        """It does not answer."""
        told = worker.host or worker.name
        self.late.append(told)
        self.notes.append(f"{told} does not answer: given up, its tasks went elsewhere")
        worker.stop("did not answer")

    def run(self, tasks: Iterable[Task]) -> Iterator[Done]:
        """Each task, as soon as it is done. They are taken a few at a time.

        A task whose worker died, or did not answer in time, is tried once more. What a function
        raises is the task's error if it is a `NagleScanError`. Raises `ClusterError`.
        """
        run = _Run(self, iter(tasks))
        try:
            yield from run.all()
        finally:
            run.forget()


class _Run:
    """Tasks on their way through the workers of a pool."""

    def __init__(self, pool: Pool, tasks: Iterator[Task]) -> None:
        self._pool = pool
        self._tasks = tasks
        self._waiting: dict[str, deque[Try]] = {}
        """By host: tried before, or taken before a worker is free."""
        self._held = 0
        self._done: SimpleQueue[tuple[Worker, Future[Any]]] = SimpleQueue()
        self._running: dict[Future[Any], Worker] = {}
        self._seen_s: dict[str, float] = {}
        self._begun_s = time.monotonic()

    def all(self) -> Iterator[Done]:
        """Until nothing is left."""
        looked_s = -math.inf
        while self._running or self._held or self._take():
            if time.monotonic() - looked_s >= LOOK_S:
                yield from self._look()
                looked_s = time.monotonic()
            try:
                worker, future = self._done.get(timeout=LOOK_S)
            except Empty:
                continue
            del self._running[future]
            yield from self._outcome(worker.given.pop(future), future)
            if self._pool.workers.get(worker.name) is worker:
                self._fill(worker)

    def forget(self) -> None:
        """Nobody waits for what is still to be done."""
        for worker in set(self._running.values()):
            worker.forget()

    def _look(self) -> Iterator[Done]:
        self._pool.look()
        self._pool.on_look()
        now_s = time.monotonic()
        for worker in list(self._pool.workers.values()):
            self._seen_s[worker.host] = self._seen_s[""] = now_s
            if any(tried.is_late() for tried in worker.given.values()):
                self._pool.give_up(worker)
            else:
                self._fill(worker)
        if now_s - self._seen_s.get("", self._begun_s) > NO_WORKER_S:
            raise ClusterError(f"{self._pool.shown}: no worker for {NO_WORKER_S:g} s")
        for host, queue in self._waiting.items():
            while queue and now_s - self._seen_s.get(host, self._begun_s) > NO_WORKER_S:
                self._held -= 1
                tried = queue.popleft()
                self._pool.late.append(host)
                yield Done(tried.task, None, f"no worker on {host} answers", tried.losses + 1)

    def _fill(self, worker: Worker) -> None:
        while (tried := self._next(worker)) is not None:
            self._running[worker.give(tried, self._done)] = worker

    def _next(self, worker: Worker) -> Try | None:
        hosts = {worker.host, ""}
        while True:
            for host in hosts:
                if queue := self._waiting.get(host):
                    if not worker.has_room(queue[0]):
                        return None
                    self._held -= 1
                    return queue.popleft()
            if self._held >= AHEAD * len(self._pool.workers) or not self._take():
                return None

    def _take(self) -> bool:
        """Is there another task?"""
        task = next(self._tasks, None)
        if task is None:
            return False
        self._waiting.setdefault(task.host, deque()).append(Try(task))
        self._held += 1
        return True

    def _outcome(self, tried: Try, future: Future[Any]) -> Iterator[Done]:
        task = tried.task
        try:
            done = Done(task, future.result(), "", tried.losses + 1)
        except LostError as error:
            self._pool.look()
            tried.losses += error.count
            tried.begun_s = math.inf
            if tried.losses < MOST_LOSSES:
                self._waiting[task.host].appendleft(tried)
                self._held += 1
                return
            why = f"the worker {error} {times(tried.losses)}"
            done = Done(task, None, why, tried.losses)
        except ClusterError:
            raise
        except NagleScanError as error:
            done = Done(task, None, str(error), tried.losses + 1)
        except ImportError as error:
            told = f"{self._pool.shown}: a worker lacks a package: {error}"
            raise ClusterError(told) from None
        yield done
