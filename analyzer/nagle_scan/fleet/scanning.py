"""From sets to tasks, and what became of each; what the hosts of a cluster have; coverage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from nagle_scan.errors import CaptureError
from nagle_scan.fleet import identity, inputs, task
from nagle_scan.fleet.pool import ClusterError, Done, Pool, Task
from nagle_scan.fleet.work import Failure, Job, Located, Scanned, Settings, on_host
from nagle_scan.words.wording import count

MOST_SETS_IN_TASK = 32
MOST_BYTES_IN_TASK = 4 << 20
"""Of several sets."""
EACH_WORKER = 8
"""Tasks that each worker should get at least, so that all end at about the same time."""
FILES_IN_TASK = 256
MOST_NAMED = 10
NOWHERE = "no host has such a capture"


def scan(jobs: Sequence[Job], settings: Settings, pool: Pool) -> Iterator[Scanned]:
    """Each set, as soon as it is scanned: small ones together, large ones alone.

    Those of a task whose worker died are tried one by one. Raises `ClusterError`.
    """

    def scanned(batches: Iterable[tuple[Job, ...]]) -> Iterator[Done]:
        return pool.run(
            Task(task.scan_sets, (batch, settings), _host(batch[0]), sum(job.size for job in batch))
            for batch in batches
        )

    alone: list[Job] = []
    for done in chain(scanned(_batches(jobs, len(pool.workers))), scanned((job,) for job in alone)):
        batch = done.task.arguments[0]
        if not done.error:
            yield from done.result
        elif len(batch) > 1 and done.attempts > 1:
            alone += batch
        else:
            yield from (task.failed(job, done.error, done.attempts) for job in batch)


def _host(job: Job) -> str:
    return job.captures[0].host


def _batches(jobs: Sequence[Job], workers: int) -> Iterator[tuple[Job, ...]]:
    most_sets = min(MOST_SETS_IN_TASK, len(jobs) // (EACH_WORKER * max(1, workers)))
    batch: list[Job] = []
    for job in sorted(jobs, key=_host):
        size = sum(each.size for each in (*batch, job))
        if batch and (
            len(batch) >= most_sets or size > MOST_BYTES_IN_TASK or _host(batch[0]) != _host(job)
        ):
            yield tuple(batch)
            batch = []
        batch.append(job)
    if batch:
        yield tuple(batch)


class Looked(NamedTuple):
    """What the hosts of a cluster have."""

    located: dict[str, list[Located]]
    """By host."""
    failures: list[Failure]
    """Names that a host has and cannot read."""


class _There(NamedTuple):
    """What a host has."""

    located: dict[str, Located]
    """By URL."""
    failures: list[Failure]
    notes: list[str]
    missing: set[str]
    """Names of which it has nothing."""


def look(named: Sequence[str], list_file: str | None, pool: Pool) -> Looked:
    """As `inputs.find`, on each host of the cluster; nothing is opened.

    A host need not have what another has. If it has it and cannot read it, that is a failure; so
    is a file of a list that no host has. Raises `CaptureError` for a name that stands for nothing
    on any host.
    """
    names = [*named, *([] if list_file is None else inputs.listed(list_file))]
    tasks = (Task(_look, (names, len(named)), host) for host in pool.hosts)
    there = {done.task.host: done.result for done in pool.run(tasks) if not done.error}
    if not there:
        raise ClusterError(f"{pool.shown}: no host answers")
    missing = set.intersection(*(each.missing for each in there.values()))
    if wrong := [inputs.place(name) for name in named if name in missing]:
        raise CaptureError(f"{wrong[0]}: {NOWHERE}")
    failures = [identity.failed(Located(inputs.place(name)), NOWHERE) for name in missing]
    for host, each in there.items():
        failures += (one._replace(host=host) for one in each.failures)
        pool.notes += (on_host(host, note) for note in each.notes)
    return Looked({host: list(each.located.values()) for host, each in there.items()}, failures)


def _look(names: Sequence[str], named: int) -> _There:
    """Runs on a worker. Names behind the first are of a list."""
    there = _There({}, [], [], set())
    for number, name in enumerate(names):
        try:
            found = inputs.of_name(name, there.notes, number >= named)
        except inputs.NothingError:
            found = []
        except CaptureError as error:
            there.failures.append(identity.failed(Located(inputs.place(name)), str(error)))
            continue
        has = {one.url: one for one in found if not inputs.is_gone(one.url)}
        if not has:
            there.missing.add(name)
        there.located.update(has)
    return there


def on_hosts(
    function: Callable[..., Any], calls: Iterable[tuple[str, tuple[Any, ...]]], pool: Pool
) -> Iterator[tuple[str, tuple[Any, ...], Any]]:
    """Host, arguments and result of each call; nothing of a host that answers no longer."""
    given: dict[str, list[tuple[Any, ...]]] = {}
    for host, arguments in calls:
        given.setdefault(host, []).append(arguments)
    tasks = (
        Task(_each, (function, every[at : at + FILES_IN_TASK]), host)
        for host, every in given.items()
        for at in range(0, len(every), FILES_IN_TASK)
    )
    for done in pool.run(tasks):
        if not done.error:
            for arguments, result in zip(done.task.arguments[1], done.result, strict=True):
                yield done.task.host, arguments, result


def _each(function: Callable[..., Any], every: Sequence[Sequence[Any]]) -> list[Any]:
    return [function(*arguments) for arguments in every]


class Coverage(NamedTuple):
    """Which hosts a run reached, by name."""

    expected: tuple[str, ...]
    seen: tuple[str, ...]
    """They answered, and were not given up."""
    late: tuple[str, ...]
    """Given up during a task."""
    silent: tuple[str, ...]
    """They have no worker, or none that answered."""

    @property
    def sentence(self) -> str:
        """For the end of a run; without a full stop."""
        told = f"{len(self.seen):,} of {count(len(self.expected), 'host')} seen"
        for name, hosts in (("late", self.late), ("silent", self.silent)):
            if hosts:
                more = f" and {len(hosts) - MOST_NAMED:,} more" * (len(hosts) > MOST_NAMED)
                told += f"; {name}: {', '.join(hosts[:MOST_NAMED])}{more}"
        return told


def coverage(pool: Pool, names: Sequence[str] = ()) -> Coverage:
    """Of the hosts named, or those of the cluster."""
    known = (*pool.hosts, *pool.silent)
    expected = tuple(dict.fromkeys(map(str.strip, names or known)))
    late = tuple(host for host in expected if host in pool.late)
    seen = tuple(host for host in expected if host in pool.hosts and host not in late)
    silent = tuple(host for host in expected if host not in {*seen, *late})
    return Coverage(expected, seen, late, silent)
