"""Gives out tasks and takes what they found, a bounded number at a time."""

from __future__ import annotations

import asyncio
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from distributed import CancelledError, KilledWorker, as_completed

from nagle_scan.errors import NagleScanError
from nagle_scan.fleet.cluster import ClusterError
from nagle_scan.fleet.large import Judgement, Large, Part
from nagle_scan.fleet.task import Scanned, VersionError, failed, scan_sets
from nagle_scan.fleet.work import Job, Settings
from nagle_scan.words.wording import times

if TYPE_CHECKING:
    from distributed import Future

    from nagle_scan.fleet.cluster import Cluster
    from nagle_scan.fleet.large import Submit

MOST_SETS_IN_TASK = 32
"""In one task: the scheduler takes 2 ms for each task, a small capture less than that."""
MOST_BYTES_IN_TASK = 4 << 20
"""In one task of several sets."""
EACH_WORKER = 8
"""Tasks that each worker should get at least, so that all end at about the same time."""
AHEAD = 32
"""Tasks that each worker has at most, and"""
AHEAD_BYTES = 512 << 20
"""bytes of captures in these: it has something to do while a second's results are written."""
PATIENCE_S = 0.1


class Batch(NamedTuple):
    """Sets that are to be scanned by one task."""

    jobs: tuple[Job, ...]
    settings: Settings

    @property
    def host(self) -> str:
        """The only one that has their captures, if any."""
        return self.jobs[0].captures[0].host

    @property
    def size(self) -> int:
        """Bytes that it reads."""
        return sum(job.size for job in self.jobs)

    def give(self, submit: Submit) -> Future[Any]:
        """Gives out the task."""
        return submit(scan_sets, self.jobs, self.settings)

    def took(self, result: list[Scanned]) -> Iterator[Scanned]:
        """What became of each."""
        return iter(result)

    def alone(self) -> list[Batch]:
        """What is tried again after its worker died."""
        return [self._replace(jobs=(job,)) for job in self.jobs]

    def give_up(self, reason: str, attempts: int) -> Iterator[Scanned]:
        """None was read."""
        return (failed(job, reason, attempts) for job in self.jobs)


Work = Batch | Part | Judgement


class Suspect(NamedTuple):
    """A task whose worker died, of it or beside it, so often."""

    work: Work
    deaths: int


class Scanning:
    """Sets on their way through the workers."""

    def __init__(
        self, cluster: Cluster, settings: Settings, split_above: int = 0, scratch: str = ""
    ) -> None:
        self._cluster = cluster
        self._settings = settings
        self._split_above = split_above
        self._scratch = scratch
        """A folder that all workers see; without one no set is shared among them."""
        self._run = uuid.uuid4().hex[:8]
        self._number = 0
        self._waiting: deque[Work] = deque()
        self._suspects: deque[Suspect] = deque()
        self._given: dict[str, tuple[Future[Any], Suspect]] = {}
        self._done = as_completed(loop=cluster.client.loop)

    def of(self, jobs: Sequence[Job]) -> Iterator[Scanned]:
        """Each set, as soon as it is scanned. Raises `ClusterError`."""
        self._cluster.look()
        large = [job for job in jobs if self._is_large(job)]
        small = [job for job in jobs if not self._is_large(job)]
        for job in large:
            self._waiting.extend(Large(job, self._settings, self._scratch).parts())
        for batch in batches(small, self._cluster.threads):
            self._waiting.append(Batch(batch, self._settings))
        try:
            while self._waiting or self._suspects or self._given:
                while self._waiting and self._has_room():
                    self._give(Suspect(self._waiting.popleft(), 0))
                if not self._given:
                    # Nothing else runs: if the worker dies again, it is because of this task.
                    self._give(self._suspects.popleft())
                for future in self._finished():
                    yield from self._followed(self._taken(future))
                yield from self._followed(self._of_hosts_that_have_gone())
        finally:
            self._cluster.forget([future for future, _ in self._given.values()])

    def _is_large(self, job: Job) -> bool:
        return bool(self._scratch) and is_large(job, self._split_above)

    def _has_room(self) -> bool:
        given, workers = len(self._given), self._cluster.threads
        if given < self._cluster.window:
            return True
        if given >= AHEAD * workers:
            return False
        size = sum(suspect.work.size for _, suspect in self._given.values())
        return size < AHEAD_BYTES * workers

    def _give(self, suspect: Suspect) -> None:
        work = suspect.work
        future = work.give(partial(self._submit, work.host))
        self._given[str(future.key)] = future, suspect
        self._done.add(future)

    def _submit(self, host: str, function: Callable[..., Any], *given: object) -> Future[Any]:
        self._number += 1
        key = f"nagle-scan-{self._run}-{self._number}"
        return self._cluster.submit(function, *given, key=key, host=host)

    def _finished(self) -> list[Future[Any]]:
        self._cluster.look()
        with self._done.thread_condition:
            if not self._done.has_ready():
                self._done.thread_condition.wait(PATIENCE_S)
        ready: list[Future[Any]] = self._done.next_batch(block=False)
        return ready

    def _followed(self, results: Iterator[Scanned | Work]) -> Iterator[Scanned]:
        """The sets; what is still to be done for others comes next."""
        for result in results:
            if isinstance(result, Scanned):
                yield result
            else:
                self._waiting.appendleft(result)

    def _taken(self, future: Future[Any]) -> Iterator[Scanned | Work]:
        if str(future.key) not in self._given:
            return iter(())  # its host had gone
        _, (work, deaths) = self._given.pop(str(future.key))
        try:
            return work.took(self._result(future))
        except KilledWorker as error:
            total = deaths + error.allowed_failures + 1
            if deaths:
                return work.give_up(f"the worker died {times(total)}", total)
            self._suspects.extend(Suspect(part, total) for part in work.alone())
            return iter(())
        except VersionError as error:
            raise self._cluster.has_other("a worker", str(error)) from None
        except ImportError as error:
            raise self._cluster.lacks_package(error) from None
        except ClusterError:
            raise
        except NagleScanError as error:
            return work.give_up(str(error), 1)

    def _result(self, future: Future[Any]) -> Any:  # noqa: ANN401
        """If its worker has died since, it is computed again.

        `Future.result` would cancel what it waits for after its timeout, and with it all that the
        client fetches meanwhile and later.
        """
        client = self._cluster.client
        loop: Any = client.loop
        fetched = asyncio.run_coroutine_threadsafe(
            client.gather(future, asynchronous=True), loop.asyncio_loop
        )
        while True:
            try:
                return fetched.result(PATIENCE_S)
            except TimeoutError:
                if fetched.done():
                    raise
                self._cluster.look()
            except (CancelledError, futures.CancelledError, OSError):
                raise self._cluster.lost() from None

    def _of_hosts_that_have_gone(self) -> Iterator[Scanned | Work]:
        for key, (future, (work, _)) in list(self._given.items()):
            if work.host and self._cluster.has_gone(work.host):
                del self._given[key]
                self._cluster.forget([future])
                yield from work.give_up(f"no worker on {work.host}", 1)


def is_large(job: Job, split_above: int) -> bool:
    """Is it better shared? A single file can only be read from its beginning."""
    return len(job.captures) > 1 and job.size > split_above


def batches(jobs: Sequence[Job], workers: int) -> Iterator[tuple[Job, ...]]:
    """Sets that are scanned by one task: several small ones, each large one alone.

    Those of different hosts take turns, so that none waits for another.
    """
    most_sets = min(MOST_SETS_IN_TASK, max(1, len(jobs) // (EACH_WORKER * workers)))
    of_hosts: dict[str, list[Job]] = {}
    for job in jobs:
        of_hosts.setdefault(job.captures[0].host, []).append(job)
    turns = zip_longest(*(_batched(own, most_sets) for own in of_hosts.values()))
    return (batch for turn in turns for batch in turn if batch)


def _batched(jobs: Sequence[Job], most_sets: int) -> Iterator[tuple[Job, ...]]:
    batch: list[Job] = []
    size = 0
    for job in jobs:
        is_full = len(batch) == most_sets or size + job.size > MOST_BYTES_IN_TASK
        if batch and is_full:
            yield tuple(batch)
            batch, size = [], 0
        batch.append(job)
        size += job.size
    if batch:
        yield tuple(batch)
